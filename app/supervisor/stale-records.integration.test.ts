/** Records whose process is not the recorded one: shown with a verdict, moved aside, and never a reason to signal. */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { readAudit } from '../audit/audit.ts';
import { python, SPAWN_AT } from '../hosts/local/testing/processes.ts';
import { installFake } from './testing/fake-opencode.ts';
import { isAlive, Started, waitUntil } from './testing/processes.ts';
import { openWorld, type World } from './testing/world.ts';

let folder: string;
let started: Started;
let world: World;

/** Writes each signal it gets to a file, and keeps running. */
const WITNESS = `
import signal, sys, time
out = open(sys.argv[1], 'a', buffering=1)
for number in range(1, 65):
    try: signal.signal(number, lambda n, frame: out.write(f'{n}\\n'))
    except (OSError, ValueError): pass
out.write('ready\\n')
while True: time.sleep(60)
`;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'rollcall-stale-'));
  const path = installFake(folder);
  started = new Started();
  world = await openWorld({
    config: { leak: { graceSeconds: 0 }, look: { intervalSeconds: 0.5 }, start: { opencode: { path } } },
  });
});
afterEach(async () => {
  await world.dispose();
  await started.endAll();
  rmSync(folder, { recursive: true, force: true });
});

async function start(): Promise<{ id: string; pid: number }> {
  const result = await world.core.run(
    { command: 'start', kind: 'opencode', directory: folder, port: null, forPid: null, keepRunning: false },
    'cli',
  );
  if (!result.ok || result.server === null) throw new Error(JSON.stringify(result));
  started.note(result.server.pid);
  return result.server;
}

const stale = () => world.core.roll.records;
const records = () => readdirSync(world.paths.recordsDir);

test('C1 a record whose PID belongs to an innocent process: zero signals from stop, restart, reap, start, clear and quit', async (context) => {
  const log = join(folder, 'signals');
  const { id, pid } = await start();
  await world.core.close(false, 1000);
  await started.kill(pid);
  await waitUntil('the number is free', () => !existsSync(`/proc/${pid}`));
  const spawner = python(
    `${SPAWN_AT}
import sys, time
try: print(spawn_at(int(sys.argv[1]), ['/usr/bin/python3', '-c', sys.argv[2], sys.argv[3]]), flush=True)
except OSError as error: print(error, flush=True)
time.sleep(600)
`,
    [String(pid), WITNESS, log],
  );
  const made = await spawner.line();
  if (made !== String(pid)) context.skip(`this machine does not let a PID be chosen: ${made}`);
  started.note(pid);
  await waitUntil('the stranger is ready', () => existsSync(log) && readFileSync(log, 'utf8') === 'ready\n');

  world = await world.restart();
  expect(stale()).toMatchObject([
    { pid, verdict: 'reused', clearable: true, detail: expect.stringMatching(/\bpython3\b/u) },
  ]);
  for (const command of ['stop', 'restart'] as const) {
    expect(await world.core.run({ command, server: id, force: true }, 'window')).toMatchObject({
      ok: false,
      failure: { code: 'not-found' },
    });
  }
  const reaped = await world.core.run({ command: 'reap', targets: [id], confirmed: true, force: true }, 'window');
  expect(reaped.results.flatMap(({ signals }) => signals)).toEqual([]);

  const [entry] = stale();
  const cleared = await world.core.run(
    { command: 'clear', path: entry?.path ?? '', sha256: entry?.sha256 ?? '' },
    'window',
  );
  expect(cleared.ok).toBe(true);
  expect(records()).toEqual([]);
  expect(readdirSync(world.paths.setAsideDir)).toHaveLength(1);
  const next = await start();
  expect(next.pid).not.toBe(pid);
  world = await world.restart();
  await world.core.close(true, 60_000);
  expect(isAlive(next.pid)).toBe(false);
  expect(readFileSync(log, 'utf8')).toBe('ready\n');
  const signalled = readAudit(world.paths.auditFile)
    .filter(({ event }) => event === 'signal-intent')
    .map((line) => line.pid);
  expect(signalled).not.toContain(pid);
});

