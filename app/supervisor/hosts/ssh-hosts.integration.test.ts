/** Hosts over real sshds, each a machine of its own, through the whole core: connect, start, use, lose, stop, let go. */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { readAudit } from '../../audit/audit.ts';
import { until } from '../../hosts/local/testing/processes.ts';
import { replaceOn, sshIn } from '../../hosts/ssh/testing/replace.ts';
import { sshConfig, sshdProblem, startSshd, type TestSshd } from '../../hosts/ssh/testing/sshd.ts';
import type { HostEntry, Roll, Server } from '../../roll/schema.ts';
import { installFake } from '../testing/fake-opencode.ts';
import { openWorld, type World } from '../testing/world.ts';

const problem = sshdProblem();

let box: TestSshd;
let world: World;
let project: string;
let config: string;

const hostOf = (roll: Roll, name: string): HostEntry | undefined => roll.hosts.find((host) => host.name === name);
const on = (roll: Roll, name: string): Server[] => roll.servers.filter(({ host }) => host === name);
const supervisedOn = (roll: Roll, name: string): Server[] => on(roll, name).filter((row) => row.supervised !== null);

async function open(aliases: Readonly<Record<string, readonly [TestSshd, ...string[]]>>, mode: 'app' | 'act' = 'app') {
  const path = installFake(project);
  const hosts = Object.fromEntries(
    Object.keys(aliases).map((name) => [name, { start: { opencode: { path, env: { FAKE: '{}' } } } }]),
  );
  config = sshConfig(aliases);
  world = await openWorld({
    mode,
    config: { leak: { graceSeconds: 0 }, look: { intervalSeconds: 1 }, hosts },
    env: { ROLLCALL_SSH_CONFIG: config },
  });
}

async function connect(name: string): Promise<void> {
  expect(await world.core.run({ command: 'connect', host: name }, 'cli')).toMatchObject({ ok: true });
}

