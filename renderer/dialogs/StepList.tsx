import { SSH_STEPS, type SshEntry, type SshStepEntry } from '../../app/roll/schema.ts';
import { stepWords } from '../../app/text/host-words.ts';
import { Glyph } from '../components/Glyph.tsx';

const LOOKS = {
  done: { shape: 'check', tone: 'supervised', word: 'done' },
  running: { shape: 'turn', tone: 'busy', word: 'under way' },
  failed: { shape: 'cross', tone: 'leaked', word: 'failed' },
  waiting: { shape: 'dot', tone: 'quiet', word: 'to come' },
} as const;

/** Every step in its order; one that nothing is known of yet is to come, unless the attempt ended before it. */
export function stepsOf({ steps, failure }: Pick<SshEntry, 'steps' | 'failure'>): readonly SshStepEntry[] {
  const known = new Map(steps.map((entry) => [entry.step, entry]));
  const ended = failure !== null || steps.some(({ state }) => state === 'failed');
  return SSH_STEPS.flatMap((step) => {
    const entry = known.get(step);
    if (ended) return entry === undefined || entry.state === 'waiting' ? [] : [entry];
    return [entry ?? { step, state: 'waiting' as const, detail: null }];
  });
}

interface Props {
  readonly ssh: Pick<SshEntry, 'steps' | 'failure'>;
  /** Says why beside the step that failed; else somebody else says it. */
  readonly withFailure: boolean;
}

/** The steps of connecting, live, with what came of each. */
export function StepList({ ssh, withFailure }: Props) {
  const { failure } = ssh;
  return (
    <ol className="steps">
      {stepsOf(ssh).map(({ step, state, detail }) => {
        const look = LOOKS[state];
        const told = state === 'failed' && failure !== null;
        const why = !told ? detail : withFailure ? `${failure.message} ${failure.remedy}` : null;
        return (
          <li key={step} className={`step-${state}`} aria-current={state === 'running' ? 'step' : undefined}>
            <Glyph name={look.shape} tone={look.tone} turning={state === 'running'} />
            <div>
              <b>{stepWords(step)}</b>
              <span className="unseen">: {look.word}</span>
              {why === null ? null : <small>{why}</small>}
            </div>
          </li>
        );
      })}
    </ol>
  );
}
