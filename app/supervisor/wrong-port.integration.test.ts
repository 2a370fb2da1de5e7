/** Records whose port and whose process are no longer the same server’s. */
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { installFake } from './testing/fake-opencode.ts';
import { isAlive, Started, waitUntil } from './testing/processes.ts';
import { openWorld, type World } from './testing/world.ts';

let folder: string;
let program: string;
let started: Started;
let world: World;
let stranger: Server;
let requests: string[];

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'rollcall-port-'));
  program = installFake(folder);
  started = new Started();
  requests = [];
  // It would pass for an opencode, and must not even be asked.
  stranger = createServer((request, response) => {
    requests.push(request.url ?? '');
    response.end('{"healthy":true,"version":"9.9.9"}');
  }).listen(0, '127.0.0.1');
  await once(stranger, 'listening');
  world = await openWorld({
    config: { leak: { graceSeconds: 0 }, look: { intervalSeconds: 0.5 }, start: { opencode: { path: program } } },
  });
});
afterEach(async () => {
  await world.dispose();
  await started.endAll();
  stranger.close();
  rmSync(folder, { recursive: true, force: true });
});

async function start(): Promise<{ readonly id: string; readonly pid: number }> {
  const result = await world.core.run(
    { command: 'start', kind: 'opencode', directory: folder, port: null, forPid: null, keepRunning: false },
    'cli',
  );
  if (!result.ok || result.server === null) throw new Error(JSON.stringify(result));
  started.note(result.server.pid);
  return result.server;
}

/** Writes another port into the one record there is. */
function recordPort(port: number): void {
  const [name] = readdirSync(world.paths.recordsDir);
  const file = join(world.paths.recordsDir, name ?? '');
  const record = JSON.parse(readFileSync(file, 'utf8')) as { listening: { port: number } };
  record.listening.port = port;
  writeFileSync(file, JSON.stringify(record));
}

const portOfStranger = (): number => (stranger.address() as AddressInfo).port;

test('C25 the recorded process lives, the recorded port is a stranger’s: the stranger is neither asked nor shown', async () => {
  const { id, pid } = await start();
  const port = world.server(pid)?.listening[0]?.port ?? 0;
  await world.core.close(false, 1000);
  recordPort(portOfStranger());
  world = await world.restart();
  await world.until('it is healthy', () => world.server(pid)?.health === 'ok');
  expect(world.server(pid)).toMatchObject({ id, version: '0.0.0-fake', listening: [{ port }] });
  expect(world.server(pid)?.url ?? '').toContain(String(port));
  expect((await world.core.run({ command: 'stop', server: id, force: false }, 'window')).ok).toBe(true);
  expect(isAlive(pid)).toBe(false);
  expect(requests).toEqual([]);
  expect(stranger.listening).toBe(true);
});

test('C25 the recorded process is gone, the recorded port answers like it: nothing is adopted, nobody is asked', async () => {
  const { id, pid } = await start();
  await world.core.close(false, 1000);
  recordPort(portOfStranger());
  await started.kill(pid);
  await waitUntil('it has been collected', () => !isAlive(pid));
  world = await world.restart();
  expect(world.core.roll.servers.filter(({ supervised }) => supervised !== null)).toEqual([]);
  expect(world.core.roll.records).toMatchObject([{ pid }]);
  expect((await world.core.run({ command: 'stop', server: id, force: true }, 'window')).ok).toBe(false);
  const next = await start();
  expect(world.server(next.pid)?.listening[0]?.port).not.toBe(portOfStranger());
  expect(requests).toEqual([]);
});