async function start(host: string): Promise<{ id: string; pid: number; url: string | null }> {
  const result = await world.core.run(
    { command: 'start', host, kind: 'opencode', directory: project, port: null, forPid: null, keepRunning: true },
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

describe.skipIf(problem !== null)(`hosts over SSH (${problem ?? 'real sshds'})`, () => {
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
  });

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
    // Its sshd ends a moment after our end has gone.
    await until('no connection is left', () => box.connections().length === 0);
    await connect('box');
    expect(on(world.core.roll, 'box')).toEqual([]);
  });

  test('a machine that boots is one event, and its records are stale; a start there gives a fresh server at once', async () => {
    await open({ box: [box] });
    await connect('box');
    const server = await start('box');
    await box.down();
    await world.until('it is lost', (roll) => hostOf(roll, 'box')?.state !== 'connected');
    // What was last seen is shown on, and nothing can be done to it.
    expect(supervisedOn(world.core.roll, 'box').map(({ id }) => id)).toEqual([server.id]);
    expect(await world.core.run({ command: 'stop', server: server.id, force: true }, 'window')).toMatchObject({
      ok: false,
      failure: { code: 'not-connected' },
    });
    await box.up();
    await world.until(
      'it is seen',
      () => readAudit(world.paths.auditFile).some(({ event }) => event === 'host-rebooted'),
      120_000,
    );
    const told = readAudit(world.paths.auditFile).filter(({ event }) => event === 'host-rebooted');
    expect(told).toMatchObject([{ host: 'box', text: expect.stringMatching(/\b1 server\b/u) }]);
    await world.until(
      'it is connected and its records are read',
      ({ hosts, records }) =>
        hosts.some(({ name, state }) => name === 'box' && state === 'connected') && records.length > 0,
    );
    expect(world.core.roll.records).toMatchObject([{ host: 'box', verdict: 'gone', pid: server.pid }]);
    const fresh = await start('box');
    expect(fresh.id).not.toBe(server.id);
    expect(await answers(fresh.url)).toBe(true);
    await world.until('the stale record is gone', ({ records }) => records.length === 0);
  });

  test('a core that closes leaves the server, and nothing of its own, also over a connection that is stuck', async () => {
    await open({ box: [box] });
    await connect('box');
    const server = await start('box');
    await world.core.close(true, 5000);
    // Its sshd ends a moment after our end has gone.
    await until('no connection is left', () => box.connections().length === 0);
    expect(readdirSync(join(world.paths.runtimeDir, 'ssh'))).toEqual([]);
    world = await world.restart();
    await connect('box');
    expect(supervisedOn(world.core.roll, 'box')).toMatchObject([{ id: server.id, pid: server.pid }]);
    await world.core.run({ command: 'stop', server: server.id, force: false }, 'window');

    // Neither side answers any more, and a look is under way.
    box.signalConnections('SIGSTOP');
    void world.core.run({ command: 'look' }, 'app');
    await world.core.close(true, 5000);
    expect(readdirSync(join(world.paths.runtimeDir, 'ssh'))).toEqual([]);
    box.signalConnections('SIGKILL');
  });

  test('a leaked server there is in no other roll, and one click reaps it along with those here', async () => {
    await open({ box: [box] });
    const path = join(project, 'opencode');
    // Started by somebody's command over ssh, detached, and its shell is gone.
    await sshIn(config, 'box', `cd ${project} && setsid ${path} serve --port 0 >/dev/null 2>&1 </dev/null & sleep 1`);
    await connect('box');
    const roll = await world.until(
      'it is leaked',
      (now) => on(now, 'box').some(({ standing }) => standing === 'leaked'),
      120_000,
    );
    const [leaked] = on(roll, 'box');
    expect(leaked?.checks.every(({ result }) => result === 'holds')).toBe(true);
    const plan = await world.core.plan([leaked?.id ?? '']);
    expect(plan.rows).toMatchObject([{ id: leaked?.id, host: 'box', needsForce: false }]);
    const result = await world.core.run(
      { command: 'reap', targets: [leaked?.id ?? ''], confirmed: true, force: false },
      'window',
    );
    expect(result).toMatchObject({ ok: true, results: [{ outcome: 'gone', id: leaked?.id }] });
    expect(on(world.core.roll, 'box')).toEqual([]);
    const lines = readAudit(world.paths.auditFile).filter(({ event }) => event === 'signal-intent');
    expect(lines.map(({ host, pid }) => [host, pid])).toContainEqual(['box', leaked?.pid]);
    expect(new Set(lines.map(({ host }) => host))).toEqual(new Set(['box']));
  });

  test('a recorded PID that is a stranger’s, or a thread of one: nobody is signalled, nor waited for by a start', async () => {
    await open({ box: [box] });
    await connect('box');
    for (const way of ['process', 'thread'] as const) {
      const server = await start('box');
      const felt = await replaceOn(box, config, 'box', server.pid, way);
      const again = await start('box');
      expect(again.id).not.toBe(server.id);
      expect(felt()).toEqual([]);
      const told = readAudit(world.paths.auditFile).filter(({ event }) => event === 'set-aside');
      expect(told.at(-1)?.text).toContain(`PID ${server.pid}`);
      await world.core.run({ command: 'stop', server: again.id, force: false }, 'window');
      expect(felt()).toEqual([]);
    }
  });

  test('D16 a host that connects at start and is not there yet is connected when it is', async () => {
    config = sshConfig({ box: [box] });
    await box.down();
    world = await openWorld({
      mode: 'app',
      config: { hosts: { box: { connect: 'at-start' } } },
      env: { ROLLCALL_SSH_CONFIG: config },
    });
    await world.until('it is tried again', (roll) => hostOf(roll, 'box')?.state === 'reconnecting');
    await box.up();
    await world.until('it is connected by itself', (roll) => hostOf(roll, 'box')?.state === 'connected');
  });

  test('a host that is this very machine says so and keeps no connection; one that was taken back has not failed', async () => {
    const here = await startSshd();
    try {
      await open({ myself: [here], box: [box] });
      const told = await world.core.run({ command: 'connect', host: 'myself' }, 'cli');
      expect(told).toMatchObject({ ok: false, failure: { code: 'this-machine' } });
      expect(hostOf(world.core.roll, 'myself')).toMatchObject({ state: 'connected', ssh: { sharedWith: 'local' } });
      // The far end hears of it a moment later.
      await until('no connection is kept', () => here.connections().length === 0);
      expect(on(world.core.roll, 'myself')).toEqual([]);

      const connecting = world.core.run({ command: 'connect', host: 'box' }, 'window');
      await world.until('it is connecting', (roll) => hostOf(roll, 'box')?.state === 'connecting');
      await world.core.run({ command: 'disconnect', host: 'box', stopServers: false }, 'window');
      expect(await connecting).toMatchObject({ ok: false });
      expect(hostOf(world.core.roll, 'box')).toMatchObject({ state: 'disconnected', ssh: { failure: null } });

      // A mistake in the file takes no host away; one that is taken out of it goes.
      await connect('box');
      const { configFile } = world.paths;
      const text = readFileSync(configFile, 'utf8');
      writeFileSync(configFile, text.slice(0, -1));
      await world.until('the mistake is told', (roll) => roll.settings.configProblem !== null);
      expect(hostOf(world.core.roll, 'box')?.state).toBe('connected');
      writeFileSync(configFile, '{}');
      await world.until('it is gone', (roll) => hostOf(roll, 'box') === undefined);
      await until('the machine sees no connection', () => box.connections().length === 0);
    } finally {
      await here.close();
    }
  });
});
