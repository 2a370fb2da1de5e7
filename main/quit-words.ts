import type { Roll, Server } from '../app/roll/schema.ts';
import { interruptions, isAtWork, liveSessionsOn } from '../app/text/session-words.ts';
import { listed, plural, rowName } from '../app/text/words.ts';

/** What quitting does to the local servers that Rollcall supervises. */
export interface QuitPlan {
  /** Ended with the app. */
  readonly stopping: readonly Server[];
  /** Marked to keep running, or all of them where the settings say so. */
  readonly leaving: readonly Server[];
}

/** The name of the host that is this machine. */
export const LOCAL = 'local';

export function quitPlan(roll: Pick<Roll, 'servers' | 'settings'>): QuitPlan {
  const local = roll.servers.filter((server) => server.host === LOCAL && server.supervised !== null);
  const stops = (server: Server) => roll.settings.stopLocalServers && server.supervised?.keepRunning === false;
  return {
    stopping: local.filter((server) => stops(server)),
    leaving: local.filter((server) => !stops(server)),
  };
}

/** The servers that quitting would interrupt at work. */
function interrupted(roll: Pick<Roll, 'servers' | 'sessions' | 'settings'>): readonly Server[] {
  const atWork = new Set(roll.sessions.filter(isAtWork).map(({ server }) => server));
  return quitPlan(roll).stopping.filter((server) => server.busy === 'busy' || atWork.has(server.id));
}

/** A server that quitting would stop shows a sign of work, so quitting asks first. */
export function quitAsks(roll: Pick<Roll, 'servers' | 'sessions' | 'settings'>): boolean {
  return interrupted(roll).length > 0;
}

/** The question before quitting interrupts something; the button repeats the deed. */
export interface QuitQuestion {
  readonly message: string;
  /** Who is interrupted, by name, and what else stops. */
  readonly detail: string;
  readonly button: string;
}

export function quitQuestion(roll: Pick<Roll, 'servers' | 'sessions' | 'settings'>): QuitQuestion {
  const deed = `Quit and stop ${plural(quitPlan(roll).stopping.length, 'local server')}`;
  const busy = interrupted(roll);
  const sessions = liveSessionsOn(roll.sessions, busy).filter(isAtWork);
  const named = new Set(sessions.map(({ server }) => server));
  // What works without a session that is known is named itself.
  const others = busy.filter((server) => !named.has(server.id));
  const names = listed(others.map(rowName));
  const lines = [
    ...interruptions(sessions).map((line) => `${line}.`),
    others.length === 0
      ? `${sessions.length === 1 ? 'Its' : 'Their'} history is kept.`
      : others.length === 1
        ? `${names} is busy and is interrupted; its sessions end and history is kept.`
        : `${names} are busy and are interrupted; their sessions end and history is kept.`,
  ];
  return { message: `${deed}?`, detail: lines.join('\n'), button: deed };
}

/** The last line of the tray menu, which says what quitting does. */
export function quitLabel(roll: Pick<Roll, 'servers' | 'sessions' | 'settings'>): string {
  const { stopping, leaving } = quitPlan(roll);
  const ellipsis = quitAsks(roll) ? '…' : '';
  if (stopping.length === 0 && leaving.length === 0) return 'Quit Rollcall';
  if (leaving.length === 0) return `Quit, stopping ${plural(stopping.length, 'local server')}${ellipsis}`;
  if (stopping.length === 0) return `Quit, leaving ${plural(leaving.length, 'local server')} running`;
  return `Quit, stopping ${stopping.length} and leaving ${plural(leaving.length, 'server')}${ellipsis}`;
}
