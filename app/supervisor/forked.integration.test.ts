/** Servers that fork their listeners: several processes of one program that share a port are seen to, or named. */
import { chmodSync, copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { PYTHON } from '../hosts/local/testing/processes.ts';
import { launchUnder } from './testing/fake-opencode.ts';
import { isAlive, Started } from './testing/processes.ts';
import { openWorld, type World } from './testing/world.ts';

/** Two workers hold the port of a master that has forked them and listens no longer itself. */
const SCRIPT = `
import os, socket, time
listener = socket.socket(); listener.bind(('127.0.0.1', 0)); listener.listen()
for _ in range(2):
    if os.fork() == 0: break
else:
    listener.close()
time.sleep(600)
`;

let folder: string;
let started: Started;
let world: World;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'rollcall-forked-'));
  copyFileSync(PYTHON, join(folder, 'opencode'));
  chmodSync(join(folder, 'opencode'), 0o755);
  started = new Started();
  world = await openWorld();
});
afterEach(async () => {
  await world.dispose();
  await started.endAll();
  rmSync(folder, { recursive: true, force: true });
});

async function launched(): Promise<number> {
  writeFileSync(join(folder, 'serve'), SCRIPT);
  const launcher = launchUnder(join(folder, 'opencode'), folder, {}, ['serve']);
  started.note(launcher.pid ?? 0);
  return started.pidFrom(launcher);
}

/** The workers of a master, once its row has them. */
async function workersOf(master: number): Promise<number[]> {
  await world.until('the workers are seen', () => (world.server(master)?.pids.length ?? 0) === 3);
  const workers = (world.server(master)?.pids ?? []).filter((pid) => pid !== master);
  for (const pid of workers) started.note(pid);
  return workers;
}

test('a master and the workers that it forked are one server, and end together', async () => {
  const master = await launched();
  const workers = await workersOf(master);
  const row = world.server(master);
  expect(row).toMatchObject({ pid: master, listening: [{ address: '127.0.0.1' }, { address: '127.0.0.1' }] });
  expect(row?.processes.map(({ role }) => role)).toEqual(['server', 'server', 'server']);
  expect(world.core.roll.servers.filter(({ pid }) => workers.includes(pid))).toEqual([]);
  const result = await world.core.run(
    { command: 'reap', targets: [row?.id ?? ''], confirmed: true, force: true },
    'cli',
  );
  expect(result.results).toMatchObject([{ pid: master, outcome: 'gone' }]);
  expect([master, ...workers].filter(isAlive)).toEqual([]);
});

test('a worker whose master is gone is named as long as it answers on the port of one that was reaped', async () => {
  const master = await launched();
  const [one = 0, other = 0] = await workersOf(master);
  await started.kill(master);
  await world.until('each has a row', () => world.server(one)?.pid === one && world.server(other)?.pid === other);
  const reap = (pid: number) =>
    world.core.run({ command: 'reap', targets: [world.server(pid)?.id ?? ''], confirmed: true, force: true }, 'cli');
  const first = await reap(one);
  expect(first.results).toMatchObject([
    { pid: one, outcome: 'survived', message: expect.stringContaining(`PID ${other}`) },
  ]);
  expect([isAlive(one), isAlive(other)]).toEqual([false, true]);
  expect((await reap(other)).results).toMatchObject([{ pid: other, outcome: 'gone' }]);
  expect(isAlive(other)).toBe(false);
});
