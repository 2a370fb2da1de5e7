/** What happens to a server of ours that nobody asked to end, with real processes and real ends. */
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { readAudit } from '../../audit/audit.ts';
import type { CommandResult } from '../../roll/commands.ts';
import { type Fake, installFake } from '../testing/fake-opencode.ts';
import { isAlive, livingIn, Started, waitUntil } from '../testing/processes.ts';
import { openWorld, type World } from '../testing/world.ts';

let folder: string;
let started: Started;
let world: World;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'rollcall-life-'));
  installFake(folder);
  started = new Started();
});
afterEach(async () => {
  await world.dispose();
  await started.endAll();
  // A helper's own `sleep 0.2` may be in the middle of its sleep.
  await waitUntil('nothing is left', () => livingIn(folder).length === 0);
  rmSync(folder, { recursive: true, force: true });
});

const configOf = (fake: Fake, path: string, restart: object) => ({
  leak: { graceSeconds: 0 },
  look: { intervalSeconds: 0.5 },
  restart,
  start: { opencode: { path, env: { FAKE: JSON.stringify(fake) } } },
});

async function open(fake: Fake = {}, restart: object = {}, path = join(folder, 'opencode')): Promise<void> {
  world = await openWorld({ config: configOf(fake, path, restart) });
}

function start(port: number | null = null): Promise<CommandResult> {
  return world.core.run(
    { command: 'start', kind: 'opencode', directory: folder, port, forPid: null, keepRunning: false },
    'window',
  );
}

async function startedPid(port: number | null = null): Promise<number> {
  const result = await start(port);
  if (!result.ok || result.server === null) throw new Error(JSON.stringify(result));
  return started.note(result.server.pid);
}

const ended = () => world.core.roll.ended;
const pidfds = (): boolean => world.core.roll.hosts[0]?.signalling.method === 'pidfd';
const events = (event: string) => readAudit(world.paths.auditFile).filter((line) => line.event === event);
const records = () => readdirSync(world.paths.recordsDir);

/** The server that runs in the folder now, once it is not `pid`. */
async function successorOf(pid: number): Promise<number> {
  await world.until('it was started again', (roll) =>
    roll.servers.some(
      (server) => server.directory === folder && server.supervised?.state === 'ready' && server.pid !== pid,
    ),
  );
  return started.note(world.core.roll.servers.find((server) => server.directory === folder)?.pid ?? 0);
}

