/** The guard with real processes: what is left of an app that was killed, and who looks after it. */
import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, truncateSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { Roll } from '../roll/schema.ts';
import { installFake } from '../supervisor/testing/fake-opencode.ts';
import { isAlive } from '../supervisor/testing/processes.ts';
import { bundlePrograms, type Programs, SOON_IDLE } from './bundles.testing.ts';
import { GRACE_VARIABLE } from './grace.ts';
import { GuardClient } from './guard-client.ts';
import { Scene, type SceneOptions } from './scene.testing.ts';

let folder: string;
let programs: Programs;
let scene: Scene;

beforeAll(async () => {
  folder = mkdtempSync(join(fileURLToPath(new URL('../../node_modules', import.meta.url)), '.rollcall-guard-'));
  programs = await bundlePrograms(folder, SOON_IDLE);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));
afterEach(() => scene.dispose());

function open(options: SceneOptions = {}): Scene {
  scene = new Scene(programs, options);
  return scene;
}

/** A grace that no test waits for. */
const LONG = 120_000;

const signalled = (): unknown[] => scene.audit().filter(({ event }) => event === 'signal-intent');

const standings = async (): Promise<Roll['servers']> => (await scene.roll()).servers;

const standingOf = async (pid: number): Promise<string | undefined> =>
  (await standings()).find((row) => row.pid === pid)?.standing;

async function everybodyIsGone(): Promise<void> {
  await scene.until('no process is left', () => scene.processes().length === 0);
}

