/** What must hold when things change or fail between a look and a signal. */
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { readAudit } from '../audit/audit.ts';
import { LookFailed } from '../hosts/host.ts';
import { inlineLooker, type Looker } from '../hosts/local/look/looker.ts';
import type { CommandResult } from '../roll/commands.ts';
import { recognise } from '../servers/recognition/recognise.ts';
import { type Fake, installFake, installProgram, launchUnder } from './testing/fake-opencode.ts';
import { isAlive, Started, waitUntil } from './testing/processes.ts';
import { openWorld, type World } from './testing/world.ts';

let folder: string;
let program: string;
let started: Started;
let world: World;
let failing: boolean;

/** The real looker, which can be made to fail. */
function fragileLooker(): Looker {
  const real = inlineLooker(recognise);
  return {
    start: (place) => real.start(place),
    look: (request) => (failing ? Promise.reject(new LookFailed('the test says so')) : real.look(request)),
    inspect: (pid) => real.inspect(pid),
    portHolder: (port) => real.portHolder(port),
    close: () => real.close(),
  };
}

async function open(fake: Fake = {}, graceSeconds = 0): Promise<void> {
  const start = { opencode: { path: program, env: { FAKE: JSON.stringify(fake) } } };
  world = await openWorld({
    config: { leak: { graceSeconds }, look: { intervalSeconds: 0.5 }, start },
    looker: fragileLooker(),
  });
}

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'rollcall-guarantee-'));
  program = installFake(folder);
  started = new Started();
  failing = false;
});
afterEach(async () => {
  failing = false;
  await world.dispose();
  await started.endAll();
  rmSync(folder, { recursive: true, force: true });
});

async function orphan(fake: Fake = {}): Promise<number> {
  const launcher = launchUnder(program, folder, fake);
  const launcherPid = started.note(launcher.pid ?? 0);
  const pid = await started.pidFrom(launcher);
  await world.until('the server is seen', () => world.server(pid)?.standing === 'owned');
  await started.kill(launcherPid);
  return pid;
}

const leaked = (pid: number) => world.until('it is leaked', () => world.server(pid)?.standing === 'leaked');
const reap = (pid: number, consent: { confirmed?: boolean; force?: boolean } = {}): Promise<CommandResult> => {
  const targets = [world.server(pid)?.id ?? '0000000000000000'];
  return world.core.run({ command: 'reap', targets, confirmed: false, force: false, ...consent }, 'window');
};
const touched = () =>
  new Set(
    readAudit(world.paths.auditFile).flatMap(({ event, pid }) =>
      event === 'signal-intent' && pid !== null ? [pid] : [],
    ),
  );

function start(): Promise<CommandResult> {
  return world.core.run(
    { command: 'start', kind: 'opencode', directory: folder, port: null, forPid: null, keepRunning: false },
    'window',
  );
}

async function startedPid(): Promise<number> {
  const result = await start();
  if (!result.ok || result.server === null) throw new Error(JSON.stringify(result));
  return started.note(result.server.pid);
}

test('the plan names exactly what is signalled, what only its mark ties to the server included', async () => {
  await open();
  const pid = await orphan({ helper: true, cutOff: ['sleep 377'] });
  await world.until(
    'the cut-off child is shown',
    () => world.server(pid)?.processes.some(({ command }) => command === 'sleep 377') ?? false,
  );
  // A tool's child that still runs is a sign of work, so it takes a force.
  await world.until('it is ownerless', () => world.server(pid)?.standing === 'suspect');
  const plan = await world.core.plan([world.server(pid)?.id ?? '']);
  const planned = new Map(plan.rows.flatMap(({ steps }) => steps.map((step) => [step.pid, step.command])));
  for (const each of planned.keys()) started.note(each);
  expect([...planned.values()]).toContain('sleep 377');
  expect((await reap(pid, { force: true })).ok).toBe(true);
  // The helper's own `sleep 0.2` comes and goes, so only what is not one of those must be planned.
  const surprises = [...touched()].filter((each) => !planned.has(each));
  const lines = readAudit(world.paths.auditFile).filter((line) => surprises.includes(line.pid ?? 0));
  expect(lines.filter(({ event, text }) => event === 'signal-intent' && !text.includes('sleep 0.2'))).toEqual([]);
  expect([...planned.keys()].filter(isAlive)).toEqual([]);
});

