import { setTimeout as delay } from 'node:timers/promises';
import type { ProcessRef, Verdict } from '../../../identity/identity.ts';
import { codeOf, messageOf } from '../../../util/errors.ts';
import type { Libc } from '../../../util/libc.ts';
import type { ProcessHandle, Signal, SignalOutcome } from '../../host.ts';
import type { ExitWatcher } from './exit-watcher.ts';
import { openPidfd, type Pidfd } from './pidfd.ts';
import type { Verifier } from './verify.ts';

/** Between two verifications where no event tells of an exit. */
const POLL_MS = 100;
/** The same for a watch that may last for days. */
const WATCH_MS = 1000;

const GONE: ReadonlySet<Verdict['verdict']> = new Set(['gone', 'zombie', 'reused']);

/** No process of ours could be signalled with the kernel's own refusal as the reason. */
function notSent(why: string): SignalOutcome {
  return { sent: false, verdict: { verdict: 'unknown', why } };
}

/**
 * A grip by pidfd (DESIGN rule 4.5): the pidfd is opened first, what stands at the number is read after it, the
 * pidfd is asked whether its process still lives, and only then the signal goes through that same pidfd. Between
 * the reading and the signal the process may die, never be another one.
 */
export class PidfdHandle implements ProcessHandle {
  readonly ref: ProcessRef;
  readonly #verifier: Verifier;
  readonly #watcher: ExitWatcher;
  readonly #libc: Libc;
  #pidfd: Pidfd | null;
  /** The pidfd held now has once been proved to be the recorded process. */
  #proved = false;

  constructor(ref: ProcessRef, verifier: Verifier, watcher: ExitWatcher, libc: Libc) {
    this.ref = ref;
    this.#verifier = verifier;
    this.#watcher = watcher;
    this.#libc = libc;
    // A number that may not be a target is not even looked up.
    const opened = verifier.refuse(ref.identity.pid) === null ? openPidfd(libc, ref.identity.pid) : null;
    this.#pidfd = opened?.opened === true ? opened.pidfd : null;
  }

  async verify(): Promise<Verdict> {
    return this.#verify();
  }

  async signal(signal: Signal): Promise<SignalOutcome> {
    const verdict = this.#verify();
    if (verdict.verdict !== 'same') return { sent: false, verdict };
    if (this.#pidfd === null) return notSent('no kernel handle on it could be had');
    const error = this.#pidfd.send(signal);
    if (error === null) return { sent: true };
    if (error === 'ESRCH')
      return { sent: false, verdict: { verdict: 'gone', why: 'it exited just before the signal' } };
    return notSent(`the kernel refused the signal: ${error}`);
  }

  async exited(timeoutMs: number): Promise<boolean> {
    if (GONE.has(this.#verify().verdict)) return true;
    const own = this.#pidfd === null ? null : openPidfd(this.#libc, this.ref.identity.pid);
    if (own?.opened !== true) return pollExit(() => this.#verify(), timeoutMs);
    // The watcher closes its pidfd, so it gets one of its own; that it is the same process is checked after opening.
    const verdict = this.#verifier.verifyHeld(this.ref, own.pidfd);
    if (verdict === null || GONE.has(verdict.verdict)) {
      own.pidfd.close();
      return true;
    }
    return new Promise((resolve) => {
      let timer: NodeJS.Timeout | undefined;
      // First of all, since it throws once the host is closed: no timer may be left that would cancel nothing.
      const cancel = this.#watcher.watch(own.pidfd, () => {
        clearTimeout(timer);
        resolve(true);
      });
      timer = setTimeout(() => {
        cancel();
        resolve(false);
      }, timeoutMs);
    });
  }

  release(): void {
    this.#pidfd?.close();
    this.#pidfd = null;
  }

  #verify(): Verdict {
    const held = this.#pidfd === null ? null : this.#verifier.verifyHeld(this.ref, this.#pidfd, this.#proved);
    if (held?.verdict === 'same') this.#proved = true;
    // Without a handle, or when its process has exited, the number itself is looked at; that can never say `same`
    // of another process, and a signal needs the handle.
    return held ?? this.#verifier.verify(this.ref);
  }
}

/** Gives fresh verdicts, at once or after asking another program. */
export interface Verifies {
  verify(ref: ProcessRef): Verdict | Promise<Verdict>;
}

/** Where pidfds cannot be had: each signal follows at once on a fresh verification; a small window remains. */
export class VerifyingHandle implements ProcessHandle {
  readonly ref: ProcessRef;
  readonly #verifier: Verifies;

  constructor(ref: ProcessRef, verifier: Verifies) {
    this.ref = ref;
    this.#verifier = verifier;
  }

  async verify(): Promise<Verdict> {
    return this.#verifier.verify(this.ref);
  }

  async signal(signal: Signal): Promise<SignalOutcome> {
    const verdict = await this.#verifier.verify(this.ref);
    if (verdict.verdict !== 'same') return { sent: false, verdict };
    try {
      process.kill(this.ref.identity.pid, signal);
      return { sent: true };
    } catch (error) {
      const code = codeOf(error);
      if (code === 'ESRCH')
        return { sent: false, verdict: { verdict: 'gone', why: 'it exited just before the signal' } };
      return notSent(`the system refused the signal: ${messageOf(error)}`);
    }
  }

  async exited(timeoutMs: number): Promise<boolean> {
    return pollExit(() => this.#verifier.verify(this.ref), timeoutMs);
  }

  /** Nothing is held. */
  release(): void {
    return;
  }
}

/** Verifies again and again until the process is gone (true) or the time is up or the watch is called off (false). */
export async function pollExit(
  verify: () => Verdict | Promise<Verdict>,
  timeoutMs: number,
  called?: AbortSignal,
): Promise<boolean> {
  const until = performance.now() + timeoutMs;
  for (;;) {
    if (GONE.has((await verify()).verdict)) return true;
    const left = until - performance.now();
    if (left <= 0 || called?.aborted === true) return false;
    const pause = called === undefined ? POLL_MS : WATCH_MS;
    // Called off is no error: the next round ends it.
    await delay(Math.min(pause, left), undefined, called === undefined ? {} : { signal: called }).catch(
      () => undefined,
    );
  }
}