describe('the app is SIGKILLed', () => {
  test('A11 without a successor the guard ends what is not kept running, and goes', async () => {
    open();
    const app = await scene.app();
    const ends = await scene.server();
    await app.crash();
    await scene.until('the server is gone', () => !isAlive(ends));
    await everybodyIsGone();
    expect(scene.servers()).toEqual([]);
    expect(scene.records()).toEqual([]);
    expect(scene.audit().filter(({ event }) => event === 'stopped')).toMatchObject([{ by: 'guard' }]);
    expect(new Set(scene.audit().flatMap(({ event, by }) => (event === 'signal-intent' ? [by] : [])))).toEqual(
      new Set(['guard']),
    );
  });

  test('and the session’s end has taken the runtime folder away: the guard does its work anyway', async () => {
    open();
    const app = await scene.app();
    const ends = await scene.server();
    app.child.kill('SIGSTOP');
    const runtime = join(scene.root, 'run');
    rmSync(runtime, { recursive: true });
    // Nor can it be made again by this user.
    writeFileSync(runtime, '');
    await app.crash();
    await scene.until('the server is gone', () => !isAlive(ends));
    await everybodyIsGone();
    expect(scene.records()).toEqual([]);
  });

  test('A16 what is kept running lives on, and so does everything where the settings say so', async () => {
    open();
    const app = await scene.app();
    const kept = await scene.server('--keep-running');
    await app.crash();
    await everybodyIsGone();
    expect(isAlive(kept)).toBe(true);
    expect(await standingOf(kept)).toBe('supervised');
    await scene.dispose();

    open({ config: { quit: { stopLocalServers: false } } });
    const second = await scene.app();
    const left = await scene.server();
    await second.crash();
    await everybodyIsGone();
    expect(isAlive(left)).toBe(true);
    expect(signalled()).toEqual([]);
  });

  test('a busy server is ended once it is idle; until then the guard is in charge and commands work', async () => {
    open({ fake: { busyWhile: join('/proc/self/cwd', 'busy') } });
    const flag = join(scene.project, 'busy');
    writeFileSync(flag, '');
    const app = await scene.app();
    const busy = await scene.server('--port', String(20_005 + (process.pid % 10_000)));
    const elsewhere = join(scene.root, 'elsewhere');
    installFake(elsewhere);
    const idle = await scene.server('--port', String(30_006 + (process.pid % 10_000)), '--dir', elsewhere);
    await app.crash();
    await scene.until('the guard is in charge', () => scene.said().includes('in-charge'));
    // By then its grace is over, and it has been silent for long enough to be idle.
    await scene.until('the idle one is gone', () => !isAlive(idle));
    await scene.looks(3);
    expect(isAlive(busy)).toBe(true);
    expect(await standingOf(busy)).toBe('supervised');
    const shown = await scene.cli('stop', String(busy));
    expect(shown).toMatchObject({ code: 1 });
    expect(shown.err).toContain('busy');
    unlinkSync(flag);
    await scene.until('the server is gone', () => !isAlive(busy));
    await everybodyIsGone();
  });

  test('A11 a successor within the grace adopts: nothing is signalled, the guard yields and goes', async () => {
    open({ graceMs: LONG });
    const app = await scene.app();
    const server = await scene.server();
    await app.crash();
    await scene.until('the guard is in charge', () => scene.said().includes('in-charge'));
    const next = await scene.app();
    expect(await standingOf(server)).toBe('supervised');
    expect(signalled()).toEqual([]);
    await scene.until('the first guard is gone', () => !isAlive(app.guard));
    expect(scene.guards()).toEqual([next.guard]);
    expect(scene.said()).toContain('yields');
    expect(await next.quit()).toBe(0);
    await everybodyIsGone();
    expect(scene.servers()).toEqual([]);
  });

  test('A11 a successor that is killed before its desktop is there leaves a guard that does the work', async () => {
    open({ graceMs: LONG });
    const app = await scene.app();
    const server = await scene.server();
    await app.crash();
    await scene.until('the guard is in charge', () => scene.said().includes('in-charge'));
    const next = await scene.stalledApp({ [GRACE_VARIABLE]: '300' });
    await scene.until('the first guard is gone', () => !isAlive(app.guard));
    expect(isAlive(server)).toBe(true);
    await next.crash();
    await scene.until('the server is gone', () => !isAlive(server));
    await everybodyIsGone();
    expect(scene.records()).toEqual([]);
    expect(scene.audit().filter(({ event }) => event === 'stopped')).toMatchObject([{ by: 'guard' }]);
  });

  test('a successor that is faster than the guard finds its lock and is left alone', async () => {
    open({ graceMs: LONG });
    const app = await scene.app();
    const server = await scene.server();
    process.kill(app.guard, 'SIGSTOP');
    await app.crash();
    const next = await scene.app();
    process.kill(app.guard, 'SIGCONT');
    await scene.until('the first guard is gone', () => !isAlive(app.guard));
    expect(await standingOf(server)).toBe('supervised');
    expect(scene.said()).toContain('nothing-to-do');
    expect(signalled()).toEqual([]);
    await next.quit();
  });

  test('a guard that was held up for the whole life of another app does nothing any more', async () => {
    open();
    const app = await scene.app();
    await scene.server();
    process.kill(app.guard, 'SIGSTOP');
    await app.crash();
    const next = await scene.app();
    expect(await next.quit()).toBe(0);
    // Started by a command alone, so nobody but a person ends it.
    const later = await scene.server();
    process.kill(app.guard, 'SIGCONT');
    await everybodyIsGone();
    expect(isAlive(later)).toBe(true);
    expect(scene.said()).toContain('nothing-to-do');
  });

  test('C23 a record that was torn or lost with the app is written again, and its server is not lost', async () => {
    open();
    const app = await scene.app();
    const torn = await scene.server();
    const [name] = scene.records();
    process.kill(app.pid, 'SIGSTOP');
    truncateSync(join(scene.paths.recordsDir, name ?? ''), 20);
    await app.crash();
    await scene.until('the server is gone', () => !isAlive(torn));
    await everybodyIsGone();
    expect(scene.audit().map(({ text }) => text)).toContainEqual(expect.stringContaining('is written again'));
    expect(scene.records()).toEqual([]);
  });

  test('C23 a record that is lost under the guard and cannot be written again keeps its server from nothing', async () => {
    open({ graceMs: 6000 });
    const app = await scene.app();
    const server = await scene.server();
    await app.crash();
    await scene.until('the guard is in charge', () => scene.said().includes('in-charge'));
    const [name] = scene.records();
    const path = join(scene.paths.recordsDir, name ?? '');
    unlinkSync(path);
    // What cannot be read stays where it is, so nothing can be written there.
    mkdirSync(path);
    await scene.until('the server is gone', () => !isAlive(server));
    await everybodyIsGone();
    expect(scene.audit().filter(({ event }) => event === 'signal-intent')).toContainEqual(
      expect.objectContaining({ by: 'guard', pid: server }),
    );
  });

  test('a server that somebody starts through the guard is kept, as one of a command alone', async () => {
    open({ graceMs: 6000 });
    const app = await scene.app();
    const first = await scene.server('--port', '0'.replace('0', String(20_000 + (process.pid % 10_000))));
    await app.crash();
    await scene.until('the guard is in charge', () => scene.said().includes('in-charge'));
    const second = await scene.server('--port', String(30_001 + (process.pid % 10_000)));
    await scene.until('the first server is gone', () => !isAlive(first));
    await everybodyIsGone();
    expect(isAlive(second)).toBe(true);
    expect(scene.records()).toHaveLength(1);
  });
});

