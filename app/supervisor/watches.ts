/** Exit events of the processes that matter: servers, their owners, and the processes that servers are bound to. */
import type { ExitStatus, Host } from '../hosts/host.ts';
import { identityKey, type ProcessRef } from '../identity/identity.ts';

export class Watches {
  readonly #host: Host;
  readonly #onExit: (ref: ProcessRef, status: ExitStatus | null) => void;
  readonly #watched = new Map<string, () => void>();
  /** What has exited already; to watch it again would only tell the same. */
  readonly #exited = new Set<string>();

  constructor(host: Host, onExit: (ref: ProcessRef, status: ExitStatus | null) => void) {
    this.#host = host;
    this.#onExit = onExit;
  }

  /** Watches exactly these from now on. */
  set(refs: readonly ProcessRef[]): void {
    const wanted = new Map(refs.map((ref) => [identityKey(ref.identity), ref]));
    for (const [key, cancel] of this.#watched) {
      if (wanted.has(key)) continue;
      cancel();
      this.#watched.delete(key);
    }
    for (const key of this.#exited) if (!wanted.has(key)) this.#exited.delete(key);
    for (const [key, ref] of wanted) {
      if (this.#watched.has(key) || this.#exited.has(key)) continue;
      this.#watched.set(
        key,
        this.#host.watchExit(ref, (status) => {
          this.#watched.delete(key);
          this.#exited.add(key);
          this.#onExit(ref, status);
        }),
      );
    }
  }

  close(): void {
    for (const cancel of this.#watched.values()) cancel();
    this.#watched.clear();
  }
}
