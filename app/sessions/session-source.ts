/** On which server a session is alive. Pure. */
import { createHash } from 'node:crypto';
import { identityKey, type ProcessIdentity } from '../identity/identity.ts';
import type { SessionFact, SessionReading } from '../servers/kind.ts';

/** The clock of a file or a server may be this much behind the kernel's idea of a start, in milliseconds. */
const SLACK_MS = 2000;

/** A running server, or a process that carries a session of its own. The same object as long as nothing of it changes. */
export interface SessionSource {
  readonly identity: ProcessIdentity;
  /** Kind of the server, or the tool: with a session's id it names the session. */
  readonly kind: string;
  /** Its row; null for a process that is no server. */
  readonly row: string | null;
  /** As rows name it: "opencode :4096". */
  readonly label: string;
  readonly directory: string | null;
  /** Milliseconds since the epoch. */
  readonly startedAt: number;
  /** Its identity is proved, not only likely: what it carries has a life that ends, and hooks that run then. */
  readonly proved: boolean;
  /** It can be asked to interrupt a session. */
  readonly acts: boolean;
  /** Why it cannot, as a sentence. */
  readonly noActs: string;
  /** Command that attaches a terminal; null where there is none. */
  readonly attach: (session: string) => readonly string[] | null;
}

/** What a carrier tells of its sessions. */
export interface SessionReport {
  readonly carrier: SessionSource;
  /** Null while nothing is known of them. */
  readonly reading: SessionReading | null;
  /** Why not, as a clause about the carrier. */
  readonly why: string;
  /** Who says so: its server, in which a session can be deleted, or files of its tool, which takes an ended one off. */
  readonly by: 'server' | 'files';
}

/** One session as one carrier tells of it. */
export interface ReportedSession {
  readonly carrier: SessionSource;
  readonly fact: SessionFact;
}

/** Key of a session: its machine, its tool and its id, hashed to 16 hex digits. Sessions are unique within their tool's store. */
export function sessionKey(hostId: string, kind: string, id: string): string {
  return createHash('sha256').update(`${hostId}\0${kind}\0${id}`).digest('hex').slice(0, 16);
}

const keys = new WeakMap<ProcessIdentity, string>();

/** As `identityKey`, made once for each object: thousands of sessions share a few carriers and are compared at every word. */
export function sourceKey(identity: ProcessIdentity): string {
  const known = keys.get(identity);
  if (known !== undefined) return known;
  const key = identityKey(identity);
  keys.set(identity, key);
  return key;
}

/**
 * Whether a server carries a session, rather than only having its history at hand: it told of it, or the session was
 * worked on since the server runs. All servers of one home list the same stored sessions.
 */
export function isLiveOn({ carrier, fact }: ReportedSession): boolean {
  if (fact.heardAt !== null) return true;
  const touchedAt = fact.updatedAt ?? fact.createdAt;
  return touchedAt !== null && touchedAt >= carrier.startedAt - SLACK_MS;
}

const WORKING: ReadonlySet<SessionFact['state']> = new Set(['busy', 'waiting', 'retrying']);

export function isWorking(state: string): boolean {
  return (WORKING as ReadonlySet<string>).has(state);
}

/** Where a session was until now. */
export interface Was {
  /** Key of the identity. */
  readonly carrier: string;
  /** When that one last told of it, on the monotonic clock; null when it did not since this process runs. */
  readonly heardAt: number | null;
}

/**
 * Which of the servers that tell of a session carries it: the one that runs it; else the one that last told of it; else the
 * one it was on; else one that was started in its folder; else the oldest, which has had it for longest. One that only lists
 * it never takes it from the one it was on, which may just not answer, or follow a new stream.
 *
 * @param was where it was; null for nowhere, or on one that is gone
 * @returns null when it stays on one that does not tell of it now, or when nobody tells of it
 */
export function reportToShow(told: readonly ReportedSession[], was: Was | null): ReportedSession | null {
  const best = bestOf(told, was?.carrier ?? null);
  if (best === null || was === null || sourceKey(best.carrier.identity) === was.carrier) return best;
  const { heardAt, state } = best.fact;
  if (heardAt !== null && (isWorking(state) || heardAt > (was.heardAt ?? Number.NEGATIVE_INFINITY))) return best;
  return told.find(({ carrier }) => sourceKey(carrier.identity) === was.carrier) ?? null;
}

function bestOf(told: readonly ReportedSession[], was: string | null): ReportedSession | null {
  if (told.length <= 1) return told[0] ?? null;
  const working = told.filter(({ fact }) => fact.heardAt !== null && isWorking(fact.state));
  const heard = (working.length > 0 ? working : told).filter(({ fact }) => fact.heardAt !== null);
  if (heard.length > 0) return heard.reduce((a, b) => ((b.fact.heardAt ?? 0) > (a.fact.heardAt ?? 0) ? b : a));
  const before = told.find(({ carrier }) => sourceKey(carrier.identity) === was);
  if (before !== undefined) return before;
  const inFolder = told.filter(({ carrier, fact }) => fact.directory !== null && carrier.directory === fact.directory);
  return (inFolder.length > 0 ? inFolder : told).reduce((a, b) => (b.carrier.startedAt < a.carrier.startedAt ? b : a));
}