describe('the guard goes away', () => {
  test('SIGKILLed: another one is started with the full state, and does the work', async () => {
    open();
    const app = await scene.app();
    const server = await scene.server();
    process.kill(app.guard, 'SIGKILL');
    await scene.until('another guard watches', () => scene.audit().some(({ text }) => text.includes('runs again')));
    expect(isAlive(app.guard)).toBe(false);
    await scene.until('it is collected', () => zombiesOf(app.pid).length === 0);
    const [name] = scene.records();
    process.kill(app.pid, 'SIGSTOP');
    // The new guard knows it although the disk does not: it was handed the whole state.
    unlinkSync(join(scene.paths.recordsDir, name ?? ''));
    await app.crash();
    await scene.until('the server is gone', () => !isAlive(server));
    await everybodyIsGone();
  });

  test('stopped: its silence is noticed, and it is replaced', async () => {
    open();
    const app = await scene.app();
    process.kill(app.guard, 'SIGSTOP');
    await scene.until('it is replaced', () => {
      const guards = scene.guards();
      return guards.length === 1 && guards[0] !== app.guard;
    });
    expect(isAlive(app.guard)).toBe(false);
    await scene.until('it is collected', () => zombiesOf(app.pid).length === 0);
    expect(scene.audit().filter(({ event }) => event === 'guard')).not.toEqual([]);
    expect(await app.quit()).toBe(0);
    await everybodyIsGone();
  });

  test('Ctrl-C and a hangup do not reach it; asked to end, it ends and another one is started', async () => {
    open();
    const app = await scene.app();
    process.kill(app.guard, 'SIGINT');
    process.kill(app.guard, 'SIGHUP');
    await scene.looks(3);
    expect(scene.guards()).toEqual([app.guard]);
    process.kill(app.guard, 'SIGTERM');
    await scene.until('another guard runs', () => scene.guards().some((pid) => pid !== app.guard));
    expect(await app.quit()).toBe(0);
    await everybodyIsGone();
  });

  test('SIGKILLed with the app right after it: the next app adopts what is left, whoever came first', async () => {
    open({ graceMs: LONG });
    const app = await scene.app();
    const server = await scene.server();
    process.kill(app.guard, 'SIGKILL');
    await app.crash();
    const next = await scene.app();
    expect(isAlive(server)).toBe(true);
    expect(await standingOf(server)).toBe('supervised');
    expect(signalled()).toEqual([]);
    await scene.until('one guard is left', () => scene.guards().join() === String(next.guard));
    expect(await next.quit()).toBe(0);
    await everybodyIsGone();
    expect(scene.servers()).toEqual([]);
  });

  test('both SIGKILLed at once: nobody acts until the next app, which adopts', async () => {
    open();
    const app = await scene.app();
    const server = await scene.server();
    process.kill(app.pid, 'SIGSTOP');
    process.kill(app.guard, 'SIGKILL');
    await app.crash();
    await everybodyIsGone();
    expect(isAlive(server)).toBe(true);
    const next = await scene.app();
    expect(await standingOf(server)).toBe('supervised');
    expect(await next.quit()).toBe(0);
    expect(scene.servers()).toEqual([]);
  });

  test('killed in the middle of its work: a command finds what is left, and the next app adopts', async () => {
    open({ fake: { busy: true } });
    const app = await scene.app();
    const server = await scene.server();
    await app.crash();
    await scene.until('the guard is in charge', () => scene.said().includes('in-charge'));
    process.kill(app.guard, 'SIGKILL');
    await scene.until('it is gone', () => !isAlive(app.guard));
    expect(await standingOf(server)).toBe('supervised');
    const next = await scene.app();
    expect(await standingOf(server)).toBe('supervised');
    await next.quit();
    await everybodyIsGone();
  });
});