test('B15 bystanders that merely inherited the mark live on: a multiplexer’s shell with a terminal, a shared daemon', async () => {
  await open();
  const agent = installProgram(folder, 'gpg-agent', 'run', 'setInterval(() => {}, 1000);');
  const pty = `python3 -c 'import pty; pty.spawn(["sleep", "388"])'`;
  const pid = await orphan({ cutOff: [pty, `${agent} run`, 'sleep 399'] });
  await world.until(
    'the cut-off child is shown',
    () => world.server(pid)?.processes.some(({ command }) => command === 'sleep 399') ?? false,
  );
  const bystanders = await bystandersOf(/sleep 388|gpg-agent/u);
  expect(bystanders.length).toBeGreaterThanOrEqual(2);
  await world.until('it is ownerless', () => world.server(pid)?.standing === 'suspect');
  expect((await reap(pid, { force: true })).ok).toBe(true);
  expect(bystanders.filter((each) => !isAlive(each))).toEqual([]);
  const left = world.core.roll.leftovers.filter((row) => bystanders.includes(row.pid));
  for (const row of left) expect(row.reap.allowed).toBe('confirm');
});

/** PIDs of processes of this test by their command line. */
async function bystandersOf(pattern: RegExp): Promise<number[]> {
  const found = () =>
    readdirSync('/proc').flatMap((name) => {
      if (!/^\d+$/u.test(name) || !existsSync(`/proc/${name}/cmdline`)) return [];
      try {
        const mine = readFileSync(`/proc/${name}/environ`, 'latin1').includes('FAKE=');
        const command = readFileSync(`/proc/${name}/cmdline`, 'latin1').replaceAll('\0', ' ');
        return mine && pattern.test(command) && !/^(bash|\/bin\/bash)/u.test(command) ? [Number(name)] : [];
      } catch {
        // It ended while it was read.
        return [];
      }
    });
  await waitUntil('the bystanders run', () => found().length >= 2);
  return found().map((pid) => started.note(pid));
}

test('a server somebody connected to since it was listed is not reaped without being asked about', async () => {
  await open();
  const pid = await orphan();
  await leaked(pid);
  const port = world.server(pid)?.listening[0]?.port ?? 0;
  const id = world.server(pid)?.id ?? '';
  const client = started.spawn(
    process.execPath,
    [
      '-e',
      `require('node:net').connect(${port}, '127.0.0.1', () => console.log('connected')); setInterval(() => {}, 1000);`,
    ],
    { stdio: ['ignore', 'pipe', 'ignore'] },
  );
  await new Promise((resolve) => client.stdout?.once('data', resolve));
  const result = await world.core.run({ command: 'reap', targets: [id], confirmed: false, force: false }, 'tray');
  expect(result.results).toMatchObject([{ outcome: 'refused', signals: [] }]);
  expect(result.results[0]?.message).toMatch(/suspect, not leaked/u);
  expect(isAlive(pid)).toBe(true);
});

test('F11 nothing is ended on an old look: with looks failing every act is refused and says why', async () => {
  await open();
  const pid = await orphan();
  await leaked(pid);
  failing = true;
  const result = await reap(pid);
  expect(result).toMatchObject({ ok: false, failure: { code: 'no-look' } });
  await world.until('the roll says so', (roll) => roll.hosts[0]?.state === 'failed');
  expect(world.core.roll.alerts[0]).toMatchObject({ level: 'fault', id: 'no-look' });
  // What was last seen is still shown, with its time; it is not "0 servers".
  expect(world.server(pid)?.standing).toBe('leaked');
  expect(isAlive(pid)).toBe(true);
  failing = false;
  expect((await reap(pid)).ok).toBe(true);
});

test('a face that fails is no failed look: every act goes on, and it is told for as long as it fails', async () => {
  await open();
  const looks = () => Promise.all([1, 2, 3].map(() => world.core.run({ command: 'look' }, 'window')));
  const stop = world.core.subscribe(() => {
    throw new Error('a window is gone');
  });
  expect((await looks()).every(({ ok }) => ok)).toBe(true);
  expect((await looks()).every(({ ok }) => ok)).toBe(true);
  expect(world.core.roll.alerts).toMatchObject([{ id: 'aside', detail: 'a window is gone' }]);
  stop();
  expect((await looks()).every(({ ok }) => ok)).toBe(true);
  expect(world.core.roll.alerts).toEqual([]);
});

test('an id that was never seen is refused, not called gone', async () => {
  await open();
  const result = await world.core.run(
    { command: 'reap', targets: ['deadbeefdeadbeef'], confirmed: true, force: true },
    'cli',
  );
  expect(result).toMatchObject({ ok: false, results: [{ outcome: 'refused', verdict: 'unknown' }] });
});