describe('a crash', () => {
  test('A7 A10 is told with its cause, what is left is ended, and the server is started again on its port', async () => {
    await open({ helper: true, tool: true });
    const pid = await startedPid();
    await world.until('its children are shown', () => (world.server(pid)?.processes.length ?? 0) >= 4);
    const before = world.server(pid);
    const children = (before?.processes ?? [])
      .filter(({ role }) => role === 'child')
      .map((row) => started.note(row.pid));
    const seen = new Set<string>();
    world.core.subscribe(({ leftovers }) => {
      for (const { command } of leftovers) seen.add(command);
    });
    process.kill(pid, 'SIGKILL');
    await world.until('it is told', () => ended().some(({ retryAt }) => retryAt !== null));
    expect(ended()[0]).toMatchObject({
      state: 'lost',
      why: expect.stringContaining('SIGKILL'),
      attempt: 1,
      attempts: 5,
      label: `opencode :${before?.listening[0]?.port} on local`,
    });
    expect(world.core.roll.alerts[0]).toMatchObject({ level: 'notice', act: 'start-again', ended: ended()[0]?.nonce });
    expect(events('exited')[0]?.text).toContain('SIGKILL');
    const next = await successorOf(pid);
    expect(children.filter(isAlive)).toEqual([]);
    // What is being swept after is nobody's leak; the deaf helper's own sleep may outlive it for a moment.
    expect([...seen].filter((command) => command !== 'sleep 0.2')).toEqual([]);
    expect(world.server(next)?.listening).toEqual(before?.listening);
    await world.until('it is settled', () => ended().length === 0 && records().length === 1);
    expect(world.core.roll.records).toEqual([]);
  });

  test('over and over is given up after the attempts allowed, with a fault and no storm', async () => {
    await open({ crashAfter: 300 }, { attempts: 2 });
    // Whether it still runs when the start is answered is a matter of luck.
    await start();
    await world.until('it is given up', () => ended().some(({ state }) => state === 'failed'));
    expect(events('planned')).toHaveLength(3);
    // Whether it had opened its port by then is a matter of luck, too.
    expect(ended()).toMatchObject([
      { attempt: 2, attempts: 2, why: expect.stringMatching(/\bcode 1\b/u), retryAt: null },
    ]);
    // Its log outlives it, by the number that the roll shows.
    const [gone] = ended();
    const log = await world.core.readLog(gone?.nonce ?? '');
    expect(log.path).toBe(gone?.logPath);
    expect(log.text).toMatch(/out of luck\n$/u);
    expect((await world.core.readLog('0b9f7c1e-5d0c-4c55-8a57-6f1e2d3c4b5a')).path).toBeNull();
    expect(world.core.roll.alerts).toMatchObject([{ level: 'fault', act: 'start-again' }]);
    await world.looks(5);
    expect(events('planned')).toHaveLength(3);
    expect(livingIn(folder)).toEqual([]);
  });

  test('A10 behind a wrapper that turns it into a clean exit is still known for what it was', async () => {
    const shim = join(folder, 'bin', 'opencode');
    mkdirSync(join(folder, 'bin'));
    writeFileSync(
      shim,
      `#!${process.execPath}\nconst child = require('node:child_process').spawn(${JSON.stringify(join(folder, 'opencode'))}, process.argv.slice(2), { stdio: 'inherit' });\nchild.on('exit', () => process.exit(0));\n`,
    );
    chmodSync(shim, 0o755);
    await open({}, { when: 'never' }, shim);
    const pid = await startedPid();
    process.kill(pid, 'SIGKILL');
    await world.until('it is told', () => ended().length === 1);
    // How a process ended that Rollcall did not start itself is known through a pidfd alone.
    const why = pidfds() ? expect.stringContaining('SIGKILL') : expect.any(String);
    expect(ended()[0]).toMatchObject({ state: 'lost', why, retryAt: null });
  });

  test('under a wrapper that lives on takes the wrapper with it, and both are started again', async () => {
    const shim = join(folder, 'bin', 'opencode');
    mkdirSync(join(folder, 'bin'));
    writeFileSync(
      shim,
      `#!${process.execPath}\nrequire('node:child_process').spawn(${JSON.stringify(join(folder, 'opencode'))}, process.argv.slice(2), { stdio: 'inherit' });\nprocess.on('SIGTERM', () => {});\nsetInterval(() => {}, 1000);\n`,
    );
    chmodSync(shim, 0o755);
    await open({}, {}, shim);
    const pid = await startedPid();
    await world.until('its wrapper is shown', () => world.server(pid)?.pids.length === 2);
    const wrapper = started.note(world.server(pid)?.pids[0] ?? 0);
    process.kill(pid, 'SIGKILL');
    // An end of unknown cause does not count as a crash, so nothing is restarted.
    if (!pidfds()) {
      await world.until('it is told', () => ended().length === 1);
      return await waitUntil('its wrapper has ended', () => livingIn(folder).length === 0);
    }
    const next = await successorOf(pid);
    expect(isAlive(wrapper)).toBe(false);
    expect(livingIn(folder).sort()).toEqual([...(world.server(next)?.pids ?? [])].sort());
  });

  test('of one that only its wrapper’s death leaves alone: the server goes on, supervised, and stops with its stop', async () => {
    const shim = join(folder, 'bin', 'opencode');
    mkdirSync(join(folder, 'bin'));
    writeFileSync(
      shim,
      `#!${process.execPath}\nrequire('node:child_process').spawn(${JSON.stringify(join(folder, 'opencode'))}, process.argv.slice(2), { stdio: 'inherit' });\nsetInterval(() => {}, 1000);\n`,
    );
    chmodSync(shim, 0o755);
    await open({}, {}, shim);
    const pid = await startedPid();
    await world.until('its wrapper is shown', () => world.server(pid)?.pids.length === 2);
    const wrapper = started.note(world.server(pid)?.pids[0] ?? 0);
    process.kill(wrapper, 'SIGKILL');
    await world.until('the wrapper is gone', () => world.server(pid)?.pids.length === 1);
    await waitUntil('it is told', () => events('wrapper-exited').length === 1);
    expect(world.server(pid)).toMatchObject({ standing: 'supervised', supervised: { state: 'ready' } });
    expect(ended()).toEqual([]);
    const stopped = await world.core.run({ command: 'stop', server: world.server(pid)?.id ?? '', force: false }, 'cli');
    expect(stopped.ok).toBe(true);
    expect(livingIn(folder)).toEqual([]);
  });
});

