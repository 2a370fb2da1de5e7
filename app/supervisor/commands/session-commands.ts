/** What a person does with one session: interrupt it, or end it. Its server is asked, and only once it is proved to be the one. */

import { refOf } from '../../hosts/process-info.ts';
import { isSameProcess } from '../../identity/identity.ts';
import type { CommandResult } from '../../roll/commands.ts';
import { isWorking, type ReportedSession } from '../../sessions/session-source.ts';
import { ActFailed, done } from '../failure.ts';
import type { CommandContext } from './command-context.ts';

/** How long a server may take to interrupt a session, in milliseconds. */
const ABORT_MS = 5000;

/** @throws ActFailed when the session is not there, cannot be interrupted, or was not */
export async function abortSession(key: string, by: string, parts: CommandContext): Promise<CommandResult> {
  const told = find(key, parts);
  if (!isWorking(told.fact.state))
    throw new ActFailed('not-busy', `${nameOf(told)} does nothing that could be interrupted.`, '');
  await interrupt(key, told, by, parts);
  return done(`${nameOf(told)} was interrupted.`);
}

/**
 * Ends a session: what it does is interrupted, and from then on it counts as ended, so that what is to run at its end
 * runs. Nothing of its history is deleted.
 *
 * @throws ActFailed
 */
export async function endSession(
  key: string,
  force: boolean,
  by: string,
  parts: CommandContext,
): Promise<CommandResult> {
  const told = find(key, parts);
  if (!told.carrier.acts) throw new ActFailed('cannot', `${nameOf(told)} was not ended. ${told.carrier.noActs}`, '');
  const { state, heardAt } = told.fact;
  if ((isWorking(state) || state === 'unknown') && !force) {
    const why = state === 'unknown' ? 'nothing is known of what it does' : 'it is busy';
    const message = `${nameOf(told)} was not ended: ${why}.`;
    throw new ActFailed('refused', message, 'End it anyway with an explicit force.');
  }
  // Of one that its server has told nothing of, there is nobody to ask.
  if (isWorking(state) || (state === 'unknown' && heardAt !== null)) await interrupt(key, told, by, parts);
  if (!parts.sessions.endedByPerson(key)) throw gone();
  return done(`${nameOf(told)} has ended; its history is kept.`);
}

function find(key: string, { sessions }: CommandContext): ReportedSession {
  const told = sessions.told(key);
  if (told === null) throw gone();
  return told;
}

function gone(): ActFailed {
  return new ActFailed('not-found', 'This session is not alive any more.', 'The list shows what lives now.');
}

function nameOf({ fact }: ReportedSession): string {
  return fact.title === '' ? `Session ${fact.id}` : `Session “${fact.title}”`;
}

/** The request goes to a listener that has just been proved to belong to the very server that told of the session. */
async function interrupt(key: string, told: ReportedSession, by: string, parts: CommandContext): Promise<void> {
  const { carrier } = told;
  const name = nameOf(told);
  const server = (await parts.freshLook()).servers.find(({ leader }) =>
    isSameProcess(leader.identity, carrier.identity),
  );
  // What was told when the person asked may have changed with the look.
  const fact = parts.sessions.told(key)?.fact;
  if (fact === undefined) throw gone();
  const acts = server?.kind?.sessionActs ?? null;
  if (server === undefined || server.endpoint === null || acts === null || !carrier.acts) {
    const why = carrier.acts ? 'Its server is not there any more.' : carrier.noActs;
    throw new ActFailed('cannot', `${name} was not interrupted. ${why}`, 'The list shows what runs now.');
  }
  const { verdict } = await parts.host.verify(refOf(server.leader));
  if (verdict !== 'same') {
    throw new ActFailed(
      'cannot',
      `${name} was not interrupted: its server could not be proved to be the one.`,
      'Look again.',
    );
  }
  const failure = await acts.abort(server.endpoint, fact, ABORT_MS);
  parts.audit.note({
    event: 'session-aborted',
    by,
    pid: server.row.pid,
    identity: server.leader.identity,
    session: key,
    // As every other line about a session begins.
    subject: `${name.charAt(0).toLowerCase()}${name.slice(1)}`,
    text: failure === null ? `${name} was interrupted` : `${name} was not interrupted: ${failure}`,
  });
  if (failure !== null)
    throw new ActFailed('abort-failed', `${name} was not interrupted: ${failure}.`, 'Try again in a moment.');
}
