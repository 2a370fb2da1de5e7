/** Hosts over real sshds, each a machine of its own, through the whole core: connect, start, use, lose, stop, let go. */
import { mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { sshConfig, sshdTrouble, startSshd, type TestSshd } from '../../hosts/ssh/testing/sshd.ts';
import type { HostEntry, Roll, Server } from '../../roll/schema.ts';
import { readAudit } from '../audit.ts';
import { installFake } from '../fake-opencode.testing.ts';
import { openWorld, type World } from '../world.testing.ts';

const trouble = sshdTrouble();

let box: TestSshd;
let world: World;
let project: string;

const hostOf = (roll: Roll, name: string): HostEntry | undefined => roll.hosts.find((host) => host.name === name);
const on = (roll: Roll, name: string): Server[] => roll.servers.filter(({ host }) => host === name);
const supervisedOn = (roll: Roll, name: string): Server[] => on(roll, name).filter((row) => row.supervised !== null);

async function open(aliases: Readonly<Record<string, readonly [TestSshd, ...string[]]>>, mode: 'app' | 'act' = 'app') {
  const path = installFake(project);
  const hosts = Object.fromEntries(
    Object.keys(aliases).map((name) => [name, { start: { opencode: { path, env: { FAKE: '{}' } } } }]),
  );
  world = await openWorld({
    mode,
    config: { leak: { graceSeconds: 0 }, look: { intervalSeconds: 1 }, hosts },
    env: { ROLLCALL_SSH_CONFIG: sshConfig(aliases) },
  });
}

async function connect(name: string): Promise<void> {
  expect(await world.core.run({ command: 'connect', host: name }, 'cli')).toMatchObject({ ok: true });
}

async function start(host: string): Promise<{ id: string; pid: number; url: string | null }> {
  const result = await world.core.run(
    { command: 'start', host, kind: 'opencode', directory: project, port: null, forPid: null, keepRunning: false },
    'cli',
  );
  if (!result.ok || result.server === null) throw new Error(JSON.stringify(result));
  return result.server;
}

async function answers(url: string | null): Promise<boolean> {
  if (url === null) return false;
  try {
    const answer = await fetch(new URL('/global/health', url), { signal: AbortSignal.timeout(1000) });
    return answer.ok;
  } catch {
    return false; // not through (yet)
  }
}

describe.skipIf(trouble !== null)(`hosts over SSH (${trouble ?? 'real sshds'})`, () => {
  beforeEach(async () => {
    box = await startSshd({ machine: true });
    project = join(box.folder, 'project');
    mkdirSync(project);
  });
  afterEach(async () => {
    await world.dispose();
    await box.close();
  });

  test('start, use through the tunnel, drop, use again on the same port, disconnect, adopt, stop', async () => {
    await open({ box: [box] });
    await connect('box');
    const server = await start('box');
    expect(await answers(server.url)).toBe(true);
    const [row] = supervisedOn(world.core.roll, 'box');
    expect(row).toMatchObject({ id: server.id, standing: 'supervised', host: 'box' });
    expect(row?.supervised?.keepRunning).toBe(true);

    box.signalConnections('SIGKILL');
    await world.until('it is connected again', () =>
      readAudit(world.paths.auditFile).some(({ event }) => event === 'host-lost'),
    );
    await world.until(
      'the server is back',
      (roll) => hostOf(roll, 'box')?.state === 'connected' && supervisedOn(roll, 'box')[0]?.url === server.url,
    );
    expect(await answers(server.url)).toBe(true);

    expect(await world.core.run({ command: 'disconnect', host: 'box', stopServers: false }, 'window')).toMatchObject({
      ok: true,
    });
    expect(hostOf(world.core.roll, 'box')?.state).toBe('disconnected');
    expect(await answers(server.url)).toBe(false);
    await connect('box');
    expect(supervisedOn(world.core.roll, 'box').map(({ id }) => id)).toEqual([server.id]);

    const stopped = await world.core.run({ command: 'stop', server: server.id, force: false }, 'window');
    expect(stopped).toMatchObject({ ok: true });
    expect(on(world.core.roll, 'box')).toEqual([]);
    expect(world.core.roll.records.filter(({ host }) => host === 'box')).toEqual([]);
  }, 60_000);

  test('two names of one machine share one connection and list each server once; one of them can go', async () => {
    const other = `${box.options.find((line) => /^HostName/iu.test(line)) ?? ''}`;
    expect(other).not.toBe('');
    await open({ box: [box], alike: [box], elsewhere: [box, 'HostName 127.0.0.2'] });
    await connect('box');
    const server = await start('box');
    await connect('alike');
    expect(box.connections()).toHaveLength(1);
    expect(hostOf(world.core.roll, 'alike')).toMatchObject({ state: 'connected', ssh: { sharedWith: 'box' } });
    expect(world.core.roll.servers.filter(({ id }) => id === server.id)).toHaveLength(1);
    await world.core.run({ command: 'disconnect', host: 'alike', stopServers: false }, 'window');
    expect(hostOf(world.core.roll, 'box')?.state).toBe('connected');
    expect(await world.core.run({ command: 'disconnect', host: 'box', stopServers: true }, 'window')).toMatchObject({
      ok: true,
    });
    expect(box.connections()).toEqual([]);
    await connect('box');
    expect(on(world.core.roll, 'box')).toEqual([]);
  }, 60_000);

  test('a machine that boots is one event, and its records are stale; a start there gives a fresh server at once', async () => {
    await open({ box: [box] });
    await connect('box');
    const server = await start('box');
    await box.down();
    await box.up();
    await world.until(
      'it is seen',
      () => readAudit(world.paths.auditFile).some(({ event }) => event === 'host-rebooted'),
      30_000,
    );
    const told = readAudit(world.paths.auditFile).filter(({ event }) => event === 'host-rebooted');
    expect(told.map(({ text }) => text)).toEqual(['box has rebooted; 1 server of Rollcall’s there went with it']);
    await world.until('it is connected', (roll) => hostOf(roll, 'box')?.state === 'connected');
    expect(world.core.roll.records).toMatchObject([{ host: 'box', verdict: 'gone', pid: server.pid }]);
    const fresh = await start('box');
    expect(fresh.id).not.toBe(server.id);
    expect(await answers(fresh.url)).toBe(true);
    expect(world.core.roll.records).toEqual([]);
  }, 90_000);

  test('a core that closes leaves the server, and nothing of its own', async () => {
    await open({ box: [box] });
    await connect('box');
    const server = await start('box');
    await world.core.close(true, 5000);
    expect(box.connections()).toEqual([]);
    expect(readdirSync(join(world.paths.runtimeDir, 'ssh'))).toEqual([]);
    world = await world.restart();
    await connect('box');
    expect(supervisedOn(world.core.roll, 'box')).toMatchObject([{ id: server.id, pid: server.pid }]);
    await world.core.run({ command: 'stop', server: server.id, force: false }, 'window');
  }, 60_000);
});
