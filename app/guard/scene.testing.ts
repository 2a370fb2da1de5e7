/** One state folder with real apps, guards, commands and servers in it; everything of it is ended with the test. */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { type AuditLine, readAudit } from '../audit/audit.ts';
import { type Paths, resolvePaths } from '../config/paths.ts';
import { ControlAbsent, type ControlClient, ControlLost, connectControl } from '../control/client.ts';
import type { Roll } from '../roll/schema.ts';
import { type Fake, installFake } from '../supervisor/testing/fake-opencode.ts';
import { isAlive, Started, waitUntil } from '../supervisor/testing/processes.ts';
import type { Programs } from './bundles.testing.ts';
import { type GuardCommand, guardCommand } from './command.ts';
import { GRACE_VARIABLE } from './grace.ts';

export interface SceneOptions {
  readonly graceMs?: number;
  readonly fake?: Fake;
  readonly config?: Readonly<Record<string, unknown>>;
  readonly env?: Readonly<Record<string, string>>;
}

export interface App {
  readonly child: ChildProcess;
  readonly pid: number;
  readonly guard: number;
  /** Ends it without a farewell and waits until it is collected. */
  crash(): Promise<void>;
  /** Asks it to go and waits until it has. @returns its exit code */
  quit(): Promise<number | null>;
}

export interface Answer {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** Shorter than in life, so that a guard that hangs is noticed while a test waits. Milliseconds. */
const BUDGETS = { ackMs: 4000, pingMs: 500 };

export class Scene {
  readonly root = mkdtempSync(join(tmpdir(), 'rcg-'));
  readonly project = join(this.root, 'project');
  readonly paths: Paths;
  readonly started = new Started();
  readonly #programs: Programs;
  readonly #env: Record<string, string>;

  constructor(programs: Programs, options: SceneOptions = {}) {
    this.#programs = programs;
    this.#env = {
      PATH: process.env['PATH'] ?? '',
      HOME: this.root,
      ROLLCALL_CONFIG_DIR: join(this.root, 'config'),
      ROLLCALL_STATE_DIR: join(this.root, 'state'),
      XDG_RUNTIME_DIR: join(this.root, 'run'),
      [GRACE_VARIABLE]: String(options.graceMs ?? 300),
      ...options.env,
    };
    this.paths = resolvePaths({
      env: this.#env,
      platform: process.platform,
      uid: process.getuid?.() ?? null,
      home: this.root,
    });
    const path = installFake(this.project);
    mkdirSync(this.paths.configDir, { recursive: true, mode: 0o700 });
    mkdirSync(join(this.root, 'run'), { mode: 0o700 });
    const config = {
      leak: { graceSeconds: 0 },
      look: { intervalSeconds: 0.5 },
      start: { opencode: { path, env: { FAKE: JSON.stringify(options.fake ?? {}) } } },
      ...options.config,
    };
    writeFileSync(this.paths.configFile, JSON.stringify(config), { mode: 0o600 });
  }

