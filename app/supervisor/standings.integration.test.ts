/** Standings of real processes: who is leaked, and above all who is not. */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { readAudit } from '../audit/audit.ts';
import { leakedTotals } from '../text/words.ts';
import { type Fake, installFake, installProgram, launchUnder } from './testing/fake-opencode.ts';
import { exitOf, isAlive, Started, waitUntil } from './testing/processes.ts';
import { openWorld, type World } from './testing/world.ts';

const ROOT = process.getuid?.() === 0;
const IDLE = 'setInterval(() => {}, 1000);';
/** Where a test may make a cgroup: cgroup 2, alone or beside version 1. */
const CGROUPS = ['/sys/fs/cgroup/unified', '/sys/fs/cgroup'].find((path) => existsSync(join(path, 'cgroup.procs')));

let folder: string;
let program: string;
let started: Started;
let world: World;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'rollcall-standing-'));
  program = installFake(folder);
  started = new Started();
  world = await openWorld();
});
afterEach(async () => {
  await world.dispose();
  await started.endAll();
  rmSync(folder, { recursive: true, force: true });
});

/** Starts a server under a launcher and kills the launcher. */
async function orphan(fake: Fake = {}, path = program, args?: readonly string[]): Promise<number> {
  const launcher = launchUnder(path, folder, fake, args);
  const launcherPid = started.note(launcher.pid ?? 0);
  const pid = await started.pidFrom(launcher);
  await started.kill(launcherPid);
  return pid;
}

const standing = (pid: number) => world.server(pid)?.standing;
const reapPids = async (pids: readonly number[], consent = { confirmed: true, force: true }) => {
  const targets = pids.map((pid) => world.server(pid)?.id ?? '').filter((id) => id !== '');
  return world.core.run({ command: 'reap', targets, ...consent }, 'cli');
};

test('A5 several orphans are each shown with age, memory and reasons, and summed; a TUI is not among them', async () => {
  const tui = started.spawn(program, [], { cwd: folder, stdio: ['pipe', 'ignore', 'ignore'] });
  const pids = [await orphan(), await orphan(), await orphan()];
  await world.until('all are leaked', () => pids.every((pid) => standing(pid) === 'leaked'));
  const rows = world.core.roll.servers.filter(({ pid }) => pids.includes(pid));
  for (const row of rows) {
    expect(row.memoryBytes).toBeGreaterThan(1_000_000);
    expect(Date.parse(row.startedAt)).toBeLessThanOrEqual(Date.now());
    expect(row.checks.every(({ result }) => result === 'holds')).toBe(true);
  }
  const totals = leakedTotals({ servers: rows, leftovers: [] });
  expect(totals.servers).toBe(3);
  expect(totals.memoryBytes).toBe(rows.reduce((sum, row) => sum + row.memoryBytes, 0));
  const byCost = totals.ids.map((id) => rows.find((row) => row.id === id)?.memoryBytes ?? 0);
  expect(byCost).toEqual([...byCost].sort((a, b) => b - a));
  expect(world.server(tui.pid)).toBeUndefined();
});

test('B1 a codex app-server whose owner is gone is leaked; codex and codex exec are no servers', async () => {
  const listens = `${IDLE} require('node:http').createServer((req, res) => { res.statusCode = req.url === '/healthz' ? 200 : 400; res.end(); }).listen(0, '127.0.0.1');`;
  const codex = installProgram(folder, 'codex', 'app-server', listens);
  writeFileSync(join(folder, 'exec'), IDLE);
  const exec = started.spawn(codex, ['exec', 'do it'], { cwd: folder });
  const tui = started.spawn(codex, [], { cwd: folder, stdio: ['pipe', 'ignore', 'ignore'] });
  const pid = await orphan({}, codex, ['app-server', '--listen', 'ws://127.0.0.1:0']);
  await world.until('it is leaked', () => standing(pid) === 'leaked');
  expect(world.server(pid)?.kind).toBe('codex');
  expect(world.server(pid)?.busySign).toMatch(/CPU below/u);
  expect(world.server(exec.pid)).toBeUndefined();
  expect(world.server(tui.pid)).toBeUndefined();
  expect((await reapPids([pid], { confirmed: false, force: false })).ok).toBe(true);
  expect([exec.pid, tui.pid].every(isAlive)).toBe(true);
});

