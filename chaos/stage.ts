/** Where everything happens: folders on a small file system of their own, apps, commands, and connections to them. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { appendFileSync, chmodSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { type Paths, resolvePaths } from '../app/config/paths.ts';
import { type ControlClient, connectControl } from '../app/control/client.ts';
import type { Programs } from '../app/guard/bundles.testing.ts';
import type { Command, CommandResult } from '../app/roll/commands.ts';
import type { Roll } from '../app/roll/schema.ts';
import { type Installed, installMoods } from './moods.ts';
import { statOf } from './proc.ts';

const STATE_SIZE = '24m';
const CONNECT_MS = 3000;
/** How long an app may take until it is ready; milliseconds. It waits for a guard or a command to let go. */
const READY_MS = 40_000;
/** How long a command may take before it is given up; milliseconds. */
const CLI_MS = 60_000;
/** Short, so that runs of a minute see both an app that comes in time and one that does not. */
export const GUARD_GRACE_MS = 2500;
const BUDGETS = { ackMs: 3000, pingMs: 1000, stableMs: 3000, longestBackoffMs: 2000 };

export interface StageApp {
  readonly child: ChildProcess;
  readonly pid: number;
  readonly ticks: string;
  readonly traced: boolean;
  readonly since: number;
  exited: boolean;
  /** Its own words: why it did not start. */
  refused: string | null;
  readonly ready: Promise<boolean>;
  readonly exit: Promise<void>;
}

export interface StageAnswer {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

export class Stage {
  readonly root: string;
  readonly paths: Paths;
  readonly moods: Installed;
  readonly doomed: string;
  readonly signalLogs: string;
  readonly traces: string[] = [];
  readonly #programs: Programs;
  readonly #env: Record<string, string>;
  readonly #shim: string;
  #app: StageApp | null = null;
  #runs = 0;

