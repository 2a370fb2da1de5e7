/** What is known of sessions, what is done with them, and what becomes of a server that none uses: with real processes. */
import { mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { readAudit } from '../audit/audit.ts';
import type { ServerRecord } from '../records/schema.ts';
import { type Fake, installFake, launchUnder } from './testing/fake-opencode.ts';
import { isAlive, livingIn, Started, waitUntil } from './testing/processes.ts';
import { openWorld, type World, type WorldOptions } from './testing/world.ts';

let folder: string;
let program: string;
let started: Started;
let world: World;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'rollcall-sessions-'));
  program = installFake(folder);
  started = new Started();
});
afterEach(async () => {
  await world.dispose();
  await started.endAll();
  await waitUntil('nothing is left', () => livingIn(folder).length === 0);
  rmSync(folder, { recursive: true, force: true });
});

const SECRET = 'correct horse: battery';

async function open(fake: Fake, env: Readonly<Record<string, string>> = {}, more: WorldOptions = {}): Promise<void> {
  const config = {
    leak: { graceSeconds: 0 },
    look: { intervalSeconds: 0.5 },
    start: { opencode: { path: program, env: { FAKE: JSON.stringify(fake), ...env } } },
  };
  world = await openWorld({ config, ...more });
}

async function start(): Promise<number> {
  const wish = { kind: 'opencode', directory: folder, port: null, forPid: null, keepRunning: false };
  const result = await world.core.run({ command: 'start', ...wish }, 'window');
  if (!result.ok || result.server === null) throw new Error(JSON.stringify(result));
  return started.note(result.server.pid);
}

const keyOf = (id: string): string => world.core.roll.sessions.find((session) => session.id === id)?.key ?? '';
const stateOf = (id: string): string | undefined =>
  world.core.roll.sessions.find((session) => session.id === id)?.state;
const events = (event: string) => readAudit(world.paths.auditFile).filter((line) => line.event === event);

test('a busy session is told with its server, interrupted by one act and ended by another; neither touches the server', async () => {
  await open({
    sessions: [
      { id: 'ses_busy', title: 'Mend the basket', busy: true },
      { id: 'ses_idle', title: 'Count the sheep' },
    ],
  });
  const pid = await start();
  await world.until('the sessions are known', (roll) => roll.sessions.length === 2 && stateOf('ses_busy') === 'busy');
  const server = world.server(pid);
  expect(server?.sessions).toEqual({ known: true, live: 2, busy: 1 });
  expect(world.core.roll.sessions[0]).toMatchObject({
    title: 'Mend the basket',
    directory: folder,
    server: server?.id,
    kind: 'opencode',
    abort: { allowed: 'confirm' },
    end: { allowed: 'force' },
    attach: ['opencode', 'attach', server?.url, '--session', 'ses_busy'],
  });
  // Stopping asks, since it works.
  expect(await world.core.run({ command: 'stop', server: server?.id ?? '', force: false }, 'window')).toMatchObject({
    ok: false,
    failure: { message: expect.stringContaining('Mend the basket') },
  });
  const key = keyOf('ses_busy');
  expect(await world.core.run({ command: 'end-session', session: key, force: false }, 'window')).toMatchObject({
    ok: false,
    failure: { code: 'refused' },
  });
  expect(await world.core.run({ command: 'abort-session', session: key }, 'window')).toMatchObject({ ok: true });
  await world.until('it is idle', () => stateOf('ses_busy') === 'idle');
  expect(events('session-aborted')).toMatchObject([{ by: 'window', pid, session: key }]);
  expect(await world.core.run({ command: 'abort-session', session: key }, 'window')).toMatchObject({ ok: false });
  expect(await world.core.run({ command: 'end-session', session: key, force: false }, 'window')).toMatchObject({
    ok: true,
  });
  await world.until('it has ended', () => stateOf('ses_busy') === 'ended');
  expect(events('session-ended')).toMatchObject([{ session: key }]);
  expect(isAlive(pid)).toBe(true);
  expect(world.server(pid)?.sessions).toMatchObject({ live: 1 });
});

test('a server of ours that wants a password is asked with its own; one of somebody else stays locked; no file has it', async () => {
  const fake: Fake = { sessions: [{ id: 'ses_one', title: 'Mend the basket' }], password: true };
  await open(fake, { OPENCODE_SERVER_PASSWORD: SECRET });
  const pid = await start();
  await world.until('its sessions are known', () => world.server(pid)?.sessions.known === true);
  expect(world.server(pid)?.health).toBe('ok');
  expect(stateOf('ses_one')).toBeDefined();

  const launcher = launchUnder(program, folder, { ...fake, sessions: [{ id: 'ses_two', title: 'Theirs' }] });
  started.note(launcher.pid ?? 0);
  const theirs = started.note(Number(await new Promise((resolve) => launcher.stdout?.once('data', resolve))));
  await world.until('it is seen to be locked', () => world.server(theirs)?.health === 'locked');
  expect(world.server(theirs)?.sessions).toMatchObject({ known: false });
  expect(stateOf('ses_two')).toBeUndefined();

  const config = readFileSync(world.paths.configFile, 'utf8');
  expect(config).toContain(SECRET);
  for (const file of [world.paths.auditFile, world.paths.sessionsFile])
    expect(readFileSync(file, 'utf8')).not.toContain('battery');
  expect(JSON.stringify(world.core.roll)).not.toContain('battery');
});

test('an idle server is announced, kept awake by a person, announced again and stopped with everything of it', async () => {
  await open({ sessions: [], tool: false }, {}, { idleAnnouncedMs: 1500 });
  const pid = await start();
  await world.until('it is idle', () => world.server(pid)?.busy === 'idle');
  const row = world.server(pid);
  // A person cannot set less than a minute.
  const path = row?.supervised?.recordPath ?? '';
  const record = JSON.parse(readFileSync(path, 'utf8')) as ServerRecord;
  // Beside it and renamed: a look that met half a record would write it anew.
  writeFileSync(join(folder, 'record'), JSON.stringify({ ...record, idleMinutes: 0.02 }));
  renameSync(join(folder, 'record'), path);
  await world.until('it is announced', (roll) => roll.alerts.some(({ act }) => act === 'keep-awake'));
  expect(world.server(pid)?.supervised).toMatchObject({ idleMinutes: 0.02, idleStopAt: expect.any(String) });
  expect(await world.core.run({ command: 'keep-awake', server: row?.id ?? '' }, 'window')).toMatchObject({ ok: true });
  expect(world.server(pid)?.supervised?.idleStopAt).toBeNull();
  await world.until('it is gone', () => !isAlive(pid) && world.server(pid) === undefined);
  expect(livingIn(folder)).toEqual([]);
  // Somebody might have started it again: that is watched for before it is said to be stopped.
  await waitUntil('it is said', () => events('stopped').length > 0);
  expect(events('idle-soon').length).toBeGreaterThanOrEqual(2);
  expect(events('stopped')).toMatchObject([{ by: 'app' }]);
});