describe('an orderly quit', () => {
  test('ends the servers and the guard with the app', async () => {
    open({ graceMs: LONG });
    const app = await scene.app();
    const server = await scene.server();
    expect(await app.quit()).toBe(0);
    expect(isAlive(server)).toBe(false);
    await everybodyIsGone();
    expect(scene.said()).not.toContain('app-crashed');
  });

  test('a kept server that is bound to a process is watched on, and ends with that process', async () => {
    open();
    const app = await scene.app();
    const owner = scene.started.spawn('sleep', ['600']);
    const bound = await scene.server('--keep-running', '--for', String(owner.pid));
    expect(await app.quit()).toBe(0);
    await scene.until('the guard is in charge', () => scene.said().includes('in-charge'));
    await scene.looks(3);
    expect(isAlive(bound)).toBe(true);
    await scene.started.kill(owner.pid);
    await scene.until('the server is gone', () => !isAlive(bound));
    await everybodyIsGone();
    expect(scene.records()).toEqual([]);
  });

  test('killed in the middle of a quit counts as a crash: the guard finishes', async () => {
    // Two SIGTERMs are swallowed, so that stopping takes some seconds.
    open({ fake: { swallow: -1 } });
    const app = await scene.app();
    const server = await scene.server();
    app.child.kill('SIGTERM');
    await scene.until('the quit has begun', () => signalled().length > 0);
    await app.crash();
    await scene.until('the server is gone', () => !isAlive(server));
    await everybodyIsGone();
    expect(scene.records()).toEqual([]);
  });
});

