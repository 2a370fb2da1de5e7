import { useState } from 'react';
import type { Session } from '../../app/roll/schema.ts';
import { hooksSentence, isAtWork, sessionName } from '../../app/text/session-words.ts';
import { Glyph } from '../components/Glyph.tsx';
import { Button } from '../components/parts.tsx';
import { useActs, useWindow } from '../state/context.tsx';
import { DialogShell } from './DialogShell.tsx';
import { CheckBox, Consequences, FailureNote } from './parts.tsx';
import { useCommand } from './useCommand.ts';

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
  const { running, result, give } = useCommand();
  const [named, setNamed] = useState(false);
  const hooks = useWindow((state) => state.roll?.settings.hooks ?? 0);
  const permission = session[act];
  const needsForce = act === 'end' && permission.allowed === 'force';
  const verb = act === 'abort' ? 'Abort' : 'End';
  const title = `“${sessionName(session)}”`;
  const asked = running || result !== null;
  const go = async (): Promise<void> => {
    const answer = await give(
      act === 'abort'
        ? { command: 'abort-session', session: session.key }
        : { command: 'end-session', session: session.key, force: needsForce && named },
    );
    if (answer.ok) acts.closeDialog();
  };
  return (
    <DialogShell
      title={`${verb} ${title}?`}
      lead={permission.allowed === 'yes' ? `It is on ${session.host}, carried by ${session.carrier}.` : permission.why}
      alert
      onClose={acts.closeDialog}
      footer={
        <>
          <span className="note progress-note">
            {running ? (
              <>
                <Glyph name="turn" tone="busy" turning />
                <span className="clip">Asking {session.carrier}…</span>
              </>
            ) : null}
          </span>
          <Button data-first onClick={acts.closeDialog}>
            {asked ? 'Close' : 'Cancel'}
          </Button>
          {asked ? null : (
            <Button look="danger" disabled={needsForce && !named} onClick={() => void go()}>
              {verb} session
            </Button>
          )}
        </>
      }
    >
      <Consequences lines={interruptConsequences(session, act, hooks)} />
      {needsForce && !asked ? (
        <CheckBox checked={named} onChange={setNamed} label={`${verb} ${title} all the same`}>
          <span className="clip">
            {verb} {title} all the same
          </span>
        </CheckBox>
      ) : null}
      {result?.ok === false ? <FailureNote failure={result.failure} /> : null}
    </DialogShell>
  );
}
