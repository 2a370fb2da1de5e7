/** Sessions and what runs at their end, with real processes: however a server, the app and its guard go away. */
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { launchUnder } from '../supervisor/testing/fake-opencode.ts';
import { isAlive } from '../supervisor/testing/processes.ts';
import { bundlePrograms, type Programs, SOON_IDLE } from './bundles.testing.ts';
import { Scene } from './scene.testing.ts';

let folder: string;
let programs: Programs;
let scene: Scene;
/** Each run of the hook appends a line with what it was given. */
let ran: string;
/** While it is there, a hook goes on. */
let held: string;

beforeAll(async () => {
  folder = mkdtempSync(join(fileURLToPath(new URL('../../node_modules', import.meta.url)), '.rollcall-guard-'));
  programs = await bundlePrograms(folder, SOON_IDLE);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));
afterEach(() => scene.dispose());

const SESSIONS = [
  { id: 'ses_one', title: 'Mend the basket' },
  { id: 'ses_two', title: 'Count the sheep' },
];

/** @param holds a hook that has written goes on until `letHooksEnd` */
function open(holds = false, config: Readonly<Record<string, unknown>> = {}): Scene {
  const out = mkdtempSync(join(folder, 'hook-'));
  ran = join(out, 'ran');
  held = join(out, 'held');
  if (holds) writeFileSync(held, '');
  const hook = join(out, 'hook');
  writeFileSync(hook, `#!/bin/sh\n{ cat; echo; } >> '${ran}'\nwhile [ -e '${held}' ]; do sleep 0.05; done\n`);
  chmodSync(hook, 0o755);
  scene = new Scene(programs, {
    fake: { sessions: SESSIONS },
    config: { hooks: { sessionEnd: [{ command: [hook] }] }, restart: { when: 'never' }, ...config },
  });
  return scene;
}

const letHooksEnd = (): void => rmSync(held);

interface Told {
  readonly session: string;
  readonly reason: string;
  readonly directory: string;
  readonly title: string;
}

const told = (): Told[] =>
  existsSync(ran)
    ? readFileSync(ran, 'utf8')
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line) as Told)
    : [];
const reasons = (): string[] =>
  told()
    .map(({ session, reason }) => `${session} ${reason}`)
    .sort();

async function alive(count = 2): Promise<void> {
  let seen = '';
  for (const until = performance.now() + 80_000; performance.now() < until; ) {
    const { sessions, servers, alerts } = await scene.roll();
    if (sessions.filter(({ state }) => state !== 'ended').length === count) return;
    seen = JSON.stringify({
      sessions,
      servers: servers.map(({ sessions: told, health }) => ({ told, health })),
      alerts,
    });
  }
  throw new Error(`not ${count} sessions that live: ${seen}`);
}

async function everybodyIsGone(): Promise<void> {
  await scene.until('no process of Rollcall is left', () => scene.processes().length === 0);
}

const both = (reason: string): string[] => [`ses_one ${reason}`, `ses_two ${reason}`];

test('the app is killed with sessions alive: the guard ends their server and runs each hook once', async () => {
  open();
  const app = await scene.app();
  await scene.server();
  await alive();
  await app.crash();
  await everybodyIsGone();
  expect(reasons()).toEqual(both('app-killed'));
  expect(told()[0]).toMatchObject({ directory: scene.project, title: expect.stringMatching(/basket|sheep/u) });
  const next = await scene.app();
  expect((await scene.roll()).sessions.map(({ state }) => state)).toEqual(['ended', 'ended']);
  await next.quit();
  expect(told()).toHaveLength(2);
});

test('a session ends just before the app is killed, in the middle of its hook: it runs once; the other one’s too', async () => {
  open(true);
  const app = await scene.app();
  await scene.server();
  await alive();
  const port = (await scene.roll()).servers[0]?.listening[0]?.port ?? 0;
  request({ port, method: 'DELETE', path: '/session/ses_one', agent: false }).end();
  await scene.until('its hook has begun', () => told().length === 1);
  await app.crash();
  await scene.until('the guard is in charge', () => scene.said().includes('in-charge'));
  letHooksEnd();
  await everybodyIsGone();
  expect(reasons()).toEqual(['ses_one deleted', 'ses_two app-killed']);
});

test('a server is killed with sessions alive, and so is one that Rollcall never started', async () => {
  open();
  const app = await scene.app();
  const ours = await scene.server();
  await alive();
  process.kill(ours, 'SIGKILL');
  await scene.until('its hooks have run', () => told().length === 2);
  expect(reasons()).toEqual(both('server-crashed'));
  await app.quit();
  rmSync(ran);

  // It was alive with its sessions before Rollcall was there.
  const launcher = launchUnder(join(scene.project, 'opencode'), scene.project, { sessions: SESSIONS });
  scene.started.note(launcher.pid ?? 0);
  const pid = Number(await new Promise((resolve) => launcher.stdout?.once('data', resolve)));
  scene.started.note(pid);
  const next = await scene.app();
  await alive();
  process.kill(pid, 'SIGKILL');
  await scene.until('its hooks have run', () => told().length === 2);
  expect(reasons()).toEqual(both('server-crashed'));
  await next.quit();
});

test('the guard is killed, then the app: the new guard knows what the old one knew', async () => {
  open();
  const app = await scene.app();
  await scene.server();
  await alive();
  process.kill(app.guard, 'SIGKILL');
  // That one has gone, and that another one watches.
  await scene.until('both are told', () => scene.audit().filter(({ event }) => event === 'guard').length === 2);
  await app.crash();
  await everybodyIsGone();
  expect(reasons()).toEqual(both('app-killed'));
});

test('both are killed, and the server goes while nobody watches: the next app runs what is due, for that server alone', async () => {
  open();
  const app = await scene.app();
  const dies = await scene.server('--keep-running');
  await alive();
  process.kill(app.guard, 'SIGSTOP');
  await app.crash();
  process.kill(app.guard, 'SIGKILL');
  process.kill(dies, 'SIGKILL');
  await scene.until('all are gone', () => !isAlive(dies) && scene.processes().length === 0);
  expect(told()).toEqual([]);
  const next = await scene.app();
  await scene.until('the hooks have run', () => told().length === 2);
  expect(reasons()).toEqual(both('server-gone'));
  const lives = await scene.server('--keep-running');
  await alive();
  await next.quit();
  await everybodyIsGone();
  // Kept running, and its sessions with it.
  expect(isAlive(lives)).toBe(true);
  expect(told()).toHaveLength(2);
});

test('an orderly quit stops the server; the guard sees hooks through that take longer, and no hook runs twice', async () => {
  open(true);
  const app = await scene.app();
  await scene.server();
  await alive();
  expect(await app.quit()).toBe(0);
  const done = (): number => readFileSync(scene.paths.sessionsFile, 'utf8').match(/"line":"done"/gu)?.length ?? 0;
  expect(done()).toBe(0);
  letHooksEnd();
  await everybodyIsGone();
  expect(reasons()).toEqual(both('quit'));
  expect(done()).toBe(2);
});

test('without any app, a command that stops a server runs what is due at the end of its sessions', async () => {
  open(false, { quit: { stopLocalServers: false } });
  const app = await scene.app();
  const pid = await scene.server();
  await alive();
  await app.quit();
  await everybodyIsGone();
  expect(isAlive(pid)).toBe(true);
  expect(await scene.cli('stop', String(pid), '--force')).toMatchObject({ code: 0 });
  expect(reasons()).toEqual(both('server-stopped'));
});
