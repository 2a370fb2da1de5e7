/** Trees that do not end by themselves: supervisors that start their server again, children that will not or cannot die. */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { readAudit } from '../audit/audit.ts';
import { hungFolder } from '../hosts/local/testing/stuck.ts';
import type { CommandResult } from '../roll/commands.ts';
import type { Server } from '../roll/schema.ts';
import { type Fake, installFake, installProgram, launchUnder } from './testing/fake-opencode.ts';
import { exitOf, isAlive, Started, waitUntil } from './testing/processes.ts';
import { openWorld, type World } from './testing/world.ts';

let folder: string;
let program: string;
let started: Started;
let world: World;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'rollcall-tree-'));
  program = installFake(folder);
  started = new Started();
  world = await openWorld();
});
afterEach(async () => {
  await world.dispose();
  for (const pid of running()) started.note(pid);
  await started.endAll();
  rmSync(folder, { recursive: true, force: true });
});

/** Everything that works in this test's folder. */
function running(): number[] {
  return readdirSync('/proc').flatMap((name) => {
    try {
      const words = /^\d+$/u.test(name) ? readFileSync(`/proc/${name}/cmdline`, 'utf8') : '';
      return words.includes(folder) && isAlive(Number(name)) ? [Number(name)] : [];
    } catch {
      // It ended while it was read.
      return [];
    }
  });
}

const signalled = () =>
  readAudit(world.paths.auditFile).flatMap(({ event, pid, signal }) =>
    event === 'signal-intent' ? [`${signal} ${pid}`] : [],
  );

async function reap(server: Server): Promise<CommandResult> {
  return world.core.run({ command: 'reap', targets: [server.id], confirmed: true, force: false }, 'window');
}

describe('a server that an orphaned shell starts again and again', () => {
  /** Runs a command string in a shell that nobody owns; resolves when the server below it is leaked. */
  async function orphanShell(text: string): Promise<{ readonly shell: number; readonly server: Server }> {
    const launcher = started.spawn('/bin/bash', ['-c', `setsid bash -c '${text}' >/dev/null 2>&1 & sleep 0.2`]);
    await exitOf(launcher);
    await world.until('it is leaked', (roll) =>
      roll.servers.some(({ directory, standing }) => directory === folder && standing === 'leaked'),
    );
    const server = world.core.roll.servers.find(({ directory }) => directory === folder);
    if (server === undefined) throw new Error('no server');
    started.note(server.pid);
    const shell = server.processes.find(({ pid }) => pid === server.pid)?.ppid ?? 0;
    return { shell: started.note(shell), server };
  }

  test('ends after that shell, which the plan shows', async () => {
    const { shell, server } = await orphanShell(`cd ${folder}; while :; do ${program} serve --port 0; sleep 0.1; done`);
    expect(server.processes.map(({ pid, role, depth }) => [pid, role, depth])).toEqual([
      [shell, 'wrapper', 0],
      [server.pid, 'server', 1],
    ]);
    const plan = await world.core.plan([server.id]);
    expect(plan.rows[0]?.steps.map(({ pid }) => pid)).toEqual([shell, server.pid]);
    expect((await reap(server)).results).toMatchObject([{ outcome: 'gone' }]);
    expect(signalled()).toEqual([`SIGTERM ${shell}`, `SIGTERM ${server.pid}`]);
    await world.looks(3);
    expect(running()).toEqual([]);
  });

  test('ends after that shell also where it ignores SIGTERM', async () => {
    const loop = `while :; do ${program} serve --port 0; sleep 0.1; done`;
    const { shell, server } = await orphanShell(`trap "" TERM; cd ${folder}; ${loop}`);
    expect((await reap(server)).results).toMatchObject([{ outcome: 'gone' }]);
    expect(signalled().slice(0, 3)).toEqual([`SIGTERM ${shell}`, `SIGKILL ${shell}`, `SIGTERM ${server.pid}`]);
    await world.looks(3);
    expect(running()).toEqual([]);
  });

  test('is reported as come back, with who did it, where the shell keeps something else alive', async () => {
    const { shell, server } = await orphanShell(
      `cd ${folder}; sleep 366 & while :; do ${program} serve --port 0; sleep 0.1; done`,
    );
    expect(server.processes.map(({ pid }) => pid)).toEqual([server.pid]);
    const { results } = await reap(server);
    expect(results).toMatchObject([{ outcome: 'came-back' }]);
    expect(results[0]?.message).toContain(`PID ${shell}`);
    expect(isAlive(shell)).toBe(true);
    const children = readFileSync(`/proc/${shell}/task/${shell}/children`, 'utf8').trim().split(' ').map(Number);
    for (const pid of children) started.note(pid);
    await started.kill(shell);
  });
});

test('a shell under a living owner is that owner’s business', async () => {
  const loop = `cd ${folder}; while :; do ${program} serve --port 0; sleep 0.1; done`;
  const shell = started.spawn('/bin/bash', ['-c', loop], { detached: true });
  await world.until('it is owned', (roll) => roll.servers.some(({ directory }) => directory === folder));
  const server = world.core.roll.servers.find(({ directory }) => directory === folder);
  expect(server?.standing).toBe('owned');
  expect(server?.processes.map(({ pid }) => pid)).toEqual([server?.pid]);
  await started.kill(shell.pid);
  await waitUntil('the shell is gone', () => !isAlive(shell.pid));
});

