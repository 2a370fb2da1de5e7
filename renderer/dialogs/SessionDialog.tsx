import type { Session } from '../../app/roll/schema.ts';
import { hooksSentence, isAtWork, sessionName } from '../../app/text/session-words.ts';
import { useActs, useWindow } from '../state/context.tsx';
import { ConfirmDialog } from './ConfirmDialog.tsx';
import { useRun } from './useRun.ts';

/**
 * Every consequence of aborting or ending a session.
 *
 * @param hooks how many session-end hooks the configuration has
 */
export function interruptConsequences(session: Session, act: 'abort' | 'end', hooks: number): readonly string[] {
  const work = isAtWork(session)
    ? 'What it does now is interrupted'
    : session.state === 'unknown'
      ? 'Whether it is at work is unknown; if it is, that is interrupted'
      : 'Nothing is interrupted: it is not at work';
  if (act === 'abort') return [work, 'The session stays; it takes the next prompt'];
  return [
    work,
    hooks === 0 ? 'No session-end hook is configured' : hooksSentence(1, hooks),
    session.carrier === '' ? 'Its history is kept' : `Its history is kept, and ${session.carrier} goes on`,
  ];
}

interface Props {
  readonly act: 'abort' | 'end';
  /** As it was when the question opened. */
  readonly session: Session;
}

/** Aborts or ends a session after naming it and what that costs. */
export function SessionDialog({ act, session }: Props) {
  const acts = useActs();
  const { phase, failures, start } = useRun();
  const hooks = useWindow((state) => state.roll?.settings.hooks ?? 0);
  const permission = session[act];
  const verb = act === 'abort' ? 'Abort' : 'End';
  const title = `“${sessionName(session)}”`;
  const go = async (force: boolean): Promise<void> => {
    const answer = await start(
      act === 'abort'
        ? { command: 'abort-session', session: session.key }
        : { command: 'end-session', session: session.key, force },
    );
    if (answer.ok) acts.closeDialog();
  };
  return (
    <ConfirmDialog
      title={`${verb} ${title}?`}
      lead={permission.allowed === 'yes' ? `It is on ${session.host}, carried by ${session.carrier}.` : permission.why}
      alert
      look="danger"
      act={`${verb} session`}
      phase={phase}
      progress={`Asking ${session.carrier}…`}
      consequences={interruptConsequences(session, act, hooks)}
      consent={act === 'end' && permission.allowed === 'force' ? `${verb} ${title} anyway` : null}
      failures={failures}
      onAct={(consented) => void go(consented)}
    />
  );
}