test('C16 a stale record of the same server is moved aside by the next start, without a wait and without a signal', async () => {
  const { pid } = await start();
  const [name] = records();
  await world.core.close(false, 1000);
  await started.kill(pid);
  await waitUntil('it has been collected', () => !existsSync(`/proc/${pid}`));
  world = await world.restart();
  expect(['gone', 'zombie']).toContain(stale()[0]?.verdict);
  const next = await start();
  expect(next.pid).not.toBe(pid);
  expect(records()).toHaveLength(1);
  expect(records()).not.toEqual([name]);
  expect(readdirSync(world.paths.setAsideDir)).toHaveLength(1);
});

test('C17 a record of an earlier boot is gone, whoever has its PID now', async () => {
  const { pid } = await start();
  const [name] = records();
  const file = join(world.paths.recordsDir, name ?? '');
  await world.core.close(false, 1000);
  writeFileSync(
    file,
    readFileSync(file, 'utf8').replaceAll(/"bootId": "[^"]+"/gu, '"bootId": "00000000-0000-4000-8000-000000000000"'),
  );
  world = await world.restart();
  expect(stale()).toMatchObject([{ verdict: 'gone' }]);
  expect(isAlive(pid)).toBe(true);
});

test('C3 a record of an earlier boot whose PID is another program now: the app starts, a start succeeds, nobody is signalled', async () => {
  const log = join(folder, 'signals');
  const { pid } = await start();
  await started.kill(pid);
  await world.core.close(false, 1000);
  const stranger = started.spawn('python3', ['-c', WITNESS, log]);
  await waitUntil('the stranger is ready', () => existsSync(log) && readFileSync(log, 'utf8') === 'ready\n');
  const [name] = records();
  const file = join(world.paths.recordsDir, name ?? '');
  const record = JSON.parse(readFileSync(file, 'utf8')) as Record<string, { identity: object }>;
  const earlier = (ref: { identity: object } | undefined) => ({
    ...ref,
    identity: { ...ref?.identity, bootId: '00000000-0000-4000-8000-000000000000', pid: stranger.pid },
  });
  writeFileSync(
    file,
    JSON.stringify({ ...record, spawned: earlier(record['spawned']), server: earlier(record['server']) }),
  );

  world = await world.restart();
  expect(stale()).toMatchObject([{ pid: stranger.pid, verdict: 'gone', clearable: true }]);
  const next = await start();
  expect(isAlive(next.pid)).toBe(true);
  expect(records()).toHaveLength(1);
  expect(records()).not.toEqual([name]);
  expect(readdirSync(world.paths.setAsideDir)).toHaveLength(1);
  const lines = readAudit(world.paths.auditFile).filter(({ event }) => event === 'set-aside');
  expect(lines).toMatchObject([{ text: expect.stringContaining(world.paths.setAsideDir) }]);
  await world.core.close(true, 60_000);
  expect(readFileSync(log, 'utf8')).toBe('ready\n');
  expect(isAlive(stranger.pid)).toBe(true);
  world = await world.restart();
});

test('a record of another host is kept where it is, and a start goes on beside it', async () => {
  const { pid } = await start();
  const [name] = records();
  const file = join(world.paths.recordsDir, name ?? '');
  await world.core.close(false, 1000);
  writeFileSync(file, readFileSync(file, 'utf8').replaceAll(/"hostId": "[^"]+"/gu, '"hostId": "another"'));
  world = await world.restart();
  expect(stale()).toMatchObject([{ verdict: 'foreign' }]);
  expect(stale()).toMatchObject([{ clearable: false, keptBecause: expect.stringMatching(/another host/u) }]);
  const next = await start();
  expect(next.pid).not.toBe(pid);
  expect(records()).toHaveLength(2);
});

test('C24 a record that changed since it was judged is not moved', async () => {
  const { pid } = await start();
  await world.core.close(false, 1000);
  await started.kill(pid);
  await waitUntil('it has been collected', () => !existsSync(`/proc/${pid}`));
  world = await world.restart();
  expect(stale()).toHaveLength(1);
  const [entry] = stale();
  writeFileSync(entry?.path ?? '', `${readFileSync(entry?.path ?? '', 'utf8')}\n`);
  const result = await world.core.run(
    { command: 'clear', path: entry?.path ?? '', sha256: entry?.sha256 ?? '' },
    'cli',
  );
  expect(result).toMatchObject({ ok: false, failure: { code: 'changed' } });
  expect(records()).toHaveLength(1);
});