test('B2 of three `claude mcp serve` only the one whose parent is dead is reapable', async () => {
  const claude = installProgram(folder, 'claude', 'mcp', IDLE);
  const codex = installProgram(
    folder,
    'codex',
    'app-server',
    `require('node:child_process').spawn(${JSON.stringify(claude)}, ['mcp', 'serve'], { stdio: 'ignore' }); ${IDLE}`,
  );
  const server = started.spawn(codex, ['app-server'], { cwd: folder, detached: true });
  const ide = launchUnder(claude, folder, {}, ['mcp', 'serve']);
  started.note(ide.pid ?? 0);
  const ofIde = await started.pidFrom(ide);
  const dead = await orphan({}, claude, ['mcp', 'serve']);
  await world.until('the orphan is leaked', () => standing(dead) === 'leaked');
  await world.until('the server shows its helper', () => (world.server(server.pid)?.processes.length ?? 0) === 2);
  for (const { pid } of world.server(server.pid)?.processes ?? []) started.note(pid);
  expect(standing(ofIde)).toBe('owned');
  const plan = await world.core.plan('leaked');
  const planned = plan.rows.flatMap(({ steps }) => steps.map(({ pid }) => pid));
  expect(planned).toContain(dead);
  expect(planned).not.toContain(ofIde);
  const helper = world.server(server.pid)?.processes[1]?.pid ?? 0;
  expect(planned).not.toContain(helper);
  await reapPids([dead], { confirmed: false, force: false });
  expect([dead, ofIde, helper].map(isAlive)).toEqual([false, true, true]);
});

/** A cgroup is busy until its last process has been collected. */
function removed(unit: string): boolean {
  try {
    rmdirSync(unit);
    return true;
  } catch {
    return false;
  }
}

describe('B5 what somebody meant to stay', () => {
  test('under nohup is detached: not in "reap all", reaped by name only', async () => {
    const shell = started.spawn('/bin/bash', [
      '-c',
      `cd ${folder} && nohup ${program} serve --port 0 >/dev/null 2>&1 & sleep 0.3`,
    ]);
    await exitOf(shell);
    await world.until('it is detached', (roll) =>
      roll.servers.some(({ directory, standing: is }) => directory === folder && is === 'detached'),
    );
    const row = world.core.roll.servers.find(({ directory }) => directory === folder);
    const pid = started.note(row?.pid ?? 0);
    const plan = await world.core.plan('leaked');
    expect(plan.rows.map(({ id }) => id)).not.toContain(row?.id);
    const unasked = await reapPids([pid], { confirmed: false, force: false });
    expect(unasked.results).toMatchObject([{ outcome: 'refused', signals: [] }]);
    expect(isAlive(pid)).toBe(true);
    expect((await reapPids([pid], { confirmed: true, force: false })).results).toMatchObject([{ outcome: 'gone' }]);
  });

  test('in a .service cgroup is a service, and takes a force', async (context) => {
    if (!ROOT || CGROUPS === undefined) context.skip('a cgroup can be made only by root, under cgroup 2');
    const unit = join(CGROUPS ?? '', `rollcall-test-${process.pid}.service`);
    mkdirSync(unit);
    try {
      const pid = await orphan();
      writeFileSync(join(unit, 'cgroup.procs'), String(pid));
      await world.until('it is a service', () => standing(pid) === 'service');
      expect(world.server(pid)?.reasons[0]).toMatch(/rollcall-test-\d+\.service/u);
      const asked = await reapPids([pid], { confirmed: true, force: false });
      expect(asked.results).toMatchObject([{ outcome: 'refused', signals: [] }]);
      expect(isAlive(pid)).toBe(true);
      await started.kill(pid);
    } finally {
      await waitUntil('the cgroup can be removed', () => removed(unit));
    }
  });
});

