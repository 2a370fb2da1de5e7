/** What records told of the processes they name, for verdicts on these. */
import { identityKey, type ProcessRef } from '../../../identity/identity.ts';
import type { ServerRecord } from '../../../records/schema.ts';

export class RecordNotes {
  /** By identity: a program may run others in its own place, and change its title, and keeps its nonce. */
  readonly #nonces = new Map<string, string>();
  readonly #anothers = new Set<string>();

  /** A record was read or written. @param isAnothers it is of another machine that has this one's id */
  note({ nonce, spawned, server }: ServerRecord, isAnothers: boolean): void {
    for (const ref of [spawned, server]) {
      if (ref === null) continue;
      const key = identityKey(ref.identity);
      this.#nonces.set(key, nonce);
      if (isAnothers) this.#anothers.add(key);
      else this.#anothers.delete(key);
    }
  }

  started(ref: ProcessRef, nonce: string): void {
    this.#nonces.set(identityKey(ref.identity), nonce);
  }

  ended(ref: ProcessRef): void {
    this.#nonces.delete(identityKey(ref.identity));
  }

  nonceOf(ref: ProcessRef): string | undefined {
    return this.#nonces.get(identityKey(ref.identity));
  }

  isAnothers(ref: ProcessRef): boolean {
    return this.#anothers.has(identityKey(ref.identity));
  }
}