describe('an end that somebody meant', () => {
  test.each([
    ['a SIGTERM', {}, 'SIGTERM'],
    ['its own clean exit', { leaveAfter: 800 }, 'code 0'],
  ])('%s is told and not undone; a person can start it again or take it off the list', async (_, fake: Fake, why) => {
    await open(fake);
    const pid = await startedPid();
    if (fake.leaveAfter === undefined) process.kill(pid, 'SIGTERM');
    await world.until('it is told', () => ended().length === 1);
    expect(ended()[0]).toMatchObject({ state: 'lost', why: expect.stringContaining(why), retryAt: null, attempt: 0 });
    await world.looks(3);
    expect(events('planned')).toHaveLength(1);
    const nonce = ended()[0]?.nonce ?? '';
    const again = await world.core.run({ command: 'start-again', nonce }, 'window');
    if (!again.ok || again.server === null) throw new Error(JSON.stringify(again));
    started.note(again.server.pid);
    expect(isAlive(again.server.pid)).toBe(true);
    if (fake.leaveAfter === undefined) process.kill(again.server.pid, 'SIGTERM');
    await world.until('it has ended once more', () => ended().length === 1);
    const forgotten = await world.core.run({ command: 'forget', nonce: ended()[0]?.nonce ?? '' }, 'window');
    expect(forgotten.ok).toBe(true);
    expect(ended()).toEqual([]);
    expect(records()).toEqual([]);
    expect(world.core.roll.alerts).toEqual([]);
  });

  test('two who start it again at once get the same server', async () => {
    await open();
    const pid = await startedPid();
    process.kill(pid, 'SIGTERM');
    await world.until('it is told', () => ended().length === 1);
    const nonce = ended()[0]?.nonce ?? '';
    const again = () => world.core.run({ command: 'start-again', nonce }, 'window');
    const [first, second] = await Promise.all([again(), again()]);
    if (!first.ok || first.server === null) throw new Error(JSON.stringify(first));
    started.note(first.server.pid);
    expect(second).toEqual(first);
    expect(livingIn(folder)).toEqual([first.server.pid]);
  });

  test('a start of the same by a person settles what went away', async () => {
    await open();
    const pid = await startedPid();
    process.kill(pid, 'SIGTERM');
    await world.until('it is told', () => ended().length === 1);
    await startedPid();
    expect(ended()).toEqual([]);
    expect(records()).toHaveLength(1);
  });
});

