/** Exit events of the processes that matter: servers, their owners, and the processes that servers are bound to. */
import type { ExitStatus, Host } from '../../hosts/host.ts';
import { identityKey, type ProcessRef } from '../../identity/identity.ts';

export class ExitWatches {
  readonly #host: Pick<Host, 'verify' | 'watchExit'>;
  readonly #onExit: (ref: ProcessRef, status: ExitStatus | null) => void;
  readonly #watched = new Map<string, { readonly ref: ProcessRef; readonly cancel: () => void }>();
  #wanted: ReadonlyMap<string, ProcessRef> = new Map();
  /** What has exited already; to watch it again would only tell the same. */
  readonly #exited = new Set<string>();

  constructor(host: Pick<Host, 'verify' | 'watchExit'>, onExit: (ref: ProcessRef, status: ExitStatus | null) => void) {
    this.#host = host;
    this.#onExit = onExit;
  }

  /** Watches exactly these from now on. What is wanted no longer because a look came before its exit is still told of. */
  set(refs: readonly ProcessRef[]): void {
    const wanted = new Map(refs.map((ref) => [identityKey(ref.identity), ref]));
    this.#wanted = wanted;
    for (const [key, { ref }] of this.#watched) if (!wanted.has(key)) void this.#drop(key, ref);
    for (const key of this.#exited) if (!wanted.has(key)) this.#exited.delete(key);
    for (const [key, ref] of wanted) {
      if (this.#watched.has(key) || this.#exited.has(key)) continue;
      const cancel = this.#host.watchExit(ref, (status) => {
        this.#watched.delete(key);
        this.#exited.add(key);
        this.#onExit(ref, status);
      });
      this.#watched.set(key, { ref, cancel });
    }
  }

  /** Ends the watch of a process that lives on; that of one that has exited ends by itself. */
  async #drop(key: string, ref: ProcessRef): Promise<void> {
    const { verdict } = await this.#host.verify(ref);
    if (verdict === 'gone' || verdict === 'zombie' || verdict === 'reused' || this.#wanted.has(key)) return;
    this.#watched.get(key)?.cancel();
    this.#watched.delete(key);
  }

  close(): void {
    for (const { cancel } of this.#watched.values()) cancel();
    this.#watched.clear();
  }
}
