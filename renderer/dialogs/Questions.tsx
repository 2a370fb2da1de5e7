import { useState } from 'react';
import type { Question } from '../../app/roll/schema.ts';
import { useActs } from '../state/context.tsx';
import { ConfirmQuestion, HostKeyQuestion } from './HostKeyQuestion.tsx';
import type { QuestionProps } from './QuestionParts.tsx';
import { SecretQuestion } from './SecretQuestion.tsx';

/** What ssh asks, one question after the other, over whatever else is open. It opens and goes by itself. */
export function Questions({ questions }: { readonly questions: readonly Question[] }) {
  const acts = useActs();
  const [answered, setAnswered] = useState<ReadonlySet<string>>(new Set());
  const open = questions.filter(({ id }) => !answered.has(id));
  const [question] = open;
  if (question === undefined) return null;
  const { id } = question;
  const onAnswer = (answer: string | null): void => {
    // It goes at once; the roll follows.
    setAnswered(new Set([...answered, id]));
    void acts.answer(id, answer).then((failure) => {
      if (failure !== null) acts.showError(failure);
    });
  };
  const props: QuestionProps = { question, after: open.length - 1, onAnswer };
  switch (question.type) {
    case 'host-key':
      return <HostKeyQuestion key={id} {...props} />;
    case 'confirm':
      return <ConfirmQuestion key={id} {...props} />;
    default:
      return <SecretQuestion key={id} {...props} />;
  }
}
