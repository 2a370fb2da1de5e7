import type { Question } from '../../app/roll/schema.ts';
import { timeLeft } from '../../app/text/host-words.ts';
import { useNow } from '../components/parts.tsx';

export interface QuestionProps {
  readonly question: Question;
  /** How many wait after this one. */
  readonly after: number;
  /** Hands the answer over, or takes the question back with null. */
  readonly onAnswer: (answer: string | null) => void;
}

/** How long is left, and what else waits. Counted here, so that nothing is sent each second. */
export function TimeLeft({ question, after }: Pick<QuestionProps, 'question' | 'after'>) {
  const now = useNow(1000);
  const more = after === 0 ? '' : `, ${after} more ${after === 1 ? 'follows' : 'follow'}`;
  return (
    <span className="note">
      {timeLeft(question.until, now)}
      {more}
    </span>
  );
}