describe('a restart', () => {
  async function occupy(port: number): Promise<() => void> {
    for (let attempt = 1; ; attempt += 1) {
      const holder = createServer();
      const error = await new Promise<unknown>((resolve) => {
        holder.once('error', resolve);
        holder.listen(port, '127.0.0.1', () => resolve(null));
      });
      if (error === null) return () => holder.close();
      // A process that was just killed may still be letting go of its sockets.
      if (attempt === 40) throw error;
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }

  test('A14 on a port that was asked for and is held by somebody else now fails at once, with the holder named', async () => {
    const probe = createServer();
    await new Promise<void>((resolve) => probe.listen(0, '127.0.0.1', resolve));
    const { port } = probe.address() as { port: number };
    await new Promise((resolve) => probe.close(resolve));
    await open();
    const pid = await startedPid(port);
    process.kill(pid, 'SIGKILL');
    const free = await occupy(port);
    try {
      await world.until('it is given up', () => ended().some(({ state }) => state === 'failed'));
      expect(ended()[0]?.why).toMatch(new RegExp(`${port}.*PID ${process.pid}\\b`, 'u'));
      expect(events('planned')).toHaveLength(1);
    } finally {
      free();
    }
  });

  test('of one that chose its port takes another when that is held', async () => {
    await open();
    const pid = await startedPid();
    const port = world.server(pid)?.listening[0]?.port ?? 0;
    process.kill(pid, 'SIGKILL');
    const free = await occupy(port);
    try {
      const next = await successorOf(pid);
      expect(world.server(next)?.listening[0]?.port).not.toBe(port);
    } finally {
      free();
    }
  });

  test('that waits for its time does not outlive a quit', async () => {
    await open({ crashAfter: 400 });
    await start();
    await world.until('it is to be started again', () => ended().some(({ retryAt }) => retryAt !== null));
    const announced = Date.parse(ended().find(({ retryAt }) => retryAt !== null)?.retryAt ?? '');
    await world.core.close(true, 5000);
    await waitUntil('the time of its restart is over', () => Date.now() > announced + 1000);
    expect(livingIn(folder)).toEqual([]);
    expect(events('planned')).toHaveLength(1);
  });

  test('is not made for an owner that is gone', async () => {
    await open();
    const owner = started.spawn('sleep', ['300']);
    const result = await world.core.run(
      { command: 'start', kind: 'opencode', directory: folder, port: null, forPid: owner.pid, keepRunning: false },
      'cli',
    );
    if (!result.ok || result.server === null) throw new Error(JSON.stringify(result));
    const pid = started.note(result.server.pid);
    process.kill(pid, 'SIGKILL');
    await world.until('it is to be started again', () => ended().some(({ retryAt }) => retryAt !== null));
    await started.kill(owner.pid);
    await world.until('it is given up', () => ended().some(({ state }) => state === 'failed'));
    expect(events('planned')).toHaveLength(1);
    expect(livingIn(folder)).toEqual([]);
  });
});

test('a server that hangs is unresponsive, is not restarted, and is ready again when it answers', async () => {
  await open();
  const pid = await startedPid();
  process.kill(pid, 'SIGSTOP');
  await world.until('it is seen', () => world.server(pid)?.supervised?.state === 'unresponsive');
  expect(events('planned')).toHaveLength(1);
  process.kill(pid, 'SIGCONT');
  await world.until('it answers again', () => world.server(pid)?.supervised?.state === 'ready');
  expect(world.server(pid)?.standing).toBe('supervised');
});

test('a replaced program and a changed start command are said, and nothing is restarted for them', async () => {
  await open();
  const pid = await startedPid();
  expect(world.server(pid)?.supervised?.outdated).toBe(null);
  const config = configOf({}, join(folder, 'opencode'), {});
  writeFileSync(
    world.paths.configFile,
    JSON.stringify({ ...config, start: { opencode: { ...config.start.opencode, args: ['--print-logs'] } } }),
  );
  const said = () => world.server(pid)?.supervised?.outdated ?? null;
  await world.until('the changed command is said', () => said() !== null);
  const command = said();
  unlinkSync(join(folder, 'opencode'));
  copyFileSync(process.execPath, join(folder, 'opencode'));
  await world.until('the new program is said, too', () => said() !== command);
  expect(events('planned')).toHaveLength(1);
  const restarted = await world.core.run(
    { command: 'restart', server: world.server(pid)?.id ?? '', force: false },
    'window',
  );
  if (!restarted.ok || restarted.server === null) throw new Error(JSON.stringify(restarted));
  started.note(restarted.server.pid);
  expect(world.server(restarted.server.pid)?.supervised?.outdated).toBe(null);
});

describe('a record that is harmed under a living server', () => {
  test.each([
    ['torn', (file: string) => writeFileSync(file, '{"version":2,"non'), 1],
    ['deleted', (file: string) => unlinkSync(file), 0],
    ['filled with NUL bytes', (file: string) => writeFileSync(file, Buffer.alloc(512)), 1],
    [
      'given another version',
      (file: string) => writeFileSync(file, readFileSync(file, 'utf8').replace('"version": 2', '"version": 99')),
      1,
    ],
    [
      'pointed at another process',
      (file: string) =>
        writeFileSync(
          file,
          readFileSync(file, 'utf8').replaceAll(/"(startTime|pidfdId)": "(linux:)?[^"]+"/gu, '"$1": "$21"'),
        ),
      1,
    ],
  ])('%s: it is written anew, and what was there is kept aside', async (_, harm, kept) => {
    await open();
    const pid = await startedPid();
    const file = join(world.paths.recordsDir, records()[0] ?? '');
    const before = JSON.parse(readFileSync(file, 'utf8'));
    harm(file);
    await waitUntil('it is told', () => events('record-restored').length === 1);
    expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual(before);
    expect(readdirSync(world.paths.setAsideDir)).toHaveLength(kept);
    await world.until('it is supervised', () => world.server(pid)?.standing === 'supervised');
    expect(world.core.roll.records).toEqual([]);
    expect(ended()).toEqual([]);
  });
});