describe('start --for', () => {
  test('by a command alone leaves a guard that ends the server with its owner, and nothing else', async () => {
    open();
    const owner = scene.started.spawn('sleep', ['600']);
    const free = await scene.server('--port', String(20_002 + (process.pid % 10_000)));
    expect(scene.guards()).toEqual([]);
    const bound = await scene.server('--port', String(30_003 + (process.pid % 10_000)), '--for', String(owner.pid));
    await scene.until('a guard is in charge', () => scene.said().includes('in-charge'));
    expect(scene.guards()).toHaveLength(1);
    await scene.looks(3);
    expect(isAlive(bound)).toBe(true);
    await scene.started.kill(owner.pid);
    await scene.until('the server is gone', () => !isAlive(bound));
    await everybodyIsGone();
    expect(isAlive(free)).toBe(true);
    expect(scene.records()).toHaveLength(1);
  });

  test('by a command that is SIGKILLed before its server is ready leaves a guard that watches the owner', async () => {
    open({ fake: { silent: true } });
    const owner = scene.started.spawn('sleep', ['600']);
    const command = scene.command('start', 'opencode', '--for', String(owner.pid));
    await scene.until('the server was spawned', () => scene.audit().some(({ event }) => event === 'started'));
    const servers = scene.servers();
    expect(servers).toHaveLength(1);
    expect(scene.guards()).toHaveLength(1);
    process.kill(command, 'SIGKILL');
    await scene.until('a guard is in charge', () => scene.said().includes('in-charge'));
    await scene.looks(4);
    expect(servers.every(isAlive)).toBe(true);
    await scene.started.kill(owner.pid);
    await scene.until('the server is gone', () => !servers.some(isAlive));
    await everybodyIsGone();
    expect(scene.records()).toEqual([]);
  });

  test('a guard that was left behind yields to an app, whose own guard watches the owner after a crash', async () => {
    open();
    const owner = scene.started.spawn('sleep', ['600']);
    const bound = await scene.server('--for', String(owner.pid));
    await scene.until('a guard is in charge', () => scene.said().includes('in-charge'));
    const [left] = scene.guards();
    const app = await scene.app();
    await scene.until('it is gone', () => !isAlive(left ?? 0));
    await app.crash();
    await scene.until(
      'the app’s guard is in charge',
      () => scene.said().filter((event) => event === 'in-charge').length === 2,
    );
    await scene.looks(3);
    // It has an owner still.
    expect(isAlive(bound)).toBe(true);
    await scene.started.kill(owner.pid);
    await scene.until('the server is gone', () => !isAlive(bound));
    await everybodyIsGone();
  });

  test('a guard whose owner died before it looked ends the server anyway', async () => {
    open();
    const owner = scene.started.spawn('sleep', ['600']);
    const bound = await scene.server('--for', String(owner.pid));
    for (const pid of scene.guards()) process.kill(pid, 'SIGKILL');
    await scene.until('no guard runs', () => scene.guards().length === 0);
    await scene.started.kill(owner.pid);
    expect(isAlive(bound)).toBe(true);
    // Any command that acts brings the guard back.
    const other = await scene.server('--port', String(20_004 + (process.pid % 10_000)));
    await scene.until('the server is gone', () => !isAlive(bound));
    await everybodyIsGone();
    expect(isAlive(other)).toBe(true);
  });
});

