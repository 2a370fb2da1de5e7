/**
 * The idle policy: a server of ours that has had neither a busy session nor a client for as long as the person set is
 * announced, and stopped a minute later if that is still so. What cannot be known is no idleness. Pure but for what it keeps.
 */

/** A person who looks at the roll now and then can still object. Milliseconds. */
const ANNOUNCED_MS = 60_000;
const MINUTE_MS = 60_000;

export interface IdleFacts {
  readonly nonce: string;
  /** Null: it is never stopped for being idle. */
  readonly minutes: number | null;
  readonly busy: 'busy' | 'idle' | 'unknown';
  /** Null where clients cannot be known. */
  readonly clients: number | null;
}

export interface IdleNews {
  readonly announced: readonly string[];
  readonly due: readonly string[];
}

interface Quiet {
  /** Monotonic milliseconds. */
  readonly since: number;
  stopAt: number | null;
  /** The same for people, in milliseconds since the epoch: worked out once, so that it reads the same each time. */
  shownAt: number | null;
}

export class IdleWatch {
  readonly #quiet = new Map<string, Quiet>();
  readonly #announcedMs: number;

  /** @param announcedMs from the announcement to the stop, in milliseconds */
  constructor(announcedMs = ANNOUNCED_MS) {
    this.#announcedMs = announcedMs;
  }

  /** @param now monotonic milliseconds: a machine that slept, or a clock that was set, makes nothing idle */
  observe(servers: readonly IdleFacts[], now: number): IdleNews {
    const announced: string[] = [];
    const due: string[] = [];
    const present = new Set(servers.map(({ nonce }) => nonce));
    for (const nonce of this.#quiet.keys()) if (!present.has(nonce)) this.#quiet.delete(nonce);
    for (const { nonce, minutes, busy, clients } of servers) {
      if (minutes === null || busy !== 'idle' || clients !== 0) {
        this.#quiet.delete(nonce);
        continue;
      }
      const quiet = this.#quiet.get(nonce) ?? { since: now, stopAt: null, shownAt: null };
      this.#quiet.set(nonce, quiet);
      if (quiet.stopAt !== null && now >= quiet.stopAt) due.push(nonce);
      // A longer time may have been set since it was announced.
      else if (now - quiet.since < minutes * MINUTE_MS) quiet.stopAt = null;
      else if (quiet.stopAt === null) {
        quiet.stopAt = now + this.#announcedMs;
        quiet.shownAt = Date.now() + this.#announcedMs;
        announced.push(nonce);
      }
    }
    return { announced, due };
  }

  /** When it is stopped, in monotonic milliseconds, once that is announced; null before. */
  stopAt(nonce: string): number | null {
    return this.#quiet.get(nonce)?.stopAt ?? null;
  }

  /** The same in milliseconds since the epoch, for people. */
  shownStopAt(nonce: string): number | null {
    const quiet = this.#quiet.get(nonce);
    return quiet === undefined || quiet.stopAt === null ? null : quiet.shownAt;
  }

  /** Its idle time begins anew. */
  keepAwake(nonce: string): void {
    this.#quiet.delete(nonce);
  }
}
