/**
 * The app's side of the guard: starts it, hands it the full state, notices when it is gone or silent, and starts
 * another. What keeps it from running is a sentence for the person, never silence.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync } from 'node:fs';
import type { Socket } from 'node:net';
import { isDeepStrictEqual } from 'node:util';
import type { Paths } from '../config/paths.ts';
import type { ProcessRef } from '../identity/identity.ts';
import { FrameReader } from '../ipc/frames.ts';
import type { Supervised } from '../supervisor/core.ts';
import type { Afterwards, GuardListener, GuardPort } from '../supervisor/guard-port.ts';
import { messageOf } from '../util/errors.ts';
import { signalChild } from '../util/own-child.ts';
import type { GuardCommand } from './command.ts';
import { openGuardLog } from './log.ts';
import {
  type FromGuard,
  fromGuardSchema,
  GUARD_PROTOCOL,
  type Handed,
  line,
  MESSAGE_LIMIT,
  REPLY_LIMIT,
  type ToGuard,
} from './protocol.ts';

/** How long things may take, in milliseconds. */
export interface Budgets {
  /** From a message to its acknowledgement; one from the start of the guard to its first. */
  readonly ackMs: number;
  /** A sign of life is asked for this often. */
  readonly pingMs: number;
  /** A guard that lived this long is no part of a row of failures any more. */
  readonly stableMs: number;
  readonly firstBackoffMs: number;
  readonly longestBackoffMs: number;
  /** How long the app waits at its end for the farewell to arrive. */
  readonly farewellMs: number;
}

export const BUDGETS: Budgets = {
  ackMs: 5000,
  pingMs: 10_000,
  stableMs: 10_000,
  firstBackoffMs: 500,
  longestBackoffMs: 30_000,
  farewellMs: 1000,
};

/** After an overdue answer the pipe is read once more for this long: a stall of our own must not cost a good guard. */
const SECOND_LOOK_MS = 500;
/** Notes kept for whoever listens later; more say nothing new. */
const MAX_UNHEARD = 20;

export interface GuardClientOptions {
  readonly command: GuardCommand;
  readonly paths: Paths;
  readonly runId: string;
  /** Program version. */
  readonly version: string;
  /** Runs right before each start; for closing what others left open in us. */
  readonly beforeSpawn?: () => void;
  readonly budgets?: Partial<Budgets>;
  /** Sets the timer of the next attempt, `setTimeout` when left out; for tests, which see the pause. */
  readonly later?: (start: () => void, pauseMs: number) => NodeJS.Timeout;
}

/** One guard process and what it has acknowledged. */
interface Running {
  readonly child: ChildProcess;
  readonly pipe: Socket;
  readonly reader: FrameReader;
  readonly since: number;
  greeted: boolean;
  sent: number;
  acked: number;
  /** Number of the last state sent; it is a guard worth the name once that is acknowledged. */
  stateSeq: number;
  timer: NodeJS.Timeout | null;
  ping: NodeJS.Timeout | null;
  over: boolean;
}

export class GuardClient implements GuardPort {
  readonly #parts: GuardClientOptions;
  readonly #budgets: Budgets;
  #listener: GuardListener | null = null;
  /** What there was to note before anybody listened. */
  #unheard: string[] = [];
  #running: Running | null = null;
  /** The one that has heard that something is left to do. */
  #left: Running | null = null;
  #servers: readonly Handed[] = [];
  #ssh: readonly ProcessRef[] = [];
  #problem: string | null = null;
  /** Why the last one is gone, also where that is mended at once and troubles nobody. */
  #lastFailure = 'It ended as soon as it was started.';
  /** A spawn has failed, and its reason is on the way. */
  #spawning = false;
  /** One was lost and no other has acknowledged the state since. */
  #gone = false;
  /** Failures in a row. */
  #failures = 0;
  #retry: NodeJS.Timeout | null = null;
  #leaving = false;
  #begun = false;
  /** Resolved at the next change for better or worse. */
  #waiters: (() => void)[] = [];

