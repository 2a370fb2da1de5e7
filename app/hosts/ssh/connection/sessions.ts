import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { SshFailed } from '../../ssh-failed.ts';
import type { SshProgram } from '../config/resolve.ts';
import type { ExecResult } from '../contract.ts';
import { CHECK_MS, type Master } from './master.ts';
import { MAX_STDOUT, SshClient, spawnClient } from './session-client.ts';

/** Servers allow 10 unless told otherwise; two are left for the person's own use of the same setting. */
const MAX_SESSIONS = 8;
/** After a refusal with nothing of ours running: another's sessions, or ours that the server has not let go of yet. */
const REFUSED_PAUSE_MS = 100;
/** The sessions that filled the server may be over by then. */
const FORGIVEN_MS = 60_000;
/** How long the end of a master takes to be known after that of a session it carried. */
const MASTER_END_MS = 2000;

/** What ssh's own log of one session tells. The remote's words never get into it. */
const OPENED = /mux_client_request_session: master session id/u;
const STATUS = /Received exit status from master (?<code>\d+)/u;
const REFUSED = /Session open refused|session request failed|Master refused session/iu;

export interface SessionsOptions {
  readonly alias: string;
  readonly ssh: SshProgram;
  readonly master: Master;
  /** Ours alone; the logs of running sessions are in it. */
  readonly folder: string;
  /** Begins the names of our files in it. */
  readonly prefix: string;
  /** A deadline has passed: the master, or the machine behind it, may not answer any more. */
  readonly onDeadline: () => void;
}

interface Waiting {
  readonly start: () => void;
}

type Outcome = { readonly done: ExecResult } | { readonly refused: string };

let count = 0;

/** Runs commands over one master, as many at once as servers allow; the others wait for their turn. */
export class Sessions {
  readonly #options: SessionsOptions;
  readonly #waiting: Waiting[] = [];
  #running = 0;
  /** Becomes what the server allows, once it has refused one. */
  #most = MAX_SESSIONS;
  #refusedAt = Number.NEGATIVE_INFINITY;

  constructor(options: SessionsOptions) {
    this.#options = options;
  }

  /** See `RemoteExec.exec`. @throws SshFailed */
  async run(input: string | Buffer, deadlineMs: number): Promise<ExecResult> {
    const until = performance.now() + deadlineMs;
    for (;;) {
      await this.#turn(until, deadlineMs);
      const outcome = await this.#oneTurn(input, until, deadlineMs);
      if ('done' in outcome) return outcome.done;
      if (performance.now() + REFUSED_PAUSE_MS >= until) throw noSession(this.#options.alias, outcome.refused);
      await later(REFUSED_PAUSE_MS);
    }
  }

  async #oneTurn(input: string | Buffer, until: number, deadlineMs: number): Promise<Outcome> {
    try {
      const outcome = await this.#session(input, until, deadlineMs);
      if ('refused' in outcome) {
        // One of ours that ends makes room for another; without one, somebody else's has to.
        this.#most = Math.max(1, Math.min(this.#most, this.#running - 1));
        this.#refusedAt = performance.now();
      }
      return outcome;
    } finally {
      this.#running -= 1;
      this.#next();
    }
  }

  #turn(until: number, deadlineMs: number): Promise<void> {
    if (performance.now() - this.#refusedAt > FORGIVEN_MS) this.#most = MAX_SESSIONS;
    if (this.#running < this.#most) {
      this.#running += 1;
      return Promise.resolve();
    }
    return new Promise((resolve, reject) => {
      const waiting: Waiting = {
        start: () => {
          clearTimeout(timer);
          this.#running += 1;
          resolve();
        },
      };
      const late = (): void => {
        this.#waiting.splice(this.#waiting.indexOf(waiting), 1);
        reject(this.#late(deadlineMs, 'still waiting for a free session'));
      };
      const timer = setTimeout(late, Math.max(0, until - performance.now()));
      this.#waiting.push(waiting);
    });
  }

  #next(): void {
    while (this.#running < this.#most) {
      const waiting = this.#waiting.shift();
      if (waiting === undefined) return;
      waiting.start();
    }
  }

  #late(deadlineMs: number, doing: string): SshFailed {
    const { alias } = this.#options;
    return new SshFailed(
      alias,
      'link',
      'deadline',
      `${alias} did not answer within ${deadlineMs / 1000} s (${doing}).`,
      'The machine or the connection is slow or stuck; Rollcall checks the connection and replaces it if it is dead.',
    );
  }

  async #session(input: string | Buffer, until: number, deadlineMs: number): Promise<Outcome> {
    const { alias, ssh, master } = this.#options;
    const logFile = join(this.#options.folder, `${this.#options.prefix}${++count}.log`);
    const client = new SshClient(spawnClient(alias, ssh, master.socketPath, logFile), input);
    // A thread that was busy runs its timers before it reads: one round of reading comes in between.
    const late = (): void => void setImmediate(() => client.end('deadline'));
    const timer = setTimeout(late, Math.max(0, until - performance.now()));
    try {
      const { code, stdout, stderr } = await client.ended;
      if (client.endedBy === 'deadline') {
        this.#options.onDeadline();
        throw this.#late(deadlineMs, 'running a command');
      }
      if (client.endedBy === 'too-much') {
        throw new SshFailed(
          alias,
          'link',
          'too-much-output',
          `A command on ${alias} said more than ${MAX_STDOUT / 1024 / 1024} MiB and was ended.`,
          'Tell the authors of Rollcall what it was asked to do.',
        );
      }
      const log = await readFile(logFile, 'utf8').catch(() => '');
      const status = STATUS.exec(log)?.groups?.['code'];
      // The client's own failures are all 255, which a command may exit with, too.
      if (status !== undefined) return { done: { stdout, stderr, code: Number(status) } };
      if (code !== null && code !== 255) return { done: { stdout, stderr, code } };
      // A client that is left by its master ends the same way as one whose command a signal has ended.
      const responds = await master.responds(CHECK_MS);
      const lost = responds ? null : await Promise.race([master.ended, later(MASTER_END_MS)]);
      if (lost !== null) throw linkLost(alias, lost);
      if (responds && OPENED.test(log)) return { done: { stdout, stderr, code: null } };
      if (REFUSED.test(log)) return { refused: tail(log) };
      this.#options.onDeadline();
      throw new SshFailed(
        alias,
        'link',
        'no-master',
        `The connection to ${alias} took no command.`,
        'Rollcall checks it and replaces it if it is dead. Try again.',
        tail(log) || null,
      );
    } finally {
      clearTimeout(timer);
      await rm(logFile, { force: true });
    }
  }
}

function noSession(alias: string, said: string): SshFailed {
  return new SshFailed(
    alias,
    'shell',
    'no-session',
    `${alias} refused to open another session.`,
    'Its server may allow fewer sessions (MaxSessions), or none for this account.',
    said,
  );
}

/** The connection was lost under a command or a forward. */
export function linkLost(alias: string, why: SshFailed): SshFailed {
  return new SshFailed(alias, 'link', 'link-lost', why.message, why.remedy, why.output, why);
}

function tail(log: string): string {
  return log
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('debug'))
    .slice(-5)
    .join('\n');
}

function later(ms: number): Promise<null> {
  return new Promise((resolve) => setTimeout(() => resolve(null), ms));
}
