/** What all faces say of sessions: states, names, counts, and what is interrupted. Pure, as `words.ts` is. */
import { SESSION_STATES, type Server, type Session, type SessionState } from '../roll/schema.ts';
import { plural } from './words.ts';

const STATE_WORDS: Readonly<Record<SessionState, string>> = {
  busy: 'Busy',
  waiting: 'Waiting',
  retrying: 'Retrying',
  error: 'Error',
  idle: 'Idle',
  ended: 'Ended',
  unknown: 'Unknown',
};

/** A state as it heads a row: `Busy`. */
export function sessionStateWord(state: SessionState): string {
  return STATE_WORDS[state];
}

/** What a session is called where its tool has no title for it (yet). */
export const UNTITLED = 'Untitled session';

/** Its title, or what stands for one. */
export function sessionName({ title }: Pick<Session, 'title'>): string {
  return title.trim() === '' ? UNTITLED : title;
}

/** Whether it is still carried by something. */
export function isLive({ state }: Pick<Session, 'state'>): boolean {
  return state !== 'ended';
}

/** Whether it is in the middle of something that an end of its server would cut off. */
export function isAtWork({ state }: Pick<Session, 'state'>): boolean {
  return state === 'busy' || state === 'retrying' || state === 'waiting';
}

const COUNT_WORDS: Readonly<Record<SessionState, string>> = {
  busy: 'busy',
  waiting: 'waiting',
  retrying: 'retrying',
  error: 'with an error',
  idle: 'idle',
  ended: 'ended',
  unknown: 'unknown',
};

/** How many there are of each state: `5 busy, 14 idle`. Those two are said also where there are none. */
export function sessionCounts(sessions: readonly Pick<Session, 'state'>[]): string {
  const counts = new Map<SessionState, number>();
  for (const { state } of sessions) counts.set(state, (counts.get(state) ?? 0) + 1);
  return SESSION_STATES.filter((state) => state === 'busy' || state === 'idle' || counts.has(state))
    .map((state) => `${counts.get(state) ?? 0} ${COUNT_WORDS[state]}`)
    .join(', ');
}

/** More titles than this make a sentence that nobody reads. */
const TITLES_LIMIT = 3;
/** A title in a sentence is cut here, in UTF-16 units. */
const TITLE_MAX = 60;

function quoted(session: Pick<Session, 'title'>): string {
  const name = sessionName(session);
  return `“${name.length > TITLE_MAX ? `${name.slice(0, TITLE_MAX - 1).trimEnd()}…` : name}”`;
}

/** Titles in a sentence: `“Port the tests”, “Fix the seams” and 4 more`. */
export function sessionTitles(sessions: readonly Pick<Session, 'title'>[]): string {
  const limit = sessions.length === TITLES_LIMIT + 1 ? TITLES_LIMIT + 1 : TITLES_LIMIT;
  const more = sessions.length - limit;
  return `${sessions.slice(0, limit).map(quoted).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

function interruption(sessions: readonly Session[], adjective: string): readonly string[] {
  if (sessions.length === 0) return [];
  const are = sessions.length === 1 ? 'is' : 'are';
  return [`${plural(sessions.length, `${adjective} session`)} ${are} interrupted: ${sessionTitles(sessions)}`];
}

/** Who is cut off when what carries these sessions ends, without a full stop: `1 busy session is interrupted: “…”`. */
export function interruptions(sessions: readonly Session[]): readonly string[] {
  return [
    ...interruption(
      sessions.filter(({ state }) => state === 'busy' || state === 'retrying'),
      'busy',
    ),
    ...interruption(
      sessions.filter(({ state }) => state === 'waiting'),
      'waiting',
    ),
  ];
}

/**
 * Everything that the end of what carries these sessions means for them, the calming figures too.
 *
 * @param hooks how many session-end hooks the configuration has
 */
export function sessionConsequences(sessions: readonly Session[], hooks: number): readonly string[] {
  const live = sessions.filter(isLive);
  const calm = live.filter((session) => !isAtWork(session));
  const ends = interruptions(live);
  const adjective = calm.every(({ state }) => state === 'idle') ? 'idle session' : 'other session';
  return [
    ...(ends.length === 0 && live.length > 0 ? ['0 busy sessions are interrupted'] : ends),
    ...(calm.length === 0
      ? []
      : [
          calm.length === 1
            ? `1 ${adjective} ends, ${sessionTitles(calm)}; its history is kept`
            : `${plural(calm.length, adjective)} end, their history is kept`,
        ]),
    ...(live.length === 0 || hooks === 0 ? [] : [hooksSentence(live.length, hooks)]),
  ];
}

/** What runs when sessions end: `Its 2 session-end hooks run`, `Their session-end hook runs`. */
export function hooksSentence(sessions: number, hooks: number): string {
  const whose = sessions === 1 ? 'Its' : 'Their';
  return hooks === 1 ? `${whose} session-end hook runs` : `${whose} ${hooks} session-end hooks run`;
}

/** The sessions that are on one of these servers, ended ones left out. */
export function liveSessionsOn(
  sessions: readonly Session[],
  servers: readonly Pick<Server, 'id'>[],
): readonly Session[] {
  const ids = new Set(servers.map(({ id }) => id));
  return sessions.filter((session) => session.server !== null && ids.has(session.server) && isLive(session));
}

/** How many sessions each server has at work now (`busy`), by its row. */
export function busyByServer(sessions: readonly Pick<Session, 'server' | 'state'>[]): ReadonlyMap<string, number> {
  const found = new Map<string, number>();
  for (const { server, state } of sessions) {
    if (state === 'busy' && server !== null) found.set(server, (found.get(server) ?? 0) + 1);
  }
  return found;
}

/** A command for a person's POSIX shell, each word quoted where it needs to be. */
export function shellCommand(argv: readonly string[]): string {
  return argv.map((word) => (/^[\w@%+=:,./-]+$/u.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`)).join(' ');
}
