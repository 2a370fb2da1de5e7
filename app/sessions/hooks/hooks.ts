/**
 * Runs the session-end hooks that are due. What is due, and which attempt runs as which process, is in the ledger, and
 * what came of an attempt is in a file that its runner makes: so whoever comes after this process goes on where it was.
 * A hook runs at least once; twice only if its runner was ended, and could not say what had come of it.
 */

import type { Audit } from '../../audit/audit.ts';
import type { SessionEndHook } from '../../config/schema.ts';
import type { Host } from '../../hosts/host.ts';
import { messageOf } from '../../util/errors.ts';
import type { SessionRun } from '../session-run.ts';
import type { Attempt, DueHook, HookRef, SessionLedger } from '../store/ledger.ts';
import { RunnerEnds, type RunnerOf } from './hook-ends.ts';
import { hookRefOf, hooksFor, isFor } from './hook-event.ts';
import { attemptFiles, hookFailureOf, readOutput, readResult, removeHookFiles } from './hook-files.ts';
import { type RunnerDeps, RunnerFailed, startRunner } from './hook-runner.ts';

export interface HookBudgets {
  /** How many hooks run at the same time. */
  readonly atOnce: number;
  /** From the request to end to SIGKILL, in seconds. */
  readonly graceSeconds: number;
  /** A runner that has not ended this long after that is ended from here, in milliseconds. */
  readonly slackMs: number;
  /** Before the second attempt, the third …; there is one more attempt than there are pauses. Milliseconds. */
  readonly pausesMs: readonly number[];
  /** Before what could not be written down is tried again, in milliseconds. */
  readonly unwrittenMs: number;
}

export const HOOK_BUDGETS: HookBudgets = {
  atOnce: 4,
  graceSeconds: 3,
  slackMs: 10_000,
  pausesMs: [5000, 30_000, 120_000],
  unwrittenMs: 5000,
};

/** What a runner is given at least to be seen as gone, in milliseconds. */
const SEEN_MS = 2000;

export interface HooksDeps extends Omit<RunnerDeps, 'host'> {
  readonly ledger: SessionLedger;
  /** This machine. */
  readonly host: Pick<Host, 'inspect' | 'hold' | 'watchExit'>;
  readonly audit: Pick<Audit, 'write' | 'note'>;
  /** Who runs them, for the audit: `app`, `guard`. */
  readonly by: string;
  /** The hooks of the configuration as it is now. */
  readonly configured: () => readonly SessionEndHook[];
  /** Something about `due` or `failures` has changed. */
  readonly onChange: () => void;
  readonly budgets?: Partial<HookBudgets>;
  readonly platform?: NodeJS.Platform;
}

/** A hook that has failed too often, or that the configuration does not name any more. */
export interface HookFailure {
  /** The hook key. */
  readonly key: string;
  /** Its command, redacted. */
  readonly hook: string;
  readonly life: SessionRun;
  /** A clause about the hook. */
  readonly why: string;
  /** The last lines it wrote, redacted; empty where there are none. */
  readonly output: string;
  /** How often it has failed. */
  readonly failures: number;
}

/** What came of an attempt; null for one that this process does not see the end of. */
type Outcome =
  | { readonly done: true }
  | { readonly done: false; readonly why: string; readonly output: string; readonly counts: boolean }
  | null;

export class Hooks {
  readonly #parts: HooksDeps;
  readonly #budgets: HookBudgets;
  readonly #running = new Set<string>();
  /** By hook key, when it may be tried again; milliseconds on the monotonic clock. */
  readonly #pausedUntil = new Map<string, number>();
  readonly #closing = new AbortController();
  readonly #ends: RunnerEnds;
  readonly #waiting = new Set<() => void>();
  #timer: NodeJS.Timeout | null = null;
  #swept = false;

  constructor(parts: HooksDeps) {
    this.#parts = parts;
    this.#budgets = { ...HOOK_BUDGETS, ...parts.budgets };
    this.#ends = new RunnerEnds(parts, this.#closing.signal);
  }

