/** Real opencode on machines as people have them: BusyBox alone, a noisy profile, a home shared by two machines. */
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { sshConfig, sshdProblem, type TestSshd, testSshd } from '../../hosts/ssh/testing/sshd.ts';
import type { Server } from '../../roll/schema.ts';
import { opencodeFolders } from '../../servers/opencode-home.testing.ts';
import { openWorld, type World } from '../testing/world.ts';

/** The program itself: its launcher needs node, which a BusyBox machine does not have. */
const NATIVE = ['opencode-linux-x64', 'opencode-linux-x64-baseline', 'opencode-linux-arm64']
  .map((name) => fileURLToPath(new URL(`../../../node_modules/${name}/bin/opencode`, import.meta.url)))
  .find((path) => existsSync(path));
const problem = sshdProblem() ?? (NATIVE === undefined ? 'opencode is not installed for this machine' : null);
const NOISE = 'echo \'{"noise": true}\'; printf "no newline"; echo to-stderr >&2\n';

/** A control socket whose master is dead, as a crash leaves it. */
async function deadSocket(path: string): Promise<void> {
  const code = `require('node:net').createServer().listen(${JSON.stringify(path)}, () => process.kill(process.pid, 'SIGKILL'))`;
  const child = spawn(process.execPath, ['-e', code], { stdio: 'ignore' });
  await new Promise((resolve) => child.once('exit', resolve));
}

async function start(world: World, host: string, directory: string): Promise<Server> {
  const wish = { kind: 'opencode', directory, port: null, forPid: null, keepRunning: true } as const;
  const result = await world.core.run({ command: 'start', host, ...wish }, 'cli');
  if (!result.ok || result.server === null) throw new Error(JSON.stringify(result));
  const { id, url } = result.server;
  const answer = await fetch(new URL('/global/health', url ?? ''), { signal: AbortSignal.timeout(5000) });
  expect(await answer.json()).toMatchObject({ healthy: true });
  // Its health is asked by the look after the start.
  const { servers } = await world.until('it is healthy', (roll) =>
    roll.servers.some((server) => server.id === id && server.health === 'ok'),
  );
  const row = servers.find((server) => server.id === id);
  if (row === undefined) throw new Error('it has no row');
  return row;
}

test.skipIf(problem !== null)(
  `D1 D2 D3 D5 two noisy machines with one home, one of BusyBox alone, behind a dead master of the person’s (${problem ?? 'real sshd, real opencode'})`,
  async () => {
    const first = await testSshd({ machine: true, busybox: true });
    const second = await testSshd({
      machine: true,
      accounts: [{ name: 'root', home: first.home, shell: '/bin/bash' }],
    });
    for (const name of ['.bashrc', '.profile']) writeFileSync(join(first.home, name), NOISE);
    const dead = join(first.folder, 'dead');
    await deadSocket(dead);
    const persons = ['ControlMaster auto', `ControlPath ${dead}`, 'ControlPersist 60'];
    const boxes: Readonly<Record<string, readonly [TestSshd, ...string[]]>> = {
      bare: [first, ...persons],
      bash: [second, ...persons],
    };
    const hosts = Object.fromEntries(
      Object.keys(boxes).map((name) => [
        name,
        { start: { opencode: { path: NATIVE, env: opencodeFolders(join(first.home, `of-${name}`)) } } },
      ]),
    );
    const world = await openWorld({
      config: { leak: { graceSeconds: 0 }, look: { intervalSeconds: 1 }, hosts },
      env: { ROLLCALL_SSH_CONFIG: sshConfig(boxes) },
    });
    onTestFinished(() => world.dispose());
    const project = join(first.home, 'project');
    mkdirSync(project);
    for (const host of Object.keys(boxes)) {
      expect(await world.core.run({ command: 'connect', host }, 'cli')).toMatchObject({ ok: true });
    }
    const bare = await start(world, 'bare', project);
    expect(bare).toMatchObject({ host: 'bare', standing: 'supervised', health: 'ok' });
    expect(world.core.roll.hosts.find(({ name }) => name === 'bare')?.signalling.method).toBe('verify-then-kill');
    // The other machine has the same home and folder, and a server of its own.
    const bash = await start(world, 'bash', project);
    expect(bash.identity.hostId).not.toBe(bare.identity.hostId);
    const supervised = (): string[][] =>
      world.core.roll.servers.flatMap(({ host, id, supervised: ours }) =>
        ours === null || host === 'local' ? [] : [[host, id]],
      );
    expect(supervised().sort()).toEqual([
      ['bare', bare.id],
      ['bash', bash.id],
    ]);
    expect(world.core.roll.records.filter(({ host }) => host !== 'local')).toEqual([]);
    for (const { id, host } of [bash, bare]) {
      expect(await world.core.run({ command: 'stop', server: id, force: true }, 'cli'), host).toMatchObject({
        ok: true,
      });
    }
    expect(supervised()).toEqual([]);
    // The person's socket is as dead as it was, and where it was.
    expect(existsSync(dead)).toBe(true);
  },
  150_000,
);
