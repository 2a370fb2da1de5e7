/**
 * The ways in which an owner can go away on this machine, each with the processes counted before and after. What the app
 * itself goes through (signals, the session's end, SIGKILL) is in e2e and app/guard; crashes are in lifecycle.
 */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { readAudit } from '../audit/audit.ts';
import type { CommandResult } from '../roll/commands.ts';
import { type Fake, installFake } from './testing/fake-opencode.ts';
import { isAlive, livingIn, Started, waitUntil } from './testing/processes.ts';
import { openWorld, type World } from './testing/world.ts';

let folder: string;
let started: Started;
let world: World;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'rollcall-teardown-'));
  installFake(folder);
  started = new Started();
});
afterEach(async () => {
  await world.dispose();
  await started.endAll();
  await waitUntil('nothing is left', () => livingIn(folder).length === 0);
  rmSync(folder, { recursive: true, force: true });
});

async function open(fake: Fake = {}, config: object = {}): Promise<void> {
  const start = { opencode: { path: join(folder, 'opencode'), env: { FAKE: JSON.stringify(fake) } } };
  world = await openWorld({ config: { leak: { graceSeconds: 0 }, look: { intervalSeconds: 0.5 }, start, ...config } });
}

/** Starts one in a folder of its own. */
async function start(
  name: string,
  change: { forPid?: number; keepRunning?: boolean } = {},
): Promise<{ id: string; pid: number }> {
  const directory = join(folder, name);
  installFake(directory);
  const result = await world.core.run(
    { command: 'start', kind: 'opencode', directory, port: null, forPid: null, keepRunning: false, ...change },
    'window',
  );
  if (!result.ok || result.server === null) throw new Error(JSON.stringify(result));
  started.note(result.server.pid);
  return result.server;
}

const records = () => readdirSync(world.paths.recordsDir);
const signals = () => readAudit(world.paths.auditFile).filter(({ event }) => event === 'signal-outcome');
const stop = (server: string): Promise<CommandResult> =>
  world.core.run({ command: 'stop', server, force: true }, 'window');

/** The children of a server as the roll shows them, once there are at least so many processes. */
async function familyOf(pid: number, least: number): Promise<number[]> {
  await world.until('its children are shown', () => (world.server(pid)?.processes.length ?? 0) >= least);
  return (world.server(pid)?.processes ?? []).map((row) => started.note(row.pid));
}

test('a person stops it: server, tool shell and deaf helper are gone, and the neighbour is not', async () => {
  await open({ tool: true, helper: true });
  const { id, pid } = await start('one');
  const other = await start('two');
  const family = await familyOf(pid, 5);
  const neighbours = await familyOf(other.pid, 5);
  expect(family.filter(isAlive).length).toBeGreaterThanOrEqual(5);
  expect(await stop(id)).toMatchObject({ ok: true, results: [{ outcome: 'gone' }] });
  expect(livingIn(join(folder, 'one'))).toEqual([]);
  expect(isAlive(other.pid)).toBe(true);
  // The helper's own `sleep 0.2` comes and goes.
  expect(neighbours.filter(isAlive).length).toBeGreaterThanOrEqual(4);
  expect(records()).toHaveLength(1);
});

test('stopped, reaped and quit all at once: one ending, each process signalled as by one, everybody told the same', async () => {
  await open({ helper: true });
  const { id, pid } = await start('one');
  await familyOf(pid, 2);
  const reap = () => world.core.run({ command: 'reap', targets: [id], confirmed: true, force: true }, 'tray');
  const all = [stop(id), stop(id), reap(), stop(id), reap()];
  // They are all under way before the quit begins.
  await world.until('the ending is under way', (roll) => roll.tasks.some(({ state }) => state === 'running'));
  const report = await world.core.close(true, 60_000);
  expect(report.failed).toEqual([]);
  const answers = await Promise.all(all);
  for (const answer of answers) {
    // Whoever comes when it is over is told so; nobody is told of a failure.
    if (!answer.ok) expect(['not-found', 'quitting']).toContain(answer.failure.code);
  }
  expect(answers.filter(({ ok }) => ok).length).toBeGreaterThanOrEqual(1);
  expect(livingIn(folder)).toEqual([]);
  expect(records()).toEqual([]);
  expect(signals().filter((line) => line.pid === pid && line.signal === 'SIGTERM')).toHaveLength(1);
});

