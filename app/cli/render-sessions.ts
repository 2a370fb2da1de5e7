/** The sessions as text and as JSON. Pure. */
import type { Roll, Session } from '../roll/schema.ts';
import { isLive, sessionName, sessionStateWord } from '../text/session-words.ts';
import { columnAge, NOTHING, plural, rowName, shortenPath } from '../text/words.ts';
import { type Column, cutEnd, cutPath, layOut, printable, wrap } from './table.ts';

type Part = Pick<Roll, 'takenAt' | 'servers' | 'sessions'>;

/** A server whose sessions cannot be known, and why, as a clause about it. */
export interface UnknownJson {
  readonly server: string;
  readonly host: string;
  readonly kind: string;
  readonly pid: number;
  readonly why: string;
}

/** What `rollcall sessions --json` prints. Names are only added. */
export interface SessionsJson {
  readonly version: 1;
  /** ISO 8601, UTC. */
  readonly takenAt: string;
  readonly sessions: readonly Session[];
  readonly unknown: readonly UnknownJson[];
}

/** States that somebody may have to see to come first, in this order. */
const FIRST: readonly Session['state'][] = ['busy', 'waiting', 'retrying', 'error'];

function rank({ state }: Session): number {
  const at = FIRST.indexOf(state);
  if (at >= 0) return at;
  return state === 'ended' ? FIRST.length + 1 : FIRST.length;
}

/** When it last did anything, in milliseconds since the epoch; 0 where that is not known. */
function lastAt({ state, since, lastActivityAt, startedAt }: Session): number {
  const at = state === 'ended' ? since : (lastActivityAt ?? startedAt);
  return at === null ? 0 : Date.parse(at);
}

/** What works or waits first, then the latest activity first; ended ones last, where they are wanted. */
export function shownSessions(sessions: readonly Session[], ended: boolean): readonly Session[] {
  return sessions
    .filter((session) => ended || isLive(session))
    .sort((a, b) => rank(a) - rank(b) || lastAt(b) - lastAt(a));
}

function withoutSessions({ servers }: Part) {
  return servers.flatMap((server) => (server.sessions.known ? [] : [{ server, why: server.sessions.why }]));
}

/** The sessions as scripts see them. Pure. */
export function sessionsJson(roll: Part, ended: boolean): SessionsJson {
  return {
    version: 1,
    takenAt: roll.takenAt,
    sessions: shownSessions(roll.sessions, ended),
    unknown: withoutSessions(roll).map(({ server: { id, host, kind, pid }, why }) => ({
      server: id,
      host,
      kind,
      pid,
      why,
    })),
  };
}

const COLUMNS: readonly Column[] = [
  { head: 'State', align: 'left' },
  { head: 'Session', align: 'left', cut: { how: cutEnd, minWidth: 16 } },
  { head: 'Server', align: 'left' },
  { head: 'Directory', align: 'left', cut: { how: cutPath, minWidth: 12 } },
  { head: 'Host', align: 'left' },
  { head: 'For', align: 'right' },
];

export interface SessionOptions {
  /** Columns of the terminal; null cuts nothing. */
  readonly width: number | null;
  readonly home: string;
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** Also those that ended in the last hour. */
  readonly ended: boolean;
}

/** The sessions as text, ending in a newline: the table, then the servers of which no session can be known. Pure. */
export function renderSessions(roll: Part, { width, home, now, ended }: SessionOptions): string {
  const sessions = shownSessions(roll.sessions, ended);
  const rows = sessions.map((session) => [
    sessionStateWord(session.state),
    printable(`${session.parent === null ? '' : '↳ '}${shortName(session)}`),
    session.carrier === '' ? NOTHING : printable(session.carrier),
    session.directory === null ? NOTHING : printable(shortenPath(session.directory, home)),
    printable(session.host),
    session.since === null ? NOTHING : columnAge(now - Date.parse(session.since)),
  ]);
  const lines: string[] = [];
  if (rows.length === 0) lines.push('No session is alive, as far as is known.');
  else {
    const layout = layOut(COLUMNS, rows, width, 0);
    lines.push(layout.head, ...rows.map((row) => layout.row(row)));
  }
  const unknown = withoutSessions(roll);
  if (unknown.length > 0) {
    lines.push('', `The sessions of ${plural(unknown.length, 'server')} are not known:`);
    for (const { server, why } of unknown) {
      const room = width === null ? null : Math.max(20, width - 2);
      const said = printable(`${rowName(server)}, PID ${server.pid}: ${why}`);
      lines.push(...wrap(said, room).map((line) => `  ${line}`));
    }
  }
  return `${lines.join('\n')}\n`;
}

/** Its title, else its id, which also names it to `abort` and `end`. */
function shortName(session: Session): string {
  return session.title.trim() === '' ? session.id : sessionName(session);
}
