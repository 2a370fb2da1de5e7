/** A supervisor under strace, with folders of its own: what it signals is told by the system, not by itself. */
import { existsSync, mkdirSync, readdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import { type Paths, resolvePaths } from '../../config/paths.ts';
import { start, type TestProcess, temporaryFolder } from '../../hosts/local/testing/processes.ts';
import { newTrace, type Trace } from '../../hosts/local/testing/strace.ts';
import type { Command, CommandResult, Plan } from '../../roll/commands.ts';
import type { Roll, Server } from '../../roll/schema.ts';
import type { QuitReport } from '../core.ts';
import type { Request } from './actor.ts';
import { installFake } from './fake-opencode.ts';
import { waitUntil } from './processes.ts';

export interface TracedWorld {
  readonly trace: Trace;
  readonly paths: Paths;
  /** Folder in which the fake server is installed, and in which servers run. */
  readonly folder: string;
  readonly program: string;
  /** PID of the supervisor itself. */
  readonly actor: number;
  run(command: Command): Promise<CommandResult>;
  plan(targets: 'leaked' | readonly string[]): Promise<Plan>;
  roll(): Promise<Roll>;
  until(what: string, test: (roll: Roll) => boolean): Promise<Roll>;
  start(): Promise<{ readonly id: string; readonly pid: number }>;
  server(pid: number): Promise<Server | undefined>;
  records(): readonly string[];
  /** Opens another supervisor on the same state, after this one has been closed; elsewhere where that is asked for. */
  reopen(elsewhere?: Pick<TracedOptions, 'under'>): Promise<TracedWorld>;
  /** Ends the supervisor as quitting the app does. */
  close(stopServers: boolean): Promise<QuitReport>;
}

export interface TracedOptions {
  /** Folder of an earlier one, to go on with its state; a new one when left out. */
  readonly root?: string;
  readonly tamper?: readonly string[];
  /** Words put before strace and everything after it; the fake server's program and folder are told. */
  readonly under?: (program: string, folder: string) => readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

/** Opens it; the supervisor and what it started end with the test. */
export async function openTraced(actor: URL, options: TracedOptions = {}): Promise<TracedWorld> {
  const root = options.root ?? temporaryFolder();
  const folder = join(root, 'servers');
  const program = installFake(folder);
  const env = {
    ...process.env,
    ROLLCALL_CONFIG_DIR: join(root, 'config'),
    ROLLCALL_STATE_DIR: join(root, 'state'),
    XDG_RUNTIME_DIR: join(root, 'run'),
    // No login shell is asked for its PATH: ending one that hangs is the one signal to a group that there is.
    SHELL: '/bin/false',
    ...options.env,
  };
  const paths = resolvePaths({ env, platform: process.platform, uid: process.getuid?.() ?? null, home: root });
  mkdirSync(paths.configDir, { recursive: true, mode: 0o700 });
  mkdirSync(paths.recordsDir, { recursive: true, mode: 0o700 });
  const config = { leak: { graceSeconds: 0 }, look: { intervalSeconds: 0.5 }, start: { opencode: { path: program } } };
  writeFileSync(paths.configFile, JSON.stringify(config), { mode: 0o600 });

  const trace = newTrace(options.tamper);
  const words = [...(options.under?.(program, folder) ?? []), ...trace.prefix, process.execPath, fileURLToPath(actor)];
  const [first = '', ...rest] = words;
  const supervisor = start(first, rest, { env });
  const ask = await asker(supervisor);
  const { pid, place } = ask.hello;
  const here = place === readlinkSync('/proc/self/ns/pid');
  const gone = (): boolean => (here ? !existsSync(`/proc/${pid}`) : supervisor.child.exitCode !== null);
  // strace lets go of what it traced when it is ended, so its child is asked to quit while it can.
  let closed = false;
  const close = async (stopServers: boolean): Promise<QuitReport> => {
    closed = true;
    const report = (await ask.put({ ask: 'close', stopServers })) as QuitReport;
    await waitUntil('the supervisor has quit', gone);
    return report;
  };
  onTestFinished(async () => {
    if (!closed && !gone()) await close(true);
  });
  const roll = async (): Promise<Roll> => (await ask.put({ ask: 'roll' })) as Roll;
  const run = async (command: Command): Promise<CommandResult> =>
    (await ask.put({ ask: 'run', command })) as CommandResult;
  return {
    trace,
    paths,
    folder,
    program,
    actor: pid,
    roll,
    run,
    close,
    reopen: (elsewhere = {}) => openTraced(actor, { ...options, root, ...elsewhere }),
    plan: async (targets) => (await ask.put({ ask: 'plan', targets })) as Plan,
    until: (what, test) => untilRoll(what, roll, test),
    server: async (of) => (await roll()).servers.find(({ pids }) => pids.includes(of)),
    records: () => readdirSync(paths.recordsDir).map((name) => readFileSync(join(paths.recordsDir, name), 'utf8')),
    start: async () => {
      const result = await run({
        command: 'start',
        kind: 'opencode',
        directory: folder,
        port: null,
        forPid: null,
        keepRunning: false,
      });
      if (!result.ok || result.server === null) throw new Error(JSON.stringify(result));
      return result.server;
    },
  };
}

interface Hello {
  readonly pid: number;
  /** The PID namespace in which it is. */
  readonly place: string;
}

interface Asker {
  readonly hello: Hello;
  put(request: Request): Promise<unknown>;
}

/** One request at a time, each answered by the next line. */
async function asker(supervisor: TestProcess): Promise<Asker> {
  const hello = JSON.parse(await supervisor.line()) as Hello;
  let last: Promise<unknown> = Promise.resolve();
  return {
    hello,
    put: (request) => {
      const next = last.then(async () => {
        supervisor.tell(JSON.stringify(request));
        return JSON.parse(await supervisor.line()) as unknown;
      });
      last = next.catch(() => undefined);
      return next;
    },
  };
}

async function untilRoll(what: string, read: () => Promise<Roll>, test: (roll: Roll) => boolean): Promise<Roll> {
  const end = performance.now() + 60_000;
  for (;;) {
    const roll = await read();
    if (test(roll)) return roll;
    if (performance.now() > end) {
      const seen = roll.servers.map(({ pid, standing, reasons }) => `${pid} ${standing}: ${reasons.join('; ')}`);
      const records = roll.records.map(({ pid, verdict, detail }) => `record ${pid} ${verdict}: ${detail}`);
      throw new Error(`not within 60 s: ${what}\n${[...seen, ...records].join('\n')}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
