/** How a word names one session: by its id, its key, or the beginning of either. */
import type { Session } from '../roll/schema.ts';
import { isLive, sessionName } from '../text/session-words.ts';
import { UsageError } from './io.ts';

/** A word that is shorter names none. */
const LEAST = 4;
/** No more than this many are named where a word could mean several. */
const NAMED = 5;

export type SessionTarget =
  | { readonly found: 'session'; readonly session: Session }
  /** `text` says why in a sentence. */
  | { readonly found: 'nothing'; readonly text: string };

export function checkSession(word: string): void {
  if (/^[^\s\p{C}]{4,200}$/u.test(word)) return;
  throw new UsageError(
    word === '' ? 'The id of a session is empty.' : `${word} is no id of a session.`,
    `It is an id, a key, or at least ${LEAST} characters of the start of one; rollcall sessions --json shows them.`,
  );
}

/** The session that a word names. A whole id comes before the beginning of another, and what lives before what has ended. */
export function findSession(sessions: readonly Session[], word: string): SessionTarget {
  const live = sessions.filter(isLive);
  const ended = sessions.filter((session) => !isLive(session));
  const whole = ({ id, key }: Session): boolean => id === word || key === word;
  const begins = ({ id, key }: Session): boolean => id.startsWith(word) || key.startsWith(word);
  const found = [
    live.filter(whole),
    ended.filter(whole),
    word.length < LEAST ? [] : live.filter(begins),
    word.length < LEAST ? [] : ended.filter(begins),
  ].find(({ length }) => length > 0);
  const [session, ...others] = found ?? [];
  if (session === undefined) {
    return { found: 'nothing', text: `No session is called ${word}. rollcall sessions lists what lives.` };
  }
  if (others.length === 0) return { found: 'session', session };
  const all = [session, ...others];
  // Where one id is carried on several hosts, only the key tells them apart.
  const same = all.every(({ id }) => id === session.id);
  const named = all.slice(0, NAMED).map((one) => `${same ? one.key : one.id} (${sessionName(one)} on ${one.host})`);
  const more = all.length > NAMED ? ` and ${all.length - NAMED} more` : '';
  return { found: 'nothing', text: `${word} could be ${named.join(', ')}${more}. Give more of it.` };
}

/** A session in a sentence: `Session “Port the tests”`, or its id where it has no title. */
export function sessionLabel({ id, title }: Session): string {
  return title.trim() === '' ? `Session ${id}` : `Session “${title}”`;
}