  constructor(parts: GuardClientOptions) {
    this.#parts = parts;
    this.#budgets = { ...BUDGETS, ...parts.budgets };
  }

  get problem(): string | null {
    return this.#problem;
  }

  /** The guard that was left with work at the farewell has not ended. */
  get stays(): boolean {
    return this.#left !== null && !hasExited(this.#left);
  }

  get pid(): number | null {
    return this.#running?.child.pid ?? null;
  }

  /** The guard has acknowledged the latest state. */
  get watching(): boolean {
    const running = this.#running;
    return running !== null && running.stateSeq > 0 && running.acked >= running.stateSeq;
  }

  /** Starts the guard before there is a core that listens: from here on a death of this process has its watcher. */
  begin(): void {
    if (this.#begun) return;
    this.#begun = true;
    this.#start();
  }

  open(listener: GuardListener): void {
    if (this.#listener !== null) return;
    this.#listener = listener;
    for (const text of this.#unheard.splice(0)) listener.note(text);
    this.begin();
  }

  #note(text: string): void {
    if (this.#listener !== null) this.#listener.note(text);
    else if (this.#unheard.length < MAX_UNHEARD) this.#unheard.push(text);
  }

  update(servers: readonly Supervised[]): void {
    const handed = servers.map(({ record, path, busy, label }) => ({ record, path, busy, label }));
    if (this.#leaving || isDeepStrictEqual(handed, this.#servers)) return;
    this.#servers = handed;
    if (this.#running?.greeted === true) this.#handOver(this.#running);
  }

  updateSsh(processes: readonly ProcessRef[]): void {
    if (isDeepStrictEqual(processes, this.#ssh)) return;
    this.#ssh = [...processes];
    // Also while leaving: what has ended by then is not to be looked for.
    if (this.#running?.greeted === true) this.#handOverSsh(this.#running);
  }

  async startNow(): Promise<string | null> {
    if (this.#leaving) return 'Rollcall is quitting.';
    if (this.#running === null && !this.#spawning) {
      if (this.#retry !== null) clearTimeout(this.#retry);
      this.#start();
    }
    // One that cannot be spawned says so only later.
    while (!this.watching && (this.#running !== null || this.#spawning)) await this.#change();
    return this.watching ? null : (this.#problem ?? this.#lastFailure);
  }

  async shutdown(afterwards: Afterwards): Promise<string | null> {
    if (this.#leaving) return null;
    const until = performance.now() + this.#budgets.farewellMs;
    // One that was lost a moment ago has a successor to come or under way, and there is work for it.
    if (afterwards !== 'nothing' && !this.watching) {
      const starting = this.startNow();
      const comes = (): boolean => this.#running !== null || this.#spawning;
      while (!this.watching && comes() && performance.now() < until) await this.#change(until - performance.now());
      if (!comes()) await starting;
    }
    this.#leaving = true;
    if (this.#retry !== null) clearTimeout(this.#retry);
    const running = this.#running;
    if (running === null) return afterwards === 'nothing' ? null : (this.#problem ?? this.#lastFailure);
    const seq = running.greeted ? this.#send(running, { type: 'farewell', afterwards }) : 0;
    const heard = (): boolean => running.over || (seq > 0 && running.acked >= seq && afterwards !== 'nothing');
    while (seq > 0 && !heard() && performance.now() < until) await this.#change(until - performance.now());
    if (afterwards === 'nothing') {
      while (seq > 0 && !hasExited(running) && performance.now() < until) await this.#change(until - performance.now());
      // One that hangs would stay for ever. With something left to do it is our last hope, and may come round.
      signalChild(running.child, 'SIGKILL');
    }
    const knows = afterwards === 'nothing' || (seq > 0 && running.acked >= seq);
    const why = running.over ? this.#lastFailure : `It did not answer within ${this.#budgets.farewellMs / 1000} s.`;
    if (knows && afterwards !== 'nothing') this.#left = running;
    this.#letGo(running);
    return knows ? null : why;
  }

  #start(): void {
    const { command, beforeSpawn } = this.#parts;
    this.#retry = null;
    let child: ChildProcess;
    const log = this.#log();
    try {
      beforeSpawn?.();
      child = spawn(command.program, [...command.args], {
        // A folder that goes away (unmounted, removed) would take away its looks: no worker starts without one.
        cwd: '/',
        env: { ...command.env },
        detached: true,
        stdio: ['ignore', log ?? 'ignore', log ?? 'ignore', 'pipe'],
      });
    } catch (error) {
      this.#failed(`It could not be started: ${messageOf(error)}.`);
      return;
    } finally {
      if (log !== null) closeSync(log);
    }
    const pipe = child.stdio[3] as Socket | null | undefined;
    if (child.pid === undefined || pipe === null || pipe === undefined) {
      this.#spawning = true;
      child.once('error', (error) => {
        this.#spawning = false;
        this.#failed(`It could not be started: ${messageOf(error)}.`);
      });
      return;
    }
    this.#attend(child, pipe);
  }

  /** A guard without a log is better than none. */
  #log(): number | null {
    try {
      return openGuardLog(this.#parts.paths.guardLog);
    } catch (error) {
      this.#note(`The guard runs without a log: ${messageOf(error)}`);
      return null;
    }
  }

  #attend(child: ChildProcess, pipe: Socket): void {
    const running: Running = {
      child,
      pipe,
      reader: new FrameReader(REPLY_LIMIT),
      since: performance.now(),
      greeted: false,
      sent: 0,
      acked: 0,
      stateSeq: 0,
      timer: null,
      ping: null,
      over: false,
    };
    this.#running = running;
    child.once('error', (error) => this.#lost(running, `It failed: ${messageOf(error)}.`));
    child.once('exit', (code, signal) => {
      this.#lost(running, exitWords(code, signal));
      this.#tell();
    });
    pipe.on('data', (chunk: Buffer) => this.#read(running, chunk));
    // A pipe that breaks under a write is told by its end.
    pipe.on('error', () => undefined);
    pipe.on('close', () => {
      if (this.#leaving) {
        if (!running.over) this.#lastFailure = 'It closed its pipe.';
        this.#over(running);
      }
      // Its exit says more, and comes at once when that is why.
      else setTimeout(() => this.#lost(running, 'It closed its pipe.'), 200);
    });
    const { paths, runId, version } = this.#parts;
    pipe.write(line({ type: 'hello', protocol: GUARD_PROTOCOL, version, runId, pid: process.pid, paths }));
    this.#expect(running, 'It said nothing', () => running.greeted);
  }

  #read(running: Running, chunk: Buffer): void {
    for (const frame of running.reader.read(chunk)) {
      const parsed = frame.ok ? fromGuardSchema.safeParse(frame.value) : null;
      if (parsed?.success === true) this.#take(running, parsed.data);
      else this.#lost(running, 'It answered in a form that this version does not understand.');
    }
  }

  #take(running: Running, message: FromGuard): void {
    if (running.over) return;
    switch (message.type) {
      case 'hello':
        running.greeted = true;
        if (this.#ssh.length > 0) this.#handOverSsh(running);
        this.#handOver(running);
        running.ping = setInterval(() => void this.#send(running, { type: 'ping' }), this.#budgets.pingMs);
        running.ping.unref();
        break;
      case 'ack':
        running.acked = Math.max(running.acked, message.seq);
        if (this.watching) this.#watchingAgain(running);
        break;
      case 'refused':
        this.#lost(running, `It refused a message: ${message.why}.`);
        break;
    }
    this.#tell();
  }

  #watchingAgain(running: Running): void {
    if (this.#gone) this.#note(`The guard runs again, PID ${running.child.pid}`);
    this.#gone = false;
    if (this.#problem === null) return;
    this.#problem = null;
    this.#listener?.changed();
  }

  #handOverSsh(running: Running): void {
    this.#send(running, { type: 'ssh', processes: [...this.#ssh] });
  }

  #handOver(running: Running): void {
    const servers = [...this.#servers];
    const bytes = line({ type: 'state', seq: running.sent + 1, servers });
    if (bytes.length > MESSAGE_LIMIT) {
      this.#lost(running, `The state of ${servers.length} servers is too large to hand over.`);
      return;
    }
    running.stateSeq = this.#send(running, { type: 'state', servers }, bytes);
  }

  /** @returns the message's number */
  #send(
    running: Running,
    message: OmitSeq<Exclude<ToGuard, { type: 'hello' }>>,
    bytes = line({ ...message, seq: running.sent + 1 }),
  ): number {
    running.sent += 1;
    const seq = running.sent;
    running.pipe.write(bytes);
    this.#expect(running, 'It did not answer', () => running.acked >= seq);
    return seq;
  }

  /** One deadline at a time: while one runs, the answers to what is sent meanwhile are due no sooner. */
  #expect(running: Running, what: string, came: () => boolean): void {
    if (running.timer !== null) return;
    const check = (again: boolean): void => {
      running.timer = null;
      if (running.over) return;
      if (came()) {
        // Something may have been sent meanwhile.
        if (running.acked < running.sent) this.#expectLast(running);
        return;
      }
      if (again) {
        running.timer = setTimeout(() => check(false), SECOND_LOOK_MS);
        running.timer.unref();
        return;
      }
      this.#lost(running, `${what} within ${this.#budgets.ackMs / 1000} s.`);
    };
    running.timer = setTimeout(() => check(true), this.#budgets.ackMs);
    running.timer.unref();
  }

  #expectLast(running: Running): void {
    const seq = running.sent;
    this.#expect(running, 'It did not answer', () => running.acked >= seq);
  }

  /** This guard is of no use any more. One that still lives is our own uncollected child, so its number is its own. */
  #lost(running: Running, why: string): void {
    if (running.over) return;
    this.#lastFailure = why;
    this.#over(running);
    signalChild(running.child, 'SIGKILL');
    if (this.#leaving) return;
    if (performance.now() - running.since >= this.#budgets.stableMs) this.#failures = 0;
    this.#failed(why);
  }

  #over(running: Running): void {
    if (running.over) return;
    running.over = true;
    if (running.timer !== null) clearTimeout(running.timer);
    if (running.ping !== null) clearInterval(running.ping);
    running.pipe.destroy();
    if (this.#running === running) this.#running = null;
    this.#tell();
  }

  /** The first failure in a row is mended at once and only noted; from the second on the person is told. */
  #failed(why: string): void {
    this.#lastFailure = why;
    if (this.#leaving) return;
    this.#failures += 1;
    this.#gone = true;
    const { firstBackoffMs, longestBackoffMs } = this.#budgets;
    const wait = this.#failures === 1 ? 0 : Math.min(longestBackoffMs, firstBackoffMs * 2 ** (this.#failures - 2));
    this.#note(`The guard is gone: ${why} Another one is started`);
    if (this.#failures > 1) {
      this.#problem = why;
      this.#listener?.changed();
    }
    // A start that a person asked for may have failed beside the one that was due.
    if (this.#retry !== null) clearTimeout(this.#retry);
    this.#retry = (this.#parts.later ?? setTimeout)(() => this.#start(), wait);
    this.#retry.unref();
    this.#tell();
  }

  #letGo(running: Running): void {
    this.#over(running);
    running.child.unref();
  }

  #tell(): void {
    for (const waiter of this.#waiters.splice(0)) waiter();
  }

  /** Resolves when something has changed, or after `ms`. */
  #change(ms?: number): Promise<void> {
    return new Promise((done) => {
      const timer = ms === undefined ? null : setTimeout(done, ms);
      this.#waiters.push(() => {
        if (timer !== null) clearTimeout(timer);
        done();
      });
    });
  }
}

type OmitSeq<T> = T extends unknown ? Omit<T, 'seq'> : never;

function hasExited({ child }: Running): boolean {
  return child.exitCode !== null || child.signalCode !== null;
}

function exitWords(code: number | null, signal: string | null): string {
  return signal === null ? `It ended with code ${code ?? 'unknown'}.` : `It was ended by ${signal}.`;
}
