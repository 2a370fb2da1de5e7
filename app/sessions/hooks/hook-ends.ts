/** Waits for the end of hooks' runners, whoever started them, and ends one that does not end itself. */

import type { Audit } from '../../audit/audit.ts';
import type { Host } from '../../hosts/host.ts';
import type { ProcessRef } from '../../identity/identity.ts';
import { signalProvedGroup } from '../../util/own-child.ts';

/** After SIGKILL, a process is gone as soon as the kernel lets go of it; milliseconds. */
const KILLED_MS = 5000;

/** What a runner is for. */
export interface RunnerOf {
  /** Key of the session. */
  readonly session: string;
  /** The hook, as it is shown. */
  readonly subject: string;
  /** Where its files begin, which is one of its arguments. */
  readonly files: string;
}

export interface EndsDeps {
  readonly host: Pick<Host, 'inspect' | 'hold' | 'watchExit'>;
  readonly audit: Pick<Audit, 'write' | 'note'>;
  readonly by: string;
}

export class RunnerEnds {
  readonly #parts: EndsDeps;
  readonly #closing: AbortSignal;

  /** @param closing calls all waiting off; nothing is signalled after it */
  constructor(parts: EndsDeps, closing: AbortSignal) {
    this.#parts = parts;
    this.#closing = closing;
  }

  /**
   * Resolves when a runner is gone, or nothing more can be done about it, or the waiting is called off.
   *
   * @param ms what it is given to end by itself
   * @param exited its exit where this process started it
   * @throws AuditUnwritable when it would have to be ended
   */
  async wait(ref: ProcessRef, ms: number, of: RunnerOf, exited?: Promise<void>): Promise<void> {
    const gone = exited === undefined ? await this.#isGone(ref, ms) : await this.#within(exited, ms);
    if (!gone && !this.#closing.aborted) await this.#end(ref, of);
  }

  /**
   * Ends a runner with its group, which comes only to one that was stopped or whose script is at fault. It was made the
   * leader of its group by us, and is verified as the very process and as the leader still.
   */
  async #end(ref: ProcessRef, { session, subject, files }: RunnerOf): Promise<void> {
    const { host, audit, by } = this.#parts;
    const { pid } = ref.identity;
    const held = await host.hold(ref);
    try {
      const info = (await held.verify()).verdict === 'same' ? await host.inspect(pid) : null;
      if (info === null || info.pgrp !== pid || !info.argv.includes(files)) return;
      const about = { by, pid, identity: ref.identity, session, subject, signal: 'SIGKILL' };
      audit.write({ event: 'signal-intent', ...about, text: `SIGKILL to the group of a hook's runner, PID ${pid}` });
      const { verdict } = await held.verify();
      const sent = verdict === 'same' && !this.#closing.aborted && signalProvedGroup(pid, 'SIGKILL');
      audit.note({ event: 'signal-outcome', ...about, verdict, text: sent ? 'sent' : 'not sent' });
    } finally {
      held.release();
    }
    await this.#isGone(ref, KILLED_MS);
  }

  /** Resolves true when it is, false after `ms` or when the waiting is called off. */
  async #isGone(ref: ProcessRef, ms: number): Promise<boolean> {
    let cancel: () => void = () => undefined;
    const gone = new Promise<void>((done) => {
      cancel = this.#parts.host.watchExit(ref, () => done());
    });
    try {
      return await this.#within(gone, ms);
    } finally {
      cancel();
    }
  }

  #within(event: Promise<void>, ms: number): Promise<boolean> {
    const closing = this.#closing;
    return new Promise((resolve) => {
      const end = (happened: boolean): void => {
        clearTimeout(timer);
        closing.removeEventListener('abort', onAbort);
        resolve(happened);
      };
      const onAbort = (): void => end(false);
      const timer = setTimeout(() => end(false), ms).unref();
      closing.addEventListener('abort', onAbort);
      if (closing.aborted) end(false);
      void event.then(() => end(true));
    });
  }
}
