/** Servers of ours that no record verifies just now: what else shows them, and for how long they are waited for. Pure. */

import { idOf } from '../identity/ids.ts';
import { refOfRecord } from '../records/judge.ts';
import type { Roll, Server } from '../roll/schema.ts';
import type { Supervised } from '../supervisor/core.ts';

/** A server that nothing shows is waited for this long: a full disk may be emptied, a record put back. Milliseconds. */
export const UNVERIFIED_MS = 30 * 60_000;

/** The row of the very process that the record names; null when the last look shows none. */
export function rowOfProcess({ record }: Supervised, roll: Roll): Server | null {
  const ref = refOfRecord(record);
  if (ref === null) return null;
  const id = idOf(ref.identity);
  return roll.servers.find((row) => row.id === id) ?? null;
}

/** Since when each server, by nonce, has neither a row of its own nor one of its process; monotonic milliseconds. */
export class UnverifiedServers {
  readonly #since = new Map<string, number>();
  readonly #say: (text: string) => void;
  readonly #said = new Set<string>();

  /** @param say takes a line for the guard's log */
  constructor(say: (text: string) => void) {
    this.#say = say;
  }

  /**
   * Takes in one look.
   *
   * @returns the servers as they are to be decided about: one that only its process's row shows is as busy as that,
   *   and one that nothing has shown for too long is left out
   */
  observe(servers: readonly Supervised[], roll: Roll, now: number): Supervised[] {
    const here = new Set<string>();
    const kept = servers.flatMap((server): Supervised[] => {
      if (server.id !== null) return [server];
      const row = rowOfProcess(server, roll);
      if (row !== null) return [{ ...server, busy: row.busy }];
      const { nonce } = server.record;
      here.add(nonce);
      const since = this.#since.get(nonce) ?? now;
      this.#since.set(nonce, since);
      if (now - since < UNVERIFIED_MS) {
        this.#sayOnce(server, 'no look shows it, so it cannot be proved and is not ended; it is waited for');
        return [server];
      }
      this.#sayOnce(
        server,
        `nothing has shown it for ${UNVERIFIED_MS / 60_000} minutes; it is not waited for any more`,
      );
      return [];
    });
    for (const nonce of this.#since.keys()) if (!here.has(nonce)) this.#since.delete(nonce);
    return kept;
  }

  #sayOnce({ record, label, path }: Supervised, what: string): void {
    const pid = refOfRecord(record)?.identity.pid;
    const text = `${label}${pid === undefined ? '' : `, PID ${pid}`} (${path}): ${what}`;
    if (this.#said.has(text)) return;
    this.#said.add(text);
    this.#say(text);
  }
}
