/** A supervisor without a face: serves commands, ends what nobody owns, yields to an app, and goes when it can. */
import { basename } from 'node:path';
import type { Paths } from '../config/paths.ts';
import { type ControlServer, serveControl } from '../control/server.ts';
import { ControlUnavailable } from '../ipc/socket-path.ts';
import type { Command } from '../roll/commands.ts';
import type { LocalCore, Supervised } from '../supervisor/core.ts';
import { say } from './log.ts';
import { decide, type PolicyInput } from './policy.ts';
import { rowOfProcess, UnverifiedServers } from './unverified-servers.ts';

/** How often it thinks again, besides on every new roll; milliseconds. */
const TICK_MS = 1000;
/** It stays for at least this long after the last sign of a command or of a server that needs it, in milliseconds. */
const QUIET_MS = 1000;
/** What is under way may take this long to be finished when an app wants to take over, in milliseconds. */
export const YIELD_MS = 5000;
/** And when this process is asked to go. */
const TOLD_MS = 5000;
/** How long whoever asked may take to read the answer, in milliseconds. */
const READ_MS = 1000;

export interface HeadlessDeps {
  readonly core: LocalCore;
  readonly paths: Pick<Paths, 'controlSocket'>;
  readonly version: string;
  readonly mission: PolicyInput['mission'];
  /** How long a successor may take to come, in milliseconds. */
  readonly graceMs: number;
  /** Fires when somebody asks this process to go. */
  readonly signal: AbortSignal;
}

export class Headless {
  readonly #parts: HeadlessDeps;
  readonly #inherited: ReadonlySet<string>;
  readonly #graceUntil: number;
  readonly #tried = new Map<string, number>();
  readonly #unknownSince = new Map<string, number>();
  readonly #ending = new Set<string>();
  readonly #unshown = new UnverifiedServers((words) => say('waits', words));
  #control: ControlServer | null = null;
  #yielding: Promise<void> | null = null;
  #quietSince = performance.now();
  #wake: () => void = () => undefined;

  constructor(parts: HeadlessDeps) {
    this.#parts = parts;
    this.#inherited = new Set(parts.core.supervised().map(({ record }) => record.nonce));
    this.#graceUntil = performance.now() + parts.graceMs;
  }

  /** Resolves, when the core is closed and the lock is released, with why it has ended, for the log. */
  async run(): Promise<string> {
    const { core, signal } = this.#parts;
    const unsubscribe = core.subscribe(() => this.#wake());
    const onTold = (): void => this.#wake();
    signal.addEventListener('abort', onTold);
    this.#control = await this.#serve();
    try {
      for (;;) {
        if (this.#yielding !== null) {
          await this.#yielding;
          await this.#answered();
          say('yields');
          return 'an app takes over';
        }
        if (signal.aborted) return await this.#leave();
        this.#turn();
        if (this.#done()) return await this.#finish();
        await this.#pause();
      }
    } finally {
      unsubscribe();
      signal.removeEventListener('abort', onTold);
      await this.#control?.close();
    }
  }

  async #serve(): Promise<ControlServer | null> {
    const { core, paths, version } = this.#parts;
    try {
      return await serveControl({
        core,
        socketPath: paths.controlSocket,
        version,
        onShow: () => {
          throw new Error('The Rollcall app does not run; its guard looks after its servers. Start the app.');
        },
        onYield: () => this.#yield(),
        onLost: (why) => say('unreachable', why),
      });
    } catch (error) {
      if (!(error instanceof ControlUnavailable)) throw error;
      say('unreachable', error.message);
      return null;
    }
  }

  /** Lets go of everything, in bounded time; the socket's name goes first, so that a successor's own is never removed. */
  #yield(): Promise<void> {
    this.#yielding ??= (async () => {
      this.#control?.stopListening();
      this.#wake();
      await this.#parts.core.close(false, YIELD_MS);
    })();
    return this.#yielding;
  }

  async #answered(): Promise<void> {
    const until = performance.now() + READ_MS;
    while ((this.#control?.connections ?? 0) > 0 && performance.now() < until) {
      await new Promise((done) => setTimeout(done, 20));
    }
  }

  async #leave(): Promise<string> {
    const { core, mission } = this.#parts;
    this.#control?.stopListening();
    const stops = mission === 'end-servers' && core.roll.settings.stopLocalServers;
    const { stopped, failed } = await core.close(stops, TOLD_MS);
    return `it was asked to go; ${stopped} stopped${failed.length === 0 ? '' : `, not stopped: ${failed.join('; ')}`}`;
  }

  async #finish(): Promise<string> {
    this.#control?.stopListening();
    await this.#parts.core.close(false, 0);
    return 'nothing needs it any more';
  }

  /** Ends what can be ended now. */
  #turn(): void {
    const { core, mission } = this.#parts;
    // On a look that failed nothing is decided.
    if (core.roll.hosts.some(({ state }) => state !== 'connected')) {
      this.#quietSince = performance.now();
      return;
    }
    const now = performance.now();
    const servers = this.#unshown.observe(core.supervised(), core.roll, now);
    this.#noteUnknown(servers, now);
    const { end, needed } = decide({
      servers: servers.filter(({ record }) => !this.#ending.has(record.nonce)),
      mission,
      inherited: this.#inherited,
      stopLocalServers: core.roll.settings.stopLocalServers,
      graceOver: now >= this.#graceUntil,
      tried: this.#tried,
      unknownSince: this.#unknownSince,
      now,
    });
    for (const { server, force } of end) void this.#end(server, force);
    if (
      needed ||
      core.hooksDue > 0 ||
      this.#ending.size > 0 ||
      core.roll.tasks.some(({ state }) => state === 'running')
    ) {
      this.#quietSince = now;
    }
  }

  #noteUnknown(servers: readonly Supervised[], now: number): void {
    const unknown = new Set(servers.filter(({ busy }) => busy === 'unknown').map(({ record }) => record.nonce));
    for (const nonce of this.#unknownSince.keys()) if (!unknown.has(nonce)) this.#unknownSince.delete(nonce);
    for (const nonce of unknown) if (!this.#unknownSince.has(nonce)) this.#unknownSince.set(nonce, now);
  }

  async #end(server: Supervised, force: boolean): Promise<void> {
    const { label, record, path } = server;
    const command = this.#endingOf(server, force);
    if (command === null) return;
    const { nonce } = record;
    this.#ending.add(nonce);
    const result = await this.#parts.core.run(command, 'guard');
    this.#ending.delete(nonce);
    if (result.ok) say('stopped', `${label} (${basename(path)})`);
    else {
      say('not-stopped', `${label}: ${result.failure.message}`);
      // One that has become busy is waited for as before.
      if (result.failure.code !== 'refused') this.#tried.set(nonce, performance.now());
    }
    this.#wake();
  }

  /** One that no record verifies just now is reaped as the very process that was ours; null when nothing shows it. */
  #endingOf(server: Supervised, force: boolean): Command | null {
    if (server.id !== null) return { command: 'stop', server: server.id, force };
    const row = rowOfProcess(server, this.#parts.core.roll);
    return row === null ? null : { command: 'reap', targets: [row.id], confirmed: true, force: true };
  }

  #done(): boolean {
    const now = performance.now();
    const control = this.#control;
    if (control !== null && (control.pending > 0 || now - control.lastActiveAt < QUIET_MS)) return false;
    return now - this.#quietSince >= QUIET_MS;
  }

  #pause(): Promise<void> {
    return new Promise((done) => {
      const timer = setTimeout(done, TICK_MS);
      this.#wake = () => {
        clearTimeout(timer);
        done();
      };
    });
  }
}
