import type { Roll, Server } from '../app/roll/schema.ts';
import { plural } from '../app/roll/words.ts';

/** What quitting does to the local servers that Rollcall supervises. */
export interface QuitPlan {
  /** Ended with the app. */
  readonly stopping: readonly Server[];
  /** Marked to keep running. */
  readonly leaving: readonly Server[];
}

/** The name of the host that is this machine. */
export const LOCAL = 'local';

export function quitPlan(roll: Pick<Roll, 'servers'>): QuitPlan {
  const local = roll.servers.filter((server) => server.host === LOCAL && server.supervised !== null);
  return {
    stopping: local.filter((server) => server.supervised?.keepRunning === false),
    leaving: local.filter((server) => server.supervised?.keepRunning === true),
  };
}

/** A server that quitting would stop shows a sign of work, so quitting asks first. */
export function quitAsks(roll: Pick<Roll, 'servers' | 'sessions'>): boolean {
  const stopping = quitPlan(roll).stopping;
  return stopping.some(
    (server) =>
      server.busy === 'busy' ||
      roll.sessions.some((session) => session.server === server.id && session.state === 'busy'),
  );
}

/** The last line of the tray menu, which says what quitting does. */
export function quitLabel(roll: Pick<Roll, 'servers' | 'sessions'>): string {
  const { stopping, leaving } = quitPlan(roll);
  const ellipsis = quitAsks(roll) ? '…' : '';
  if (stopping.length === 0 && leaving.length === 0) return 'Quit Rollcall';
  if (leaving.length === 0) return `Quit, stopping ${plural(stopping.length, 'local server')}${ellipsis}`;
  if (stopping.length === 0) return `Quit, leaving ${plural(leaving.length, 'local server')} running`;
  return `Quit, stopping ${stopping.length} and leaving ${plural(leaving.length, 'server')}${ellipsis}`;
}