test('teardown of nothing is a quiet no-op: stopped twice, reaped twice, quit twice', async () => {
  await open();
  const { id, pid } = await start('one');
  expect((await stop(id)).ok).toBe(true);
  const before = signals().length;
  expect(await stop(id)).toMatchObject({ ok: false, failure: { code: 'not-found' } });
  const again = await world.core.run({ command: 'reap', targets: [id], confirmed: true, force: true }, 'cli');
  expect(again).toMatchObject({ ok: true, results: [{ outcome: 'gone', signals: [] }] });
  expect(
    await world.core.run({ command: 'reap', targets: 'leaked', confirmed: true, force: false }, 'cli'),
  ).toMatchObject({ ok: true, results: [] });
  expect(await world.core.close(true, 60_000)).toEqual({ stopped: 0, leftRunning: 0, failed: [] });
  expect(await world.core.close(true, 60_000)).toEqual({ stopped: 0, leftRunning: 0, failed: [] });
  expect(signals()).toHaveLength(before);
  expect(isAlive(pid)).toBe(false);
});

test.each([
  ['a terminal’s shell that exits', 'SIGTERM'],
  ['an editor that is killed', 'SIGKILL'],
] as const)('its owner goes away (%s): the server and its children follow, others stay', async (_, signal) => {
  await open({ helper: true });
  const owner = started.spawn('sleep', ['300']);
  const { pid } = await start('one', { forPid: owner.pid });
  const kept = await start('two');
  const family = await familyOf(pid, 2);
  process.kill(owner.pid, signal);
  await waitUntil('the server has followed', () => family.filter(isAlive).length === 0);
  await waitUntil('its record is gone', () => records().length === 1);
  expect(isAlive(kept.pid)).toBe(true);
  expect(world.core.roll.ended).toEqual([]);
});

test('an owner that went away while nothing of Rollcall ran is noticed at the next start', async () => {
  await open();
  const owner = started.spawn('sleep', ['300']);
  const { pid } = await start('one', { forPid: owner.pid, keepRunning: true });
  await world.core.close(true, 60_000);
  expect(isAlive(pid)).toBe(true);
  await started.kill(owner.pid);
  world = await world.restart();
  await waitUntil('the server has followed', () => !isAlive(pid));
  await waitUntil('its record is gone', () => records().length === 0);
});

test('the app quits: what is not kept running ends, all at once; what is kept stays with its children and its record', async () => {
  await open({ helper: true });
  const servers = [await start('one'), await start('two'), await start('three')];
  const kept = await start('kept', { keepRunning: true });
  const family = await familyOf(kept.pid, 2);
  const report = await world.core.close(true, 60_000);
  expect(report).toEqual({ stopped: 3, leftRunning: 1, failed: [] });
  expect(servers.filter(({ pid }) => isAlive(pid))).toEqual([]);
  expect(livingIn(join(folder, 'one'))).toEqual([]);
  expect(family.filter(isAlive).length).toBeGreaterThanOrEqual(2);
  expect(records()).toHaveLength(1);
  world = await world.restart();
  expect(world.server(kept.pid)?.standing).toBe('supervised');
});

test('the app quits with the setting that stops nothing: everything stays', async () => {
  await open({}, { quit: { stopLocalServers: false } });
  const { pid } = await start('one');
  const report = await world.core.close(false, 5000);
  expect(report).toEqual({ stopped: 0, leftRunning: 1, failed: [] });
  expect(isAlive(pid)).toBe(true);
  world = await world.restart();
  expect(world.server(pid)?.standing).toBe('supervised');
});

test('B19 ten starts and stops leave no descriptor of ours behind', async () => {
  await open();
  const round = async (): Promise<void> => {
    const { id } = await start('one');
    expect((await stop(id)).ok).toBe(true);
  };
  for (let count = 0; count < 2; count += 1) await round();
  const descriptors = () => readdirSync('/proc/self/fd').length;
  const before = descriptors();
  for (let count = 0; count < 10; count += 1) await round();
  await waitUntil('descriptors are as few as before', () => descriptors() <= before + 3);
});
