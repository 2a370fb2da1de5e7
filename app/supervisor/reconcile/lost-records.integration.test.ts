/** A server of ours outlives its record: the next writer finds it by its nonce and its log, and writes the record anew. */
import { randomUUID } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, unlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { readAudit } from '../../audit/audit.ts';
import { listRecords } from '../../records/files.ts';
import type { ServerRecord } from '../../records/schema.ts';
import { installFake, installProgram } from '../testing/fake-opencode.ts';
import { isAlive, Started } from '../testing/processes.ts';
import { openWorld, type World } from '../testing/world.ts';

/** A custom kind's server. */
const AGENT = `
require('node:http').createServer((_, res) => res.end('ready')).listen(Number(process.argv[2]), '127.0.0.1');
`;

let folder: string;
let started: Started;
let world: World;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'rollcall-lost-'));
  const path = installFake(folder);
  const agent = installProgram(folder, 'agentd', 'agent', AGENT);
  started = new Started();
  world = await openWorld({
    config: {
      leak: { graceSeconds: 0 },
      look: { intervalSeconds: 0.5 },
      start: { opencode: { path } },
      kinds: [
        {
          name: 'agent',
          program: agent,
          args: ['agent'],
          start: [agent, 'agent', '{port}'],
          health: { path: '/', contains: 'ready' },
        },
      ],
    },
  });
});
afterEach(async () => {
  await world.dispose();
  await started.endAll();
  rmSync(folder, { recursive: true, force: true });
});

async function start(kind = 'opencode'): Promise<{ pid: number; path: string; record: ServerRecord }> {
  const result = await world.core.run(
    { command: 'start', kind, directory: folder, port: null, forPid: null, keepRunning: false },
    'cli',
  );
  if (!result.ok || result.server === null) throw new Error(JSON.stringify(result));
  started.note(result.server.pid);
  const [file] = listRecords(world.paths.recordsDir);
  if (file?.record === null || file === undefined) throw new Error('no record');
  return { pid: result.server.pid, path: file.path, record: file.record };
}

const records = () => readdirSync(world.paths.recordsDir);
const adopted = () => readAudit(world.paths.auditFile).filter(({ event }) => event === 'adopted');

test.each<[string, (path: string) => void, number]>([
  ['deleted', (path) => unlinkSync(path), 0],
  ['torn', (path) => writeFileSync(path, readFileSync(path, 'utf8').slice(0, 200)), 1],
  ['emptied', (path) => writeFileSync(path, ''), 1],
])(
  'a %s record loses no server: it is written anew, the server is supervised and can be stopped',
  async (_, lose, aside) => {
    const { pid, path, record } = await start();
    await world.core.close(false, 1000);
    lose(path);
    world = await world.restart();
    expect(records()).toEqual([basename(path)]);
    expect(readdirSync(world.paths.setAsideDir)).toHaveLength(aside);
    const [file] = listRecords(world.paths.recordsDir);
    expect(file?.record).toMatchObject({
      nonce: record.nonce,
      state: 'bound',
      directory: folder,
      keepRunning: true,
      owner: null,
      spawned: record.spawned,
      server: record.server,
      listening: record.listening,
      command: record.command,
      logPath: record.logPath,
      readyAt: null,
    });
    expect(adopted()[0]).toMatchObject({ pid });
    const row = world.server(pid);
    expect(row).toMatchObject({ standing: 'supervised', supervised: { nonceSeen: true, keepRunning: true } });
    const stopped = await world.core.run({ command: 'stop', server: row?.id ?? '', force: false }, 'cli');
    expect(stopped.ok).toBe(true);
    expect(isAlive(pid)).toBe(false);
    expect(records()).toEqual([]);
  },
);

test('a server of a custom kind is found the same way', async () => {
  const { pid, path } = await start('agent');
  await world.core.close(false, 1000);
  unlinkSync(path);
  world = await world.restart();
  expect(world.server(pid)?.standing).toBe('supervised');
});

test('a server whose log is not in this state folder is somebody else’s and gets no record', async () => {
  const { pid, path, record } = await start();
  await world.core.close(false, 1000);
  unlinkSync(path);
  unlinkSync(record.logPath ?? '');
  world = await world.restart();
  expect(records()).toEqual([]);
  expect(world.server(pid)?.standing).not.toBe('supervised');
});

test('a record of a later version is no lost one: it stays byte for byte', async () => {
  const { path, record } = await start();
  await world.core.close(false, 1000);
  const later = JSON.stringify({ ...record, version: 99 });
  writeFileSync(path, later);
  world = await world.restart();
  expect(readFileSync(path, 'utf8')).toBe(later);
  expect(adopted()).toEqual([]);
});

test('what a gone server left behind with its nonce is no server and is not adopted', async () => {
  const { pid, path } = await start('agent');
  const nonce = basename(path, '.json');
  await world.core.close(false, 1000);
  await started.kill(pid);
  unlinkSync(path);
  const tool = started.spawn('sleep', ['346'], {
    env: { ...process.env, ROLLCALL_NONCE: nonce, ROLLCALL_KIND: 'agent' },
    detached: true,
  });
  world = await world.restart();
  expect(records()).toEqual([]);
  expect(isAlive(tool.pid)).toBe(true);
});

test('a nonce that is a path leads nowhere', async () => {
  const program = join(folder, 'opencode');
  const nonce = `../../${basename(folder)}/${randomUUID()}`;
  writeFileSync(join(folder, 'stray.log'), '');
  const server = started.spawn(program, ['serve', '--port', '0'], {
    cwd: folder,
    env: { ...process.env, ROLLCALL_NONCE: nonce, ROLLCALL_KIND: 'opencode' },
    detached: true,
  });
  world = await world.restart();
  expect(world.server(server.pid)).toBeDefined();
  expect(records()).toEqual([]);
});