test('C5 a server in its shell’s process group dies alone: shell, siblings and this process survive', async () => {
  const shell = started.spawn(
    '/bin/bash',
    ['-c', `sleep 333 & cd ${folder}; ${program} serve --port 0 & echo $! > pid; wait`],
    { detached: true },
  );
  await waitUntil(
    'the server was started',
    () => existsSync(join(folder, 'pid')) && readFileSync(join(folder, 'pid'), 'utf8').endsWith('\n'),
  );
  const pid = started.note(Number(readFileSync(join(folder, 'pid'), 'utf8')));
  await world.until('it is listed', () => standing(pid) !== undefined);
  const group = execFileSync('ps', ['-o', 'pid=', '-g', String(shell.pid)], { encoding: 'utf8' })
    .trim()
    .split(/\s+/u)
    .map(Number);
  const siblings = group.filter((each) => each !== pid && started.note(each) > 0);
  expect(siblings.length).toBeGreaterThanOrEqual(2);
  expect((await reapPids([pid])).results).toMatchObject([{ outcome: 'gone' }]);
  expect(isAlive(pid)).toBe(false);
  expect(siblings.filter((each) => !isAlive(each))).toEqual([]);
});

test('a server with a client is suspect and names the client; when the client goes it is leaked', async () => {
  const pid = await orphan();
  await world.until('its port is seen', () => (world.server(pid)?.listening.length ?? 0) > 0);
  const port = world.server(pid)?.listening[0]?.port ?? 0;
  const client = started.spawn(process.execPath, [
    '-e',
    `require('node:net').connect(${port}, '127.0.0.1'); setInterval(() => {}, 1000);`,
  ]);
  await world.until(
    'the client is seen',
    () => world.server(pid)?.clients?.some((each) => each.pid === client.pid) ?? false,
  );
  expect(standing(pid)).toBe('suspect');
  expect(world.server(pid)?.reasons.join('; ')).toContain(`PID ${client.pid}`);
  await started.kill(client.pid);
  await world.until('it is leaked', () => standing(pid) === 'leaked');
});

test('a busy session seen on the event stream keeps an ownerless server out of reach of "reap all"', async () => {
  const pid = await orphan({ busy: true });
  await world.until('it is busy', () => world.server(pid)?.busy === 'busy');
  expect(standing(pid)).toBe('suspect');
  expect((await reapPids([pid], { confirmed: true, force: false })).results).toMatchObject([{ outcome: 'refused' }]);
  expect(isAlive(pid)).toBe(true);
});

test('another user’s server is shown and never signalled, also when we are root', async (context) => {
  if (!ROOT) context.skip('only root can start a process as another user');
  execFileSync('chmod', ['755', folder]);
  const other = started.spawn(program, ['serve', '--port', '0'], {
    cwd: folder,
    uid: 65534,
    gid: 65534,
    detached: true,
  });
  await world.until('it is listed', () => world.server(other.pid) !== undefined);
  expect(world.server(other.pid)?.reap).toMatchObject({ allowed: 'no' });
  expect((await reapPids([other.pid])).results).toMatchObject([{ outcome: 'refused', signals: [] }]);
  expect(isAlive(other.pid)).toBe(true);
});

test('leftovers of a dead server are found by its mark and reaped; its descendants’ strangers are not', async () => {
  const pid = await orphan({ tool: true, helper: true });
  await world.until('its children are seen', () => (world.server(pid)?.processes.length ?? 0) >= 5);
  const children = (world.server(pid)?.processes ?? [])
    .filter(({ role }) => role === 'child')
    .map((row) => started.note(row.pid));
  await started.kill(pid);
  await world.until('leftovers are listed', (roll) => roll.leftovers.filter(({ ofPid }) => ofPid === pid).length >= 2);
  const leftovers = world.core.roll.leftovers.filter(({ ofPid }) => ofPid === pid);
  expect(leftovers.map(({ reap }) => reap.allowed)).toEqual(leftovers.map(() => 'yes'));
  const result = await world.core.run(
    { command: 'reap', targets: leftovers.map(({ id }) => id), confirmed: false, force: false },
    'window',
  );
  expect(result.ok).toBe(true);
  expect(children.filter(isAlive)).toEqual([]);
  const signalled = readAudit(world.paths.auditFile)
    .filter(({ event }) => event === 'signal-intent')
    .map((line) => line.pid);
  expect(signalled).not.toContain(process.pid);
});