  constructor(root: string, programs: Programs, shim: string) {
    this.root = root;
    this.#programs = programs;
    this.#shim = shim;
    chmodSync(root, 0o711);
    this.moods = installMoods(root);
    this.doomed = join(root, 'doomed');
    execFileSync('mkfifo', [this.doomed]);
    this.signalLogs = join(root, 'signals');
    mkdirSync(this.signalLogs);
    chmodSync(this.signalLogs, 0o777);
    const state = join(root, 'state');
    mkdirSync(state, { mode: 0o700 });
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${STATE_SIZE},mode=700`, 'chaos', state]);
    mkdirSync(join(root, 'run'), { mode: 0o700 });
    this.#env = {
      PATH: process.env['PATH'] ?? '/usr/bin:/bin',
      HOME: root,
      ROLLCALL_CONFIG_DIR: join(root, 'config'),
      ROLLCALL_STATE_DIR: state,
      XDG_RUNTIME_DIR: join(root, 'run'),
      ROLLCALL_GUARD_GRACE_MS: String(GUARD_GRACE_MS),
      ROLLCALL_TEST_BUDGETS: JSON.stringify(BUDGETS),
      // No login shell is asked for its PATH.
      SHELL: '/bin/false',
      CHAOS_DOOMED: this.doomed,
      CHAOS_REAL: this.moods.real,
      CHAOS_CLOCK: join(root, 'clock'),
    };
    this.paths = resolvePaths({
      env: this.#env,
      platform: process.platform,
      uid: process.getuid?.() ?? null,
      home: root,
    });
    this.jumpClock(0);
    mkdirSync(this.paths.configDir, { mode: 0o700 });
    const config = {
      leak: { graceSeconds: 0 },
      look: { intervalSeconds: 0.5 },
      start: { opencode: { path: this.moods.program } },
    };
    writeFileSync(this.paths.configFile, JSON.stringify(config), { mode: 0o600 });
  }

  /** The app that was started last, while it lives. */
  get app(): StageApp | null {
    return this.#app?.exited === false ? this.#app : null;
  }

  /** @param ms how far the wall clock of apps and commands is from the real one */
  jumpClock(ms: number): void {
    writeFileSync(join(this.root, 'clock'), String(ms));
  }

  /**
   * Starts an app, whether or not one runs.
   *
   * @param traced under strace, together with everything it starts
   */
  startApp(traced: boolean): StageApp {
    const child = this.#run([process.execPath, '--import', this.#shim, this.#programs.app], traced);
    const { pid, stdout } = child;
    const ticks = pid === undefined ? undefined : statOf(pid)?.ticks;
    if (pid === undefined || stdout === null || ticks === undefined) throw new Error('an app could not be started');
    let settle: (ready: boolean) => void = () => undefined;
    const app: StageApp = {
      child,
      pid,
      ticks,
      traced,
      since: performance.now(),
      exited: false,
      refused: null,
      ready: new Promise((done) => {
        settle = done;
      }),
      exit: new Promise((done) => {
        child.once('exit', () => {
          app.exited = true;
          settle(false);
          done();
        });
      }),
    };
    createInterface({ input: stdout }).on('line', (line) => {
      const said = JSON.parse(line) as { ready?: unknown; refused?: string };
      if (said.refused !== undefined) app.refused = said.refused;
      else if (said.ready !== undefined) {
        this.#app = app;
        settle(true);
      }
    });
    setTimeout(() => settle(false), READY_MS).unref();
    if (this.app === null) this.#app = app;
    return app;
  }

  /** Runs a command as a person would. `onStart` is told its PID, so that it can be ended in between. */
  cli(
    words: readonly string[],
    options: { readonly traced?: boolean; readonly cwd?: string; readonly onStart?: (pid: number) => void } = {},
  ): Promise<StageAnswer> {
    const command = [process.execPath, '--import', this.#shim, this.#programs.cli, ...words];
    const child = this.#run(command, options.traced === true, options.cwd);
    if (child.pid !== undefined) options.onStart?.(child.pid);
    let out = '';
    let err = '';
    child.stdout?.on('data', (chunk) => (out += String(chunk)));
    child.stderr?.on('data', (chunk) => (err += String(chunk)));
    return new Promise((done) => {
      const timer = setTimeout(() => {
        err += `\ngiven up after ${CLI_MS} ms`;
        child.kill('SIGKILL');
      }, CLI_MS);
      child.once('exit', (code) => {
        clearTimeout(timer);
        done({ code, out, err });
      });
    });
  }

  /** A connection to whoever is in charge. @throws what connecting throws */
  connect(): Promise<ControlClient> {
    return connectControl(this.paths.controlSocket, CONNECT_MS, { version: '0.0.0-test' });
  }

  async command(command: Command): Promise<CommandResult> {
    const client = await this.connect();
    try {
      return await client.run(command, 'window');
    } finally {
      client.close();
    }
  }

  /** A fresh roll of whoever is in charge. */
  async look(): Promise<Roll> {
    const client = await this.connect();
    try {
      await client.run({ command: 'look' }, 'window');
      return client.roll;
    } finally {
      client.close();
    }
  }

  #run(words: readonly string[], traced: boolean, cwd = this.root): ChildProcess {
    this.#runs += 1;
    const prefix = traced ? this.#tracePrefix() : [];
    const [program = '', ...args] = [...prefix, ...words];
    const child = spawn(program, args, { cwd, env: this.#env, stdio: ['ignore', 'pipe', 'pipe'] });
    child.on('error', () => undefined);
    child.stderr?.on('data', (chunk) => appendFileSync(join(this.root, 'stderr.log'), String(chunk)));
    return child;
  }

  /** strace as a grandchild in a session of its own: the traced program itself stays our child, and may be killed. */
  #tracePrefix(): string[] {
    const file = join(this.root, `trace-${this.#runs}`);
    this.traces.push(file);
    const calls = 'kill,tkill,tgkill,pidfd_send_signal,pidfd_open,rt_sigqueueinfo,rt_tgsigqueueinfo';
    const options = ['-DDD', '-f', '-qq', '-ttt', '--seccomp-bpf', '--decode-fds=pidfd', '-e', 'signal=none'];
    return ['strace', ...options, '-e', `trace=${calls}`, '-o', file, '--'];
  }

  /** The end of what the guards have said. */
  guardLog(): string {
    return existsSync(this.paths.guardLog) ? readFileSync(this.paths.guardLog, 'utf8').slice(-1500) : '(no log)';
  }

  /** Everything of this run; what is mounted goes with the namespace. */
  remove(): void {
    execFileSync('umount', ['-l', this.paths.stateDir]);
    rmSync(this.root, { recursive: true, force: true });
  }
}