describe('the guard itself', () => {
  test('has a session of its own, carries no marks, and is no row and nobody’s process', async () => {
    open({ env: { OPENCODE_PID: '1', OPENCODE: '1', ROLLCALL_NONCE: 'x', ROLLCALL_KIND: 'opencode' } });
    const app = await scene.app();
    const server = await scene.server();
    const stat = readFileSync(`/proc/${app.guard}/stat`, 'latin1');
    const [, , group, session] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    expect([group, session]).toEqual([String(app.guard), String(app.guard)]);
    const environment = readFileSync(`/proc/${app.guard}/environ`, 'utf8').split('\0');
    expect(environment.filter((line) => /^(OPENCODE|ROLLCALL_NONCE|ROLLCALL_KIND)/u.test(line))).toEqual([]);
    const { out } = await scene.cli('list', '--json');
    const list = JSON.parse(out) as { servers: { processes: { pid: number }[] }[]; leftovers: { pid: number }[] };
    expect(list.servers.flatMap(({ processes }) => processes.map(({ pid }) => pid))).not.toContain(app.guard);
    expect(list.leftovers.map(({ pid }) => pid)).not.toContain(app.guard);
    expect((await scene.cli('explain', String(app.guard))).code).toBe(1);
    expect(isAlive(server)).toBe(true);
    await app.quit();
  });

  test('one that fails while it is in charge acts on nothing until it holds the lock again', async () => {
    open();
    const owner = scene.started.spawn('sleep', ['600']);
    const bound = await scene.server('--for', String(owner.pid));
    for (const pid of scene.guards()) process.kill(pid, 'SIGKILL');
    await scene.until('no guard runs', () => scene.guards().length === 0);
    // The first guard's socket cannot be made private, once: an error that nothing there expects.
    const preload = join(scene.root, 'fault.mjs');
    writeFileSync(
      preload,
      `import fs from 'node:fs'; import { syncBuiltinESMExports } from 'node:module';
      const real = fs.chmodSync;
      fs.chmodSync = (...args) => {
        if (!/run\\/rollcall\\/\\.[0-9a-f]{6}$/.test(String(args[0]))) return real(...args);
        fs.chmodSync = real; syncBuiltinESMExports();
        throw new Error('no error of the system');
      };
      syncBuiltinESMExports();`,
    );
    const { program, args, env } = scene.guardCommand();
    const keeper = new GuardClient({
      command: { program, args: ['--import', preload, ...args], env },
      paths: scene.paths,
      runId: randomUUID(),
      version: '0.0.0-test',
    });
    keeper.begin();
    expect(await keeper.startNow()).toBeNull();
    await keeper.shutdown('watch-owners');
    await scene.until('it has failed', () => scene.said().includes('take-over-failed'));
    await scene.started.kill(owner.pid);
    await scene.until('the server is gone', () => !isAlive(bound));
    // The first signal came after it had taken over once more.
    const inCharge = scene.log().match(/^\S+(?= \d+ in-charge$)/gmu) ?? [];
    expect(inCharge).toHaveLength(2);
    const [first] = scene.audit().filter(({ event }) => event === 'signal-intent');
    expect(Date.parse(first?.at ?? '')).toBeGreaterThanOrEqual(Date.parse(inCharge[1] ?? ''));
    await everybodyIsGone();
  });

  test('a guard that was started while the state folder was read-only, and has no log, takes over as any other', async (context) => {
    if (process.getuid?.() !== 0) context.skip('mounting needs root');
    open();
    const { stateDir } = scene.paths;
    mkdirSync(join(stateDir, 'records'), { recursive: true, mode: 0o700 });
    const first = await scene.app();
    await first.quit();
    await everybodyIsGone();
    execFileSync('mount', ['--bind', stateDir, stateDir]);
    execFileSync('mount', ['-o', 'remount,bind,ro', stateDir]);
    const app = await scene.app();
    execFileSync('umount', ['-l', stateDir]);
    const server = await scene.server();
    await app.crash();
    await scene.until('the server is gone', () => !isAlive(server));
    await everybodyIsGone();
  });

  test('two guards of one run: one does the work, the other finds it done', async () => {
    open();
    const app = await scene.app();
    const server = await scene.server();
    await app.crash();
    process.kill(app.guard, 'SIGKILL');
    await everybodyIsGone();
    const runId = randomUUID();
    const keepers = [1, 2].map(
      () => new GuardClient({ command: scene.guardCommand(), paths: scene.paths, runId, version: '0.0.0-test' }),
    );
    for (const keeper of keepers) keeper.open({ changed: () => undefined, note: () => undefined });
    for (const keeper of keepers) expect(await keeper.startNow()).toBeNull();
    expect(scene.guards()).toHaveLength(2);
    await Promise.all(keepers.map((keeper) => keeper.shutdown('end-servers')));
    await scene.until('the server is gone', () => !isAlive(server));
    await everybodyIsGone();
    expect(scene.audit().filter(({ event }) => event === 'stopped')).toHaveLength(1);
    // Whether it still met the dying app at the lock, or came when the work was done, it did nothing.
    expect(scene.said()).toContain('nothing-to-do');
  });
});

function zombiesOf(parent: number): string[] {
  const children = readFileSync(`/proc/${parent}/task/${parent}/children`, 'utf8').trim().split(' ');
  return children.filter((pid) => pid !== '' && !isAlive(Number(pid)));
}