/** A server whose launcher has been killed. */
async function orphan(fake: Fake): Promise<number> {
  const launcher = launchUnder(program, folder, fake);
  started.note(launcher.pid ?? 0);
  const pid = await started.pidFrom(launcher);
  await world.until('the server is seen', () => world.server(pid) !== undefined);
  await started.kill(launcher.pid ?? 0);
  return pid;
}

const stateOf = (pid: number) => readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ')[1]?.[0];

const reapId = (id: string, force = true) =>
  world.core.run({ command: 'reap', targets: [id], confirmed: true, force }, 'window');

test('B4 B14 one that burns a core, ignores SIGTERM and never collects its child is gone after SIGKILL; the zombie is no failure', async () => {
  const pid = await orphan({ swallow: -1, spin: true });
  await world.until(
    'its zombie is seen',
    () => world.server(pid)?.processes.some(({ state }) => state === 'Z') ?? false,
  );
  await world.until('it is ownerless', () => world.server(pid)?.standing === 'suspect');
  const zombie = world.server(pid)?.processes.find(({ state }) => state === 'Z')?.pid ?? 0;
  const { results } = await reapId(world.server(pid)?.id ?? '', false);
  expect(results).toMatchObject(
    [
      {
        outcome: 'gone',
        signals: [`SIGTERM ${pid}`, `SIGTERM ${pid}`, `SIGKILL ${pid}`],
        message: /is gone with its one/u,
      },
    ].map((result) => ({ ...result, message: expect.stringMatching(result.message) })),
  );
  expect(signalled()).not.toContain(`SIGTERM ${zombie}`);
  expect(isAlive(pid)).toBe(false);
});

test('a server that the kernel holds is said to have survived, is shown on, and is gone once the kernel lets go', async (context) => {
  const hung = await hungFolder();
  if (typeof hung === 'string') return context.skip(hung);
  // Nothing ends it, so that it takes all the time that an ending has.
  await world.dispose();
  world = await openWorld({ spans: { endingMs: 3000 } });
  const pid = await orphan({ swallow: -1, reads: hung.file });
  await world.until('it hangs', () => world.server(pid)?.health === 'unresponsive');
  const id = world.server(pid)?.id ?? '';
  const { results } = await reapId(id);
  expect(results).toMatchObject([{ outcome: 'survived', freedBytes: 0 }]);
  expect(results[0]?.message).toContain(`opencode, PID ${pid}`);
  expect(stateOf(pid)).toBe('D');
  await world.core.run({ command: 'look' }, 'window');
  expect(world.server(pid)?.id).toBe(id);
  hung.release();
  await waitUntil('it has ended', () => !isAlive(pid));
  expect((await reapId(id)).results).toMatchObject([{ outcome: 'gone', signals: [] }]);
});

test('a child that the kernel holds is named, becomes a leftover, and a second reap finishes it', async (context) => {
  const hung = await hungFolder();
  if (typeof hung === 'string') return context.skip(hung);
  const pid = await orphan({ cutOff: [`cat ${hung.file}`] });
  const held = () => world.server(pid)?.processes.find(({ name }) => name === 'cat')?.pid ?? 0;
  await world.until('its child is seen', () => held() > 0);
  const child = started.note(held());
  const first = await reapId(world.server(pid)?.id ?? '');
  expect(first.results).toMatchObject([{ outcome: 'survived' }]);
  expect(first.results[0]?.message).toContain(`cat, PID ${child}`);
  expect([isAlive(pid), stateOf(child)]).toEqual([false, 'D']);
  // One SIGKILL is enough: it stands until the kernel can carry it out.
  expect(signalled().filter((text) => text === `SIGKILL ${child}`)).toHaveLength(1);
  await world.until('it is a leftover', () => world.leftover(child) !== undefined);
  const id = world.leftover(child)?.id ?? '';
  const second = reapId(id);
  await world.until('it is at work', (roll) =>
    roll.tasks.some(({ act, state }) => act === 'reap' && state === 'running'),
  );
  hung.release();
  expect((await second).results).toMatchObject([{ outcome: 'gone' }]);
  expect(isAlive(child)).toBe(false);
});

test('a server of ours whose start command is a loop ends with that loop, and stopped means that nothing listens', async () => {
  const listens = `require('node:http').createServer((_, response) => response.end('fine')).listen(0, '127.0.0.1');`;
  const custom = installProgram(folder, 'custom-agent', 'listen', listens);
  const loop = `while :; do ${custom} listen; sleep 0.1; done`;
  const health = { path: '/', contains: 'fine' };
  world = await world.restart({
    leak: { graceSeconds: 0 },
    look: { intervalSeconds: 0.5 },
    kinds: [{ name: 'looped', program: custom, args: ['listen'], start: ['/bin/bash', '-c', loop], health }],
  });
  const result = await world.core.run(
    { command: 'start', kind: 'looped', directory: folder, port: null, forPid: null, keepRunning: false },
    'cli',
  );
  if (!result.ok || result.server === null) throw new Error(JSON.stringify(result));
  const { id, pid } = result.server;
  const rows = world.server(pid)?.processes ?? [];
  const shell = rows[0]?.pid ?? 0;
  for (const row of rows) started.note(row.pid);
  expect(rows.map(({ pid: of, role }) => [of, role])).toEqual([
    [shell, 'wrapper'],
    [pid, 'server'],
  ]);
  expect(await world.core.run({ command: 'stop', server: id, force: true }, 'window')).toMatchObject({ ok: true });
  expect(signalled()).toEqual([`SIGTERM ${shell}`, `SIGTERM ${pid}`]);
  await world.looks(3);
  expect(running()).toEqual([]);
});