test('quitting while a start is under way leaves neither process nor record', async () => {
  await open({ silent: true });
  const starting = start();
  await world.until('it was spawned', () => readAudit(world.paths.auditFile).some(({ event }) => event === 'started'));
  const pid = started.note(readAudit(world.paths.auditFile).find(({ event }) => event === 'started')?.pid ?? 0);
  const report = await world.core.close(true, 60_000);
  expect(report.failed).toEqual([]);
  expect(await starting).toMatchObject({ ok: false, failure: { code: 'quitting' } });
  expect(isAlive(pid)).toBe(false);
  expect(readdirSync(world.paths.recordsDir)).toEqual([]);
});

test('E3 a server that hangs and ignores SIGTERM is ended within the time a quit has, and nothing is signalled after', async () => {
  await open({ swallow: -1 });
  const pid = await startedPid();
  process.kill(pid, 'SIGSTOP');
  const report = await world.core.close(true, 8000);
  expect(report).toMatchObject({ stopped: 1, failed: [] });
  expect(isAlive(pid)).toBe(false);
});

test('with an audit that cannot be written nothing is signalled, and the person is told', async () => {
  await open();
  const pid = await orphan();
  await leaked(pid);
  renameSync(world.paths.auditFile, `${world.paths.auditFile}.old`);
  mkdirSync(world.paths.auditFile);
  const result = await reap(pid);
  expect(result.ok).toBe(false);
  expect(result.results).toMatchObject([{ outcome: 'refused', signals: [] }]);
  expect(result.results[0]?.message).toContain(world.paths.auditFile);
  expect(isAlive(pid)).toBe(true);
  await world.until('there is a fault', (roll) => roll.alerts.some(({ id }) => id === 'audit'));
  rmSync(world.paths.auditFile, { recursive: true });
  expect((await reap(pid)).ok).toBe(true);
});

/** Suspect for nothing but its grace. */
function standsAlone(pid: number): boolean {
  const server = world.server(pid);
  if (server?.standing !== 'suspect') return false;
  return server.checks.every(({ check, result }) =>
    check === 'grace' ? result === 'does-not-hold' : result === 'holds',
  );
}

test('C2 a clock that is set takes no part in the grace: it counts on the kernel’s own', async () => {
  await open({}, 3600);
  const pid = await orphan();
  await world.until('it is in its grace', () => standsAlone(pid));
  const real = Date.now;
  try {
    Date.now = () => real() + 8 * 3600 * 1000;
    await world.core.run({ command: 'look' }, 'app');
    expect(world.server(pid)?.standing).toBe('suspect');
  } finally {
    Date.now = real;
  }
});

test('a nested server and its wrapper are none of the outer one’s business', async () => {
  await open();
  const inner = installFake(join(folder, 'inner'));
  const shim = join(folder, 'shim');
  writeFileSync(
    join(folder, 'inner', 'opencode.js'),
    `require('node:child_process').spawn(${JSON.stringify(inner)}, ['serve', '--port', '0'], { cwd: ${JSON.stringify(join(folder, 'inner'))}, stdio: 'ignore' }); setInterval(() => {}, 1000);`,
  );
  mkdirSync(shim);
  renameSync(join(folder, 'inner', 'opencode.js'), join(shim, 'opencode'));
  const codex = installProgram(
    folder,
    'codex',
    'app-server',
    `require('node:child_process').spawn(process.env.NODE, [${JSON.stringify(join(shim, 'opencode'))}, 'serve', '--port', '0'], { stdio: 'ignore' }); setInterval(() => {}, 1000);`,
  );
  const outer = started.spawn(codex, ['app-server'], { cwd: folder, env: { ...process.env, NODE: process.execPath } });
  await world.until('the nested server is listed', (roll) =>
    roll.servers.some(({ kind, pids }) => kind === 'opencode' && pids.length === 2),
  );
  const nested = world.core.roll.servers.find(
    ({ kind, directory }) => kind === 'opencode' && directory === join(folder, 'inner'),
  );
  for (const pid of nested?.pids ?? []) started.note(pid);
  expect(nested?.standing).toBe('owned');
  expect((await reap(outer.pid, { confirmed: true, force: true })).ok).toBe(true);
  expect(isAlive(outer.pid)).toBe(false);
  expect(nested?.pids.filter((pid) => !isAlive(pid))).toEqual([]);
});
