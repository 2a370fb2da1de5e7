/** Exits on a remote machine: waited for in one script there, or told by the looks that are taken anyway. */
import { setTimeout as delay } from 'node:timers/promises';
import type { ProcessRef, Verdict } from '../../../identity/identity.ts';
import type { ExitStatus } from '../../host.ts';
import psScript from '../remote/ps.sh';
import waitScript from '../remote/wait.sh';
import type { RemotePlatform } from './platform.ts';
import type { RemoteShell } from './shell.ts';

/** Longest wait of one script, in milliseconds: no process of ours stays on the remote for longer. */
const MAX_MS = 8000;
/** On top of it, for the way there and back. */
const SLACK_MS = 10_000;
/** Between two attempts while the link is down. */
const RETRY_MS = 500;

export const GONE: ReadonlySet<Verdict['verdict']> = new Set(['gone', 'zombie', 'reused']);

interface Waiting {
  readonly target: string;
  readonly until: number;
  readonly done: (exited: boolean) => void;
}

interface Watch {
  readonly ref: ProcessRef;
  readonly onExit: (status: ExitStatus | null) => void;
  checking: boolean;
}

export class Exits {
  readonly #shell: RemoteShell;
  readonly #contact: Pick<RemotePlatform, 'processes'>;
  readonly #verify: (ref: ProcessRef) => Promise<Verdict>;
  #waiting: Waiting[] = [];
  readonly #watches = new Set<Watch>();
  #closed = false;

  constructor(
    shell: RemoteShell,
    contact: Pick<RemotePlatform, 'processes'>,
    verify: (ref: ProcessRef) => Promise<Verdict>,
  ) {
    this.#shell = shell;
    this.#contact = contact;
    this.#verify = verify;
  }

  /** The start as the script compares it; null when it is by another clock. */
  #startFor({ identity }: ProcessRef): string | null {
    const [, source, text] = /^(linux|darwin):(.+)$/u.exec(identity.startTime) ?? [];
    if (text === undefined || source !== (this.#contact.processes === 'ps' ? 'darwin' : 'linux')) return null;
    return text.replaceAll(' ', '_');
  }

  /** True when it has exited, false after `timeoutMs`. Waits of one turn share a script. Never rejects. */
  async exited(ref: ProcessRef, timeoutMs: number): Promise<boolean> {
    const until = performance.now() + timeoutMs;
    const start = this.#startFor(ref);
    // Elsewhere, or by another clock: only a verdict can tell.
    const first = await this.#verify(ref);
    if (GONE.has(first.verdict)) return true;
    if (first.verdict !== 'same' || start === null) {
      await delay(Math.max(0, until - performance.now()));
      return GONE.has((await this.#verify(ref)).verdict);
    }
    const exited = await new Promise<boolean>((done) => {
      if (this.#waiting.length === 0) setImmediate(() => void this.#flush());
      this.#waiting.push({ target: `${ref.identity.pid}:${start}`, until, done });
    });
    if (exited) this.#told(ref);
    return exited;
  }

  async #flush(): Promise<void> {
    let waiting = this.#waiting;
    this.#waiting = [];
    while (waiting.length > 0 && !this.#closed) {
      const left = await this.#wait(waiting);
      const now = performance.now();
      for (const each of waiting) if (!left.has(each.target)) each.done(true);
      for (const each of waiting) if (left.has(each.target) && each.until <= now) each.done(false);
      waiting = waiting.filter(({ target, until }) => left.has(target) && until > now);
    }
    for (const each of waiting) each.done(false);
  }

  /** Those that are still there after the shortest of their times. */
  async #wait(waiting: readonly Waiting[]): Promise<ReadonlySet<string>> {
    const targets = new Set(waiting.map(({ target }) => target));
    const soonest = Math.min(...waiting.map(({ until }) => until)) - performance.now();
    const ms = Math.min(MAX_MS, Math.max(0, soonest));
    try {
      const parameters = { what: 'wait', targets: [...targets].join(' '), hundredths: Math.ceil(ms / 10) };
      const script = this.#contact.processes === 'ps' ? psScript : waitScript;
      const answer = await this.#shell.run(script, parameters, ms + SLACK_MS);
      const left = new Set((answer.text('left') ?? '').split(' ').filter(Boolean));
      return new Set([...targets].filter((target) => left.has(target)));
    } catch {
      // Nothing is known of any of them; the next attempt asks again.
      await delay(Math.min(RETRY_MS, Math.max(0, soonest)));
      return targets;
    }
  }

  /** Calls back once when it is proved gone. Returns the cancellation. */
  watch(ref: ProcessRef, onExit: (status: ExitStatus | null) => void): () => void {
    const watch: Watch = { ref, onExit, checking: false };
    this.#watches.add(watch);
    void this.#check(watch);
    return () => this.#watches.delete(watch);
  }

  /**
   * A look was taken: whoever is watched and not in it is verified.
   *
   * @param runningSince start of the process with a PID, as identities have it; null when none runs
   */
  looked(runningSince: (pid: number) => string | null): void {
    for (const watch of this.#watches) {
      const { pid, startTime } = watch.ref.identity;
      if (runningSince(pid) !== startTime) void this.#check(watch);
    }
  }

  #told(ref: ProcessRef): void {
    for (const watch of this.#watches) {
      const { pid, startTime } = watch.ref.identity;
      if (pid === ref.identity.pid && startTime === ref.identity.startTime) void this.#check(watch);
    }
  }

  async #check(watch: Watch): Promise<void> {
    if (watch.checking) return;
    watch.checking = true;
    const verdict = await this.#verify(watch.ref);
    watch.checking = false;
    // How it ended is known to its parent alone.
    if (GONE.has(verdict.verdict) && this.#watches.delete(watch)) watch.onExit(null);
  }

  close(): void {
    this.#closed = true;
    this.#watches.clear();
  }
}