  /** Starts an app and waits until it is ready and guarded. */
  async app(env: Readonly<Record<string, string>> = {}): Promise<App> {
    const child = spawn(process.execPath, [this.#programs.app], {
      cwd: this.root,
      env: { ...this.#env, ROLLCALL_TEST_BUDGETS: JSON.stringify(BUDGETS), ...env },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const { pid } = child;
    if (pid === undefined || child.stdout === null) throw new Error('the app did not start');
    this.started.note(pid);
    const exited = new Promise<number | null>((done) => child.once('exit', (code) => done(code)));
    for await (const text of createInterface({ input: child.stdout })) {
      const line = JSON.parse(text) as { ready?: { guard: number | null; why: string | null }; refused?: string };
      if (line.refused !== undefined) throw new Error(line.refused);
      if (line.ready === undefined) continue;
      if (line.ready.guard === null) throw new Error(`no guard: ${line.ready.why}`);
      this.started.note(line.ready.guard);
      // Its pipe must not fill up.
      child.stdout.resume();
      return {
        child,
        pid,
        guard: line.ready.guard,
        crash: async () => {
          child.kill('SIGKILL');
          await exited;
        },
        quit: async () => {
          child.kill('SIGTERM');
          return exited;
        },
      };
    }
    throw new Error('the app ended before it was ready');
  }

  /** Starts an app that gets no further than its lock and its guard, as one whose desktop never comes. */
  async stalledApp(env: Readonly<Record<string, string>> = {}): Promise<{ guard: number; crash(): Promise<void> }> {
    const child = spawn(process.execPath, [this.#programs.app], {
      cwd: this.root,
      env: { ...this.#env, ROLLCALL_TEST_STALL: '1', ...env },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    this.started.note(child.pid ?? 0);
    const exited = new Promise((done) => child.once('exit', done));
    for await (const text of createInterface({ input: child.stdout })) {
      const { stalled } = JSON.parse(text) as { stalled?: { guard: number | null } };
      if (stalled === undefined || stalled.guard === null) throw new Error(`no guard: ${text}`);
      this.started.note(stalled.guard);
      return {
        guard: stalled.guard,
        crash: async () => {
          child.kill('SIGKILL');
          await exited;
        },
      };
    }
    throw new Error('the app ended before it held the lock');
  }

  /** How a guard of this scene is started. */
  guardCommand(): GuardCommand {
    return guardCommand(this.#programs.out, this.#env);
  }

  /** A connection to whoever serves commands; null when nobody does. */
  async client(): Promise<ControlClient | null> {
    try {
      return await connectControl(this.paths.controlSocket, 60_000, { version: '0.0.0-test' });
    } catch (error) {
      if (error instanceof ControlAbsent || error instanceof ControlLost) return null;
      throw error;
    }
  }

  /** The roll of whoever is in charge, after a look; by a command where nobody serves any. */
  async roll(): Promise<Roll> {
    const client = await this.client();
    if (client === null) return JSON.parse((await this.cli('list', '--json')).out) as Roll;
    try {
      await client.run({ command: 'look' }, 'cli');
      return client.roll;
    } finally {
      client.close();
    }
  }

  /** Lets whoever is in charge take that many looks, each judged and acted on. */
  async looks(count: number): Promise<void> {
    for (let taken = 0; taken < count; taken += 1) await this.roll();
  }

  /** A command, as a person types it. */
  cli(...args: readonly string[]): Promise<Answer> {
    return new Promise((done) => {
      execFile(
        process.execPath,
        [this.#programs.cli, ...args],
        { cwd: this.project, env: this.#env },
        (error, out, err) =>
          done({ code: typeof error?.code === 'number' ? error.code : error === null ? 0 : -1, out, err }),
      );
    });
  }

  /** A command that is under way. @returns its PID */
  command(...args: readonly string[]): number {
    const options = { cwd: this.project, env: this.#env, stdio: 'ignore' as const };
    return this.started.note(spawn(process.execPath, [this.#programs.cli, ...args], options).pid ?? 0);
  }

  /**
   * Starts a server through whoever is in charge, with the flags of `rollcall start`. Over the control socket where somebody
   * listens: a process of the command for each would take longer than what is tested. @returns its PID
   */
  async server(...args: readonly string[]): Promise<number> {
    const client = await this.client();
    if (client !== null) {
      const word = (flag: string): string | undefined =>
        args.includes(flag) ? args[args.indexOf(flag) + 1] : undefined;
      const value = (flag: string): number | null => (args.includes(flag) ? Number(word(flag)) : null);
      const directory = word('--dir') ?? this.project;
      const wish = { port: value('--port'), forPid: value('--for'), keepRunning: args.includes('--keep-running') };
      const result = await client.run({ command: 'start', kind: 'opencode', directory, ...wish }, 'cli');
      client.close();
      if (!result.ok || result.server === null) throw new Error(`no server: ${JSON.stringify(result)}`);
      return this.started.note(result.server.pid);
    }
    const { out, err, code } = await this.cli('start', 'opencode', '--json', ...args);
    if (code !== 0) throw new Error(`no server: ${err}${out}`);
    return this.started.note((JSON.parse(out) as { pid: number }).pid);
  }

  /** Every living process that belongs to this scene, by its state folder: apps, guards, commands. */
  processes(): { pid: number; argv: string[] }[] {
    const wanted = `ROLLCALL_STATE_DIR=${this.#env['ROLLCALL_STATE_DIR']}`;
    return readdirSync('/proc').flatMap((name) => {
      if (!/^\d+$/u.test(name)) return [];
      try {
        if (!readFileSync(`/proc/${name}/environ`, 'utf8').split('\0').includes(wanted)) return [];
        const argv = readFileSync(`/proc/${name}/cmdline`, 'utf8').split('\0').slice(0, -1);
        return isAlive(Number(name)) ? [{ pid: Number(name), argv }] : [];
      } catch {
        return []; // gone meanwhile
      }
    });
  }

  /** PIDs of the guards of this scene that live. */
  guards(): number[] {
    return this.processes()
      .filter(({ argv }) => argv.some((word) => word === this.#programs.guard))
      .map(({ pid }) => this.started.note(pid));
  }

  /** Processes started for servers of this scene that live: their working directory is its project. */
  servers(): number[] {
    return readdirSync('/proc').flatMap((name) => {
      if (!/^\d+$/u.test(name)) return [];
      try {
        const here = readlinkSync(`/proc/${name}/cwd`) === this.project && isAlive(Number(name));
        const argv = readFileSync(`/proc/${name}/cmdline`, 'utf8');
        return here && !argv.includes(this.#programs.cli) ? [this.started.note(Number(name))] : [];
      } catch {
        return []; // gone meanwhile
      }
    });
  }

  records(): string[] {
    try {
      return readdirSync(this.paths.recordsDir).filter((name) => name.endsWith('.json'));
    } catch {
      return []; // nothing was started yet
    }
  }

  audit(): AuditLine[] {
    return readAudit(this.paths.auditFile);
  }

  /** Events of the guards' log, in order. */
  said(): string[] {
    return [...this.log().matchAll(/^\S+Z \d+ ([a-z-]+)/gmu)].map(([, event = '']) => event);
  }

  log(): string {
    try {
      return readFileSync(this.paths.guardLog, 'utf8');
    } catch {
      return '(no log)';
    }
  }

  /** Waits, and says what the guard and the audit said when it is in vain. */
  async until(what: string, test: () => boolean, timeoutMs = 80_000): Promise<void> {
    try {
      await waitUntil(what, test, timeoutMs);
    } catch (error) {
      const list = this.processes().map(({ pid, argv }) => `${pid} ${argv.join(' ')}`);
      const told = this.audit().map(({ at, event, text }) => `${at} ${event} ${text}`);
      throw new Error([String(error), this.log(), ...list, ...told.slice(-40)].join('\n'), { cause: error });
    }
  }

  async dispose(): Promise<void> {
    // Apps first, then guards: a guard that is found later is noted by then.
    for (const { pid } of this.processes()) this.started.note(pid);
    await this.started.endAll();
    const end = performance.now() + 60_000;
    while (this.processes().length + this.servers().length > 0 && performance.now() < end) {
      for (const { pid } of this.processes()) this.started.note(pid);
      await this.started.endAll();
      await new Promise((done) => setTimeout(done, 20));
    }
    rmSync(this.root, { recursive: true, force: true });
  }
}
