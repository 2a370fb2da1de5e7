import type { ProcessIdentity } from '../../identity/identity.ts';
import type { SessionState } from '../../roll/schema.ts';

/** Tools that tell of their sessions in files. */
export type ForeignTool = 'claude' | 'entire';

/** A session as a file of its tool tells of it, judged by the process that carries it. Times are ms since the epoch. */
export interface ForeignSession {
  readonly tool: ForeignTool;
  /** As its tool calls it: unique for the tool. An entire session has the id that its agent gave it. */
  readonly id: string;
  /** One line; empty where it has none. */
  readonly title: string;
  readonly directory: string | null;
  readonly state: Extract<SessionState, 'busy' | 'waiting' | 'idle' | 'unknown' | 'ended'>;
  /** Why nothing is known, how it ended, what else is to say; a clause. */
  readonly detail: string | null;
  /** Its process is gone, or its tool says so or took its file away; null while it has not ended. */
  readonly endedBy: 'carrier' | 'tool' | null;
  /** PID in its file; null where that is no number of this machine and PID namespace. */
  readonly pid: number | null;
  /** Name of the program that carries it, for people. */
  readonly carrier: string;
  /**
   * Of the process that carries it, where its start proves it. Good for showing and for finding the row of a server; a
   * signal takes an identity that was recorded by us (DESIGN rule 4.13).
   */
  readonly identity: ProcessIdentity | null;
  /** Of what stands at its PID while it has not ended, proved or not; null where nothing does, or is known. */
  readonly at: ProcessIdentity | null;
  readonly startedAt: number | null;
  /** When its tool last wrote that something happened. Says nothing of whether it lives. */
  readonly updatedAt: number | null;
  /** The file. */
  readonly path: string;
}

/** Of a session that no process is known for. */
export const UNPROVED = { endedBy: null, identity: null, at: null } as const;

/** Reads fields of a parsed JSON object of a foreign tool, each of which may be anything. */
export function objectOf(text: string): Readonly<Record<string, unknown>> | null {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return null; // half written, or none of its tool's
  }
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Readonly<Record<string, unknown>>)
    : null;
}

const ID = /^[A-Za-z0-9][\w.:-]{0,127}$/u;
const MAX_PATH = 4096;
const MAX_TITLE = 200;
/** Latest time that a `Date` can hold. */
const LATEST = 8.64e15;

/** An id that can stand in a file name and an argument; null for anything else. */
export function idIn(value: unknown): string | null {
  return typeof value === 'string' && ID.test(value) ? value : null;
}

/** A text of reasonable length; null for anything else. */
export function textIn(value: unknown, longest = MAX_PATH): string | null {
  return typeof value === 'string' && value !== '' && value.length <= longest ? value : null;
}

/** An absolute path of this system or of Windows; null for anything else. */
export function pathIn(value: unknown): string | null {
  const text = textIn(value);
  return text !== null && /^(?:\/|[A-Za-z]:[\\/]|\\\\)/u.test(text) && !text.includes('\0') ? text : null;
}

/** A title on one line; empty where there is none. */
export function titleIn(value: unknown): string {
  if (typeof value !== 'string') return '';
  // Two times as much as is shown: a blank may stand for many.
  const line = value
    .slice(0, 2 * MAX_TITLE)
    .replace(/[\s\p{Cc}]+/gu, ' ')
    .trim();
  return line.length > MAX_TITLE ? `${line.slice(0, MAX_TITLE - 1)}…` : line;
}

/** Milliseconds since the epoch, from a number of them or an ISO text with its zone; null for anything else. */
export function timeIn(value: unknown): number | null {
  let time = Number.NaN;
  if (typeof value === 'number') time = value;
  else if (typeof value === 'string' && /T.*(?:Z|[+-]\d\d:\d\d)$/u.test(value)) time = Date.parse(value);
  // A time of zero or before is how Go and others write none.
  return Number.isFinite(time) && time > 0 && time < LATEST ? Math.floor(time) : null;
}
