/** Quitting at the worst moment: nothing that is not kept running stays, and what stays is told. */
import { mkdirSync, mkdtempSync, readdirSync, rmdirSync, rmSync, unlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { readAudit } from '../audit/audit.ts';
import { inlineLooker, type Looker } from '../hosts/local/look/looker.ts';
import { recognise } from '../servers/recognition/recognise.ts';
import { type Fake, installFake } from './testing/fake-opencode.ts';
import { isAlive, livingIn, Started, waitUntil } from './testing/processes.ts';
import { openWorld, type World } from './testing/world.ts';

let folder: string;
let started: Started;
let world: World;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'rollcall-quit-'));
  installFake(folder);
  started = new Started();
});
afterEach(async () => {
  await world.dispose();
  await started.endAll();
  await waitUntil('nothing is left', () => livingIn(folder).length === 0);
  rmSync(folder, { recursive: true, force: true });
});

/** Looks come so rarely that none is taken by itself. */
async function open(fake: Fake = {}, looker?: Looker): Promise<void> {
  const start = { opencode: { path: join(folder, 'opencode'), env: { FAKE: JSON.stringify(fake) } } };
  const config = { leak: { graceSeconds: 0 }, look: { intervalSeconds: 60 }, start };
  world = await openWorld({ config, ...(looker === undefined ? {} : { looker }) });
}

const begin = () =>
  world.core.run(
    { command: 'start', kind: 'opencode', directory: folder, port: null, forPid: null, keepRunning: false },
    'window',
  );

async function startOne(): Promise<{ id: string; pid: number }> {
  const result = await begin();
  if (!result.ok || result.server === null) throw new Error(JSON.stringify(result));
  started.note(result.server.pid);
  return result.server;
}

const records = () => readdirSync(world.paths.recordsDir);
const events = (event: string) => readAudit(world.paths.auditFile).filter((line) => line.event === event);

test('E3 a quit in the middle of a restart: the new server is not started any more', async () => {
  await open({ swallow: 1 });
  const { id } = await startOne();
  const restarting = world.core.run({ command: 'restart', server: id, force: true }, 'window');
  await world.until('it is being stopped', (roll) => roll.tasks.some(({ act }) => act === 'restart'));
  const report = await world.core.close(true, 60_000);
  expect(report.failed).toEqual([]);
  expect(await restarting).toMatchObject({ ok: false, failure: { code: 'quitting' } });
  expect(events('planned')).toHaveLength(1);
  expect(livingIn(folder)).toEqual([]);
  expect(records()).toEqual([]);
});

test('A7 a server that crashes as the quit begins takes its helper with it', async () => {
  await open({ helper: true, tool: true });
  const { pid } = await startOne();
  await world.core.run({ command: 'look' }, 'window');
  const helpers = livingIn(folder).filter((each) => each !== pid);
  expect(helpers.length).toBeGreaterThanOrEqual(3);
  process.kill(pid, 'SIGKILL');
  expect(await world.core.close(true, 60_000)).toMatchObject({ failed: [] });
  expect(helpers.filter(isAlive)).toEqual([]);
});

test('A7 a server that crashes between the last look of the quit and its ending takes its helper with it', async () => {
  let afterLook: () => void = () => undefined;
  const looker = inlineLooker(recognise);
  await open(
    { helper: true, tool: true },
    { ...looker, look: (...asked) => looker.look(...asked).finally(() => afterLook()) },
  );
  const { pid } = await startOne();
  await world.core.run({ command: 'look' }, 'window');
  const helpers = livingIn(folder).filter((each) => each !== pid);
  expect(helpers.length).toBeGreaterThanOrEqual(3);
  afterLook = () => {
    afterLook = () => undefined;
    process.kill(pid, 'SIGKILL');
  };
  expect(await world.core.close(true, 60_000)).toMatchObject({ failed: [] });
  expect(helpers.filter(isAlive)).toEqual([]);
});

test('C23 a record that was deleted since the last look does not save its server from a quit', async () => {
  await open();
  const { pid } = await startOne();
  for (const name of records()) unlinkSync(join(world.paths.recordsDir, name));
  expect(await world.core.close(true, 60_000)).toEqual({ stopped: 1, leftRunning: 0, failed: [] });
  expect(isAlive(pid)).toBe(false);
  expect(records()).toEqual([]);
});

test('a quit whose time is up in the middle of a start says so, for the guard to end what came of it', async () => {
  await open({ silent: true, swallow: -1 });
  const starting = begin();
  await waitUntil('it was spawned', () => events('started').length === 1);
  started.note(events('started')[0]?.pid ?? 0);
  const report = await world.core.close(true, 100);
  expect(report).toEqual({ stopped: 0, leftRunning: 0, failed: [expect.stringContaining(folder)] });
  await starting;
});

test('a start that could not be ended when it was given up is told by the quit, not passed over', async () => {
  await open({ silent: true });
  const starting = begin();
  await waitUntil('it was spawned', () => events('started').length === 1);
  const pid = started.note(events('started')[0]?.pid ?? 0);
  // No signal without a line of intent before it, and this is no file to write one to.
  unlinkSync(world.paths.auditFile);
  mkdirSync(world.paths.auditFile);
  const report = await world.core.close(true, 60_000);
  expect(report.stopped).toBe(0);
  expect(report.failed).toHaveLength(1);
  expect(report.failed[0]).toContain(world.paths.auditFile);
  expect(await starting).toMatchObject({ ok: false, failure: { code: 'quitting' } });
  expect(isAlive(pid)).toBe(true);
  rmdirSync(world.paths.auditFile);
  // Whoever comes next ends it by its record.
  world = await world.restart();
  expect(world.server(pid)?.standing).toBe('supervised');
  expect(await world.core.close(true, 60_000)).toMatchObject({ stopped: 1, failed: [] });
  expect(isAlive(pid)).toBe(false);
});
