import type { ProcessRef, Verdict } from '../../identity/identity.ts';
import type { Host, ProcessHandle, Signal, SignalOutcome } from '../host.ts';

/** A host that is another one after each reconnect. */
export interface Following {
  current(): Host;
  /** Calls back when `current` gives another host, or none comes any more. Returns the cancellation. */
  onChange(tell: () => void): () => void;
}

/** A grip on a process over any number of connections: it is taken anew on each, and a wait goes on there. */
export class ReconnectingHandle implements ProcessHandle {
  readonly ref: ProcessRef;
  readonly #following: Following;
  #host: Host;
  #grip: Promise<ProcessHandle>;
  #released = false;

  constructor(ref: ProcessRef, following: Following) {
    this.ref = ref;
    this.#following = following;
    this.#host = following.current();
    this.#grip = this.#host.hold(ref);
  }

  /** Resolves when the process is held. */
  async taken(): Promise<this> {
    await this.#grip;
    return this;
  }

  #now(): Promise<ProcessHandle> {
    const host = this.#following.current();
    if (host !== this.#host && !this.#released) {
      letGo(this.#grip);
      this.#host = host;
      this.#grip = host.hold(this.ref);
    }
    return this.#grip;
  }

  async verify(): Promise<Verdict> {
    return (await this.#now()).verify();
  }

  async signal(signal: Signal): Promise<SignalOutcome> {
    return (await this.#now()).signal(signal);
  }

  async exited(timeoutMs: number): Promise<boolean> {
    const until = performance.now() + timeoutMs;
    for (;;) {
      const host = this.#following.current();
      if (await this.#exitedThere(until)) return true;
      // What a connection that is gone says of a process is nothing: the rest of the time is waited on the next.
      if (host === this.#following.current() || this.#released) return false;
    }
  }

  /** False also when the host is not the current one any more. */
  async #exitedThere(until: number): Promise<boolean> {
    let cancel = (): void => undefined;
    const changed = new Promise<false>((resolve) => {
      cancel = this.#following.onChange(() => resolve(false));
    });
    try {
      const exited = this.#now().then((grip) => grip.exited(Math.max(0, until - performance.now())));
      return await Promise.race([exited, changed]);
    } finally {
      cancel();
    }
  }

  release(): void {
    this.#released = true;
    letGo(this.#grip);
  }
}

function letGo(grip: Promise<ProcessHandle>): void {
  grip.then(
    (held) => held.release(),
    // There is nothing to let go of, and whoever wanted it was told.
    () => undefined,
  );
}