  /** Why no hook is run at all, in a sentence; null where they are. */
  get unsupported(): string | null {
    return (this.#parts.platform ?? process.platform) === 'win32' ? 'Session-end hooks are not run on Windows.' : null;
  }

  /** What is to be run when this life ends; for `Ledger.end`. */
  hooksFor(life: Pick<SessionRun, 'kind' | 'host'>): HookRef[] {
    return this.unsupported === null ? hooksFor(this.#parts.configured(), life) : [];
  }

  /** How many hooks are still to be run, or running. */
  get due(): number {
    if (this.unsupported !== null) return 0;
    return this.#parts.ledger.due().filter((due) => due.attempt !== null || this.#settingOf(due) !== null).length;
  }

  failures(): HookFailure[] {
    const { ledger, configured } = this.#parts;
    return failuresIn(ledger, configured());
  }

  /** Runs what failed too often once more, with all its attempts, and what waits for its next attempt at once. */
  retry(): void {
    this.#parts.ledger.again(this.#parts.ledger.failed().map(({ key }) => key));
    for (const { key } of this.#parts.ledger.due()) this.#pausedUntil.set(key, 0);
    this.#changed();
    this.pump();
  }

  /** Gives up all that `failures` lists. */
  forget(): void {
    this.#parts.ledger.forget(this.failures().map(({ key }) => key));
    this.#sweep();
    this.#changed();
  }

  /** Starts what is due and may run now. Call it whenever something has become due, and after opening. */
  pump(): void {
    if (this.#closing.signal.aborted || this.unsupported !== null) return;
    if (!this.#swept) this.#sweep();
    this.#swept = true;
    const now = performance.now();
    let next = Number.POSITIVE_INFINITY;
    // What runs already comes first: it must not wait for others to be known to have ended.
    const due = [...this.#parts.ledger.due()].sort((a, b) => Number(a.attempt === null) - Number(b.attempt === null));
    for (const hook of due) {
      if (this.#running.has(hook.key)) continue;
      const setting = this.#settingOf(hook);
      if (hook.attempt === null && setting === null) continue;
      const pausedUntil = hook.attempt === null ? this.#pauseOf(hook, now) : 0;
      if (pausedUntil > now) next = Math.min(next, pausedUntil);
      else if (this.#running.size < this.#budgets.atOnce) this.#begin(hook, setting);
    }
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = Number.isFinite(next) ? setTimeout(() => this.pump(), next - now).unref() : null;
  }

  /** Resolves true once nothing is due any more, false after `deadlineMs`, or when this is closed. */
  settled(deadlineMs: number): Promise<boolean> {
    return new Promise((resolve) => {
      const end = (): void => {
        clearTimeout(timer);
        this.#waiting.delete(check);
        resolve(this.due === 0);
      };
      const check = (): void => {
        if (this.due === 0 || this.#closing.signal.aborted) end();
      };
      const timer = setTimeout(end, deadlineMs);
      this.#waiting.add(check);
      check();
    });
  }

  /** Starts nothing more, waits for nothing and ends nothing: runners go on, and whoever comes next knows them. */
  close(): void {
    this.#closing.abort();
    if (this.#timer !== null) clearTimeout(this.#timer);
    for (const check of [...this.#waiting]) check();
  }

  #settingOf(hook: DueHook): SessionEndHook | null {
    return settingOf(hook, this.#parts.configured());
  }

  /** The clock that people set says how much of a pause was over before this process began; it can make none longer. */
  #pauseOf({ key, miss }: DueHook, now: number): number {
    const known = this.#pausedUntil.get(key);
    if (known !== undefined) return known;
    const pause = miss === null ? 0 : (this.#budgets.pausesMs[miss.failures - 1] ?? 0);
    const over = miss === null ? 0 : Math.max(0, Date.now() - Date.parse(miss.at));
    const until = now + Math.max(0, pause - over);
    this.#pausedUntil.set(key, until);
    return until;
  }

  #begin(due: DueHook, setting: SessionEndHook | null): void {
    this.#running.add(due.key);
    const work =
      due.attempt !== null ? this.#takeOver(due, due.attempt) : setting === null ? null : this.#start(due, setting);
    void Promise.resolve(work)
      .catch((error: unknown): Outcome => {
        const why = error instanceof RunnerFailed ? error.why : messageOf(error);
        return { done: false, why: why.replace(/\.$/u, ''), output: '', counts: true };
      })
      .then((outcome) => {
        this.#running.delete(due.key);
        if (this.#closing.signal.aborted) return;
        if (outcome !== null) this.#settle(due.key, outcome);
        this.#changed();
        this.pump();
      });
  }

  /** What another process has started, or this one before it lost sight of it. */
  async #takeOver(due: DueHook, attempt: Attempt): Promise<Outcome> {
    const total = this.#totalMs(attempt.seconds);
    const left = Math.min(total, Math.max(SEEN_MS, Date.parse(attempt.at) + total - Date.now()));
    await this.#ends.wait(attempt.runner, left, this.#about(due, attempt));
    return this.#closing.signal.aborted ? null : this.#outcome(due, attempt);
  }

  async #start(due: DueHook, hook: SessionEndHook): Promise<Outcome> {
    const { ledger } = this.#parts;
    // What cannot be written down would run again after a crash.
    if (!ledger.flush()) return this.#later(due.key);
    const number = due.number + 1;
    const seconds = hook.timeoutSeconds;
    const { graceSeconds } = this.#budgets;
    const runner = await startRunner(this.#parts, due, hook, number, graceSeconds);
    const attempt: Attempt = { number, runner: runner.ref, at: new Date().toISOString(), seconds };
    if (this.#closing.signal.aborted || !ledger.attempted(due.key, attempt)) {
      runner.abandon();
      return this.#later(due.key);
    }
    runner.go();
    await this.#ends.wait(runner.ref, this.#totalMs(seconds), this.#about(due, attempt), runner.exited);
    if (this.#closing.signal.aborted) return null;
    const outcome = this.#outcome(due, attempt);
    // It was let go on by this very process and did not begin: that is a failure like any other.
    return outcome === null || outcome.done ? outcome : { ...outcome, counts: true };
  }

  #later(key: string): null {
    this.#pausedUntil.set(key, performance.now() + this.#budgets.unwrittenMs);
    return null;
  }

  #totalMs(seconds: number): number {
    return (seconds + this.#budgets.graceSeconds) * 1000 + this.#budgets.slackMs;
  }

  #about({ key, life, hook }: DueHook, { number }: Attempt): RunnerOf {
    return { session: life.key, subject: hook.label, files: attemptFiles(this.#parts.folder, key, number) };
  }

  #outcome(due: DueHook, { number, seconds }: Attempt): Outcome {
    const files = attemptFiles(this.#parts.folder, due.key, number);
    const result = readResult(files);
    const why = hookFailureOf(result, seconds);
    if (why === null) return { done: true };
    return { done: false, why, output: readOutput(files), counts: result.came !== 'not-begun' };
  }

  #settle(key: string, outcome: NonNullable<Outcome>): void {
    const { ledger, by, audit } = this.#parts;
    const due = ledger.hook(key);
    if (due === null) {
      // Somebody has forgotten it meanwhile.
      this.#sweep();
      return;
    }
    const subject = due.life.title === '' ? due.life.id : due.life.title;
    const about = { by, host: due.life.host, session: due.life.key, subject };
    const hook = `The session-end hook "${due.hook.label}"`;
    this.#pausedUntil.delete(key);
    if (outcome.done) {
      ledger.finished(key);
      this.#sweep();
      audit.note({ event: 'hook-done', ...about, text: `${hook} has run for "${subject}".` });
      return;
    }
    const failures = (due.miss?.failures ?? 0) + (outcome.counts ? 1 : 0);
    const final = failures > this.#budgets.pausesMs.length;
    const { why, output } = outcome;
    ledger.missed(key, { at: new Date().toISOString(), why, output, failures, final });
    this.#sweep();
    if (!final) return;
    const text = `${hook} failed ${failures} times for "${subject}": ${why}.`;
    audit.note({ event: 'hook-failed', ...about, text });
  }

  /** Takes the files of all attempts away that are over, once the ledger on disk says what they say. */
  #sweep(): void {
    const { ledger, folder } = this.#parts;
    if (!ledger.flush()) return;
    try {
      removeHookFiles(folder, (key) => this.#running.has(key) || (ledger.hook(key)?.attempt ?? null) !== null);
    } catch {
      // They cost a little space, and the next sweep tries again.
    }
  }

  #changed(): void {
    for (const check of [...this.#waiting]) check();
    this.#parts.onChange();
  }
}

function settingOf({ hook, life }: DueHook, configured: readonly SessionEndHook[]): SessionEndHook | null {
  const named = configured.filter((one) => hookRefOf(one).id === hook.id);
  return named.find((one) => isFor(one, life)) ?? named[0] ?? null;
}

/** Hooks that have failed too often, and those that are due and that the configuration does not name. */
export function failuresIn(
  ledger: Pick<SessionLedger, 'failed' | 'due'>,
  configured: readonly SessionEndHook[],
): HookFailure[] {
  const unnamed = ledger.due().filter((due) => due.attempt === null && settingOf(due, configured) === null);
  return [
    ...ledger.failed().map(({ key, hook, life, miss }) => ({
      key,
      hook: hook.label,
      life,
      why: miss?.why ?? 'it failed',
      output: miss?.output ?? '',
      failures: miss?.failures ?? 0,
    })),
    ...unnamed.map(({ key, hook, life, miss }) => ({
      key,
      hook: hook.label,
      life,
      why: 'the configuration does not name it now',
      output: '',
      failures: miss?.failures ?? 0,
    })),
  ];
}
