/** Sessions that have ended, and what would begin another life of one: a server may list it as it was for as long as it runs. */

import type { EndReason, SessionEnd } from './session-run.ts';
import type { ReportedSession } from './session-source.ts';

/** What was interrupted still moves a little: only activity this much later is a new life, in milliseconds. */
const SETTLE_MS = 3000;
/** Above this number the oldest are forgotten. */
const MAX_KEPT = 10_000;

/** Its server goes on after these, so that what it tells may still be of the old life. */
const ALONE: ReadonlySet<EndReason> = new Set(['ended', 'deleted']);

interface Over {
  readonly alone: boolean;
  /** Until when it was worked on, as far as is known, or else when it ended; milliseconds since the epoch. */
  readonly touchedAt: number;
  readonly endedAt: number;
  /** When its server last told of it, on the monotonic clock. */
  readonly heardAt: number;
}

/** How it last was; nothing is known of one that ended in an earlier process. */
export interface Last {
  readonly updatedAt: number | null;
  readonly heardAt: number | null;
}

export class EndedSessions {
  readonly #over = new Map<string, Over>();

  note(key: string, ending: SessionEnd, last: Last | null): void {
    const endedAt = Date.parse(ending.at);
    this.#over.delete(key);
    this.#over.set(key, {
      alone: ALONE.has(ending.reason),
      touchedAt: last?.updatedAt ?? endedAt,
      endedAt,
      heardAt: last?.heardAt ?? Number.NEGATIVE_INFINITY,
    });
    const [oldest] = this.#over.keys();
    if (this.#over.size > MAX_KEPT && oldest !== undefined) this.#over.delete(oldest);
  }

  /** Another life of it has begun. */
  forget(key: string): void {
    this.#over.delete(key);
  }

  /** Whether what is told of a session is no more than what was left of a life that is over. */
  isRest(key: string, { carrier, fact }: ReportedSession): boolean {
    const over = this.#over.get(key);
    if (over === undefined) return false;
    const updatedAt = fact.updatedAt ?? 0;
    const latest = Math.max(over.endedAt, over.touchedAt);
    if (over.alone) return updatedAt <= latest + SETTLE_MS;
    if ((fact.heardAt ?? Number.NEGATIVE_INFINITY) > over.heardAt || updatedAt > latest) return false;
    // Of a process that is newer than that life, and has worked on it since, its end may only have been seen late.
    const startedAt = Math.floor(carrier.startedAt);
    return !(startedAt > over.touchedAt && updatedAt >= startedAt);
  }
}
