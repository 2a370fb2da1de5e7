import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, readdirSync, rmSync } from 'node:fs';
import { homedir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import type { ProcessRef } from '../../../identity/identity.ts';
import { isRunning, signalChild, signalChildGroup } from '../../../util/own-child.ts';
import { SshFailed } from '../../ssh-failed.ts';
import type { PromptScope, SshQuestion } from '../askpass/questions.ts';
import { explainDeadline, explainEnd } from '../diagnostics/explain.ts';
import { SshLog } from '../diagnostics/ssh-log.ts';
import { boundToParent } from './bound-to-parent.ts';
import { sshEnvironment } from './environment.ts';
import { disconnected, notStarted, unanswered, unidentified } from './master-failures.ts';
import { type MasterOptions, masterArguments } from './master-options.ts';
import { MuxFailed, muxCheck, muxTerminate } from './mux.ts';

/** A living master answers within milliseconds, also while it waits for the network. */
export const CHECK_MS = 2000;
const TICK_MS = 100;
/** What ssh said last may be read after its end was heard of; a proxy command may hold the stream open for ever. */
const LAST_WORDS_MS = 700;
const ORDERLY_MS = 1000;
const TERM_MS = 1000;
const KILL_MS = 2000;

/**
 * One ssh that holds one connection, for sessions and forwards to ride on. It is our direct child in the foreground, so
 * we learn of its end by event and can always end it by its handle. It leads a session of its own: the Ctrl-C of a
 * terminal is for the command that runs there, which ends it in order; and without a terminal it can ask through
 * SSH_ASKPASS or not at all, never on the screen of whoever started us. When we are killed it stays, until the guard
 * ends it by its identity.
 */
export class Master {
  readonly socketPath: string;
  readonly processRef: ProcessRef;
  /** Resolves when the process has ended, with why. Never rejects. */
  readonly ended: Promise<SshFailed>;
  readonly #child: ChildProcess;
  readonly #alias: string;
  /** Why it is being ended by us, told instead of what ssh says. */
  #verdict: SshFailed | null = null;
  #ending: Promise<void> | null = null;

  private constructor(
    alias: string,
    child: ChildProcess,
    processRef: ProcessRef,
    socketPath: string,
    exited: Promise<SshFailed>,
  ) {
    this.#alias = alias;
    this.#child = child;
    this.processRef = processRef;
    this.socketPath = socketPath;
    this.ended = exited.then((why) => {
      removeSocket(socketPath);
      return this.#verdict ?? why;
    });
  }

  /** False as soon as its end is known. */
  get running(): boolean {
    return isRunning(this.#child);
  }

  /**
   * Connects and logs in.
   *
   * @returns once the control socket answers
   * @throws SshFailed; then nothing of it is left
   */
  static async start(options: MasterOptions): Promise<Master> {
    const { resolved, ssh, socketPath, questioner, capture, timing } = options;
    const { alias } = resolved;
    const log = new SshLog(options.onProgress);
    options.onProgress({ step: 'name', text: `Looking up ${resolved.hostname}` });
    let pending: SshQuestion | null = null;
    const admission = questioner?.admit(alias, (question) => {
      pending = question;
      options.onQuestion(question);
    });
    let child: ChildProcess;
    try {
      const [program, ...args] = boundToParent(ssh.program, masterArguments(options));
      child = spawn(program, args, {
        cwd: homedir(),
        env: sshEnvironment(ssh.env, admission?.env ?? null),
        detached: true,
        stdio: ['ignore', 'ignore', 'pipe'],
      });
    } catch (error) {
      admission?.release();
      throw error;
    }
    const exited = new Promise<SshFailed>((resolve) => {
      child.once('error', (error) => {
        if (child.pid !== undefined) return;
        resolve(notStarted(alias, error));
      });
      child.once('exit', (_code, signal) => {
        const explain = (): void => {
          log.finish();
          child.stderr?.destroy();
          resolve(explainEnd(alias, log, signal));
        };
        const timer = setTimeout(() => setImmediate(explain), LAST_WORDS_MS);
        child.stderr?.once('close', () => {
          clearTimeout(timer);
          explain();
        });
      });
    });
    child.stderr?.setEncoding('utf8').on('data', (text: string) => log.push(text));
    let ref: ProcessRef | null = null;
    try {
      ref = child.pid === undefined ? null : await identified(capture, child.pid);
    } finally {
      // Without an identity nobody could end it once we are gone.
      if (ref === null) {
        admission?.release();
        signalChildGroup(child, 'SIGKILL');
      }
    }
    if (child.pid === undefined || ref === null) {
      const why = await exited;
      // One that failed at once was gone before anybody could look at it, and has said why itself.
      const failedAtOnce = child.exitCode !== null && why.code !== 'ended';
      throw child.pid === undefined || failedAtOnce ? why : unidentified(alias);
    }
    admission?.started(child.pid);
    options.onProcess(ref);
    const master = new Master(alias, child, ref, socketPath, exited);
    void master.ended.then(() => options.onProcess(null));
    try {
      await master.#ready(log, timing.budgetMs, () => pending !== null, admission ?? null, options.signal);
      log.forget();
      return master;
    } catch (error) {
      await master.kill(error instanceof SshFailed ? error : null);
      throw error;
    } finally {
      admission?.release();
    }
  }

  async #ready(
    log: SshLog,
    budgetMs: number,
    isAsking: () => boolean,
    admission: PromptScope | null,
    signal: AbortSignal,
  ): Promise<void> {
    const alias = this.#alias;
    let failed: SshFailed | null = null;
    void this.ended.then((why) => {
      failed = why;
    });
    let spent = 0;
    for (let before = performance.now(); ; ) {
      if (signal.aborted) throw disconnected(alias);
      const givenUp = admission?.givenUp ?? null;
      if (givenUp !== null) throw unanswered(alias, givenUp, log);
      if (failed !== null) throw failed;
      if (existsSync(this.socketPath) && (await this.#answers(alias))) return;
      const now = performance.now();
      // Time in which this thread was busy is none of ssh's.
      if (!isAsking()) spent += Math.min(now - before, CHECK_MS + TICK_MS);
      before = now;
      if (spent > budgetMs) throw explainDeadline(alias, log, budgetMs);
      await Promise.race([this.ended, pause(log.told.authenticated ? TICK_MS / 5 : TICK_MS)]);
    }
  }

  async #answers(alias: string): Promise<boolean> {
    try {
      const pid = await muxCheck(this.socketPath, CHECK_MS);
      if (pid === this.#child.pid) return true;
      throw new SshFailed(
        alias,
        'link',
        'not-our-child',
        `The connection to ${alias} is not held by the ssh that Rollcall started.`,
        'Check that the program ssh in your PATH is OpenSSH itself and no script around it.',
      );
    } catch (error) {
      // The socket's file is there a moment before anybody listens.
      if (error instanceof MuxFailed) return false;
      throw error;
    }
  }

  /** Whether the process itself still does its work; says nothing of the machine at the other end. */
  async responds(deadlineMs: number): Promise<boolean> {
    try {
      return (await muxCheck(this.socketPath, deadlineMs)) === this.#child.pid;
    } catch (error) {
      if (error instanceof MuxFailed) return false;
      throw error;
    }
  }

  /** Ends it in order, then by signals; bounded. Idempotent, never rejects. */
  end(): Promise<void> {
    this.#ending ??= this.#end();
    return this.#ending;
  }

  async #end(): Promise<void> {
    this.#verdict ??= disconnected(this.#alias);
    if (!this.running) return void (await this.ended);
    try {
      await muxTerminate(this.socketPath, ORDERLY_MS);
      if (await this.#exits(ORDERLY_MS)) return;
    } catch (error) {
      if (!(error instanceof MuxFailed)) throw error;
      // One that does not even answer is stopped or stuck, and would not act on SIGTERM either.
      if (error.reason === 'deadline') return this.kill(null);
    }
    signalChild(this.#child, 'SIGTERM');
    if (await this.#exits(TERM_MS)) return;
    await this.kill(null);
  }

  /** Ends it at once, with what it has started. @param why told as the reason of its end */
  async kill(why: SshFailed | null): Promise<void> {
    this.#verdict ??= why;
    // A proxy command that hangs would outlive ssh.
    signalChildGroup(this.#child, 'SIGKILL');
    await this.#exits(KILL_MS);
  }

  async #exits(withinMs: number): Promise<boolean> {
    await Promise.race([this.ended, pause(withinMs)]);
    return !this.running;
  }
}

/** What ssh leaves of its socket when it is killed, also in the middle of making it (`PATH.XXXXXXXXXXXXXXXX`). */
function removeSocket(path: string): void {
  const folder = dirname(path);
  const name = basename(path);
  try {
    for (const entry of readdirSync(folder)) {
      if (entry === name || (entry.startsWith(`${name}.`) && entry.length === name.length + 17)) {
        rmSync(join(folder, entry), { force: true });
      }
    }
  } catch {
    // The folder went with the login session, or what is in it cannot be removed: the next start tries again.
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** Null also where it could not be read: it is mostly gone by then, and how it ended says more. */
async function identified(capture: MasterOptions['capture'], pid: number): Promise<ProcessRef | null> {
  try {
    return await capture(pid);
  } catch {
    return null;
  }
}
