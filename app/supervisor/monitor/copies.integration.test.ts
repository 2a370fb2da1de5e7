/** B3 with real processes: sessions resumed again and again under one live owner, and daemons that nobody wants. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { renderRoll } from '../../cli/render-roll.ts';
import { installProgram, launchUnder } from '../testing/fake-opencode.ts';
import { isAlive, Started } from '../testing/processes.ts';
import { openWorld, type World } from '../testing/world.ts';

const IDLE = 'setInterval(() => {}, 1000);';
/** Listens on a Unix socket as the daemon does, and resumes each session of `RESUME` in a process of its own. */
const DAEMON = `
const { spawn } = require('node:child_process');
require('node:net').createServer().listen(process.env.SOCKET.replace('%', process.pid));
for (const id of JSON.parse(process.env.RESUME ?? '[]'))
  spawn(process.env.CLI, ['session', '--resume=' + id], { stdio: ['pipe', 'ignore', 'ignore'], cwd: process.cwd() });
${IDLE}`;

let folder: string;
let daemon: string;
let cli: string;
let started: Started;
let world: World;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'rollcall-copies-'));
  daemon = installProgram(join(folder, '.claude/remote'), 'server', 'run', DAEMON);
  cli = installProgram(join(folder, '.claude/remote'), 'ccd-cli', 'session', IDLE);
  started = new Started();
  world = await openWorld();
});
afterEach(async () => {
  for (const row of world.core.roll.servers) {
    if (row.directory?.startsWith(folder) !== true) continue;
    for (const { pid } of row.processes) started.note(pid);
  }
  await world.dispose();
  await started.endAll();
  rmSync(folder, { recursive: true, force: true });
});

/** A daemon under a launcher: `live` as long as the launcher is. */
async function launchDaemon(resume: readonly string[]): Promise<{ launcher: number; pid: number }> {
  process.env['CLI'] = cli;
  process.env['RESUME'] = JSON.stringify(resume);
  process.env['SOCKET'] = join(folder, '%.sock');
  try {
    const child = launchUnder(daemon, join(folder, '.claude/remote'), {}, ['run', '--serve']);
    return { launcher: started.note(child.pid ?? 0), pid: await started.pidFrom(child) };
  } finally {
    for (const name of ['CLI', 'RESUME', 'SOCKET']) delete process.env[name];
  }
}

async function orphanDaemon(): Promise<number> {
  const { launcher, pid } = await launchDaemon([]);
  await started.kill(launcher);
  return pid;
}

const sessions = () => world.core.roll.servers.filter(({ kind, pids }) => kind === 'claude' && pids.some(isOurs));
const isOurs = (pid: number): boolean => world.server(pid)?.directory?.startsWith(folder) === true;

test('B3 many copies under one live owner are a row per session, orphan daemons are leaked, no copy is taken', async () => {
  const live = await launchDaemon([...Array.from({ length: 5 }, () => '5b1d-one'), 'c0de-two', 'c0de-two']);
  const orphans = [await orphanDaemon(), await orphanDaemon()];
  await world.until(
    'both sessions are there',
    () =>
      sessions()
        .map(({ duplicates }) => duplicates)
        .sort()
        .join() === '2,5',
  );
  await world.until('the orphans are leaked', () => orphans.every((pid) => world.server(pid)?.standing === 'leaked'));

  expect(world.server(live.pid)).toMatchObject({ kind: 'claude-serve', standing: 'owned', duplicates: 1 });
  const copies = sessions().flatMap(({ pids }) => pids);
  for (const row of sessions()) {
    expect(row).toMatchObject({ standing: 'owned', owner: { pid: live.pid, alive: true }, reap: { allowed: 'force' } });
    expect(row.processes.map(({ pid }) => pid).sort()).toEqual([...row.pids].sort());
    expect(row.keeps?.pid).toBe(Math.max(...row.pids));
  }
  const text = renderRoll(world.core.roll, { width: null, colour: false, home: folder, now: Date.now() });
  expect(text).toMatch(/claude ×5 +\d+ +claude-serve/u);
  expect(text).toMatch(/claude ×2 /u);

  const plan = await world.core.plan('leaked');
  const planned = plan.rows.flatMap(({ steps }) => steps.map(({ pid }) => pid));
  expect(planned).toEqual(expect.arrayContaining(orphans));
  expect(planned.filter((pid) => copies.includes(pid) || pid === live.pid)).toEqual([]);
  const targets = orphans.map((pid) => world.server(pid)?.id ?? '');
  const result = await world.core.run({ command: 'reap', targets, confirmed: false, force: false }, 'window');
  expect(result.results.map(({ outcome }) => outcome)).toEqual(['gone', 'gone']);
  expect(orphans.filter(isAlive)).toEqual([]);
  expect([live.pid, ...copies].every(isAlive)).toBe(true);
});

test('B3 copies that nobody owns any more: one reap ends all but the newest', async () => {
  const owner = await launchDaemon(Array.from({ length: 4 }, () => '5b1d-one'));
  await world.until('all copies are there', () => sessions()[0]?.duplicates === 4);
  const copies = sessions().flatMap(({ pids }) => pids);
  for (const pid of copies) started.note(pid);
  await started.kill(owner.pid);
  await world.until('they are leaked', () => sessions()[0]?.standing === 'leaked');
  const [row] = sessions();
  const newest = Math.max(...copies);
  const plan = await world.core.plan([row?.id ?? '']);
  expect(plan.rows[0]?.steps.map(({ pid }) => pid)).not.toContain(newest);
  const result = await world.core.run(
    { command: 'reap', targets: [row?.id ?? ''], confirmed: false, force: false },
    'window',
  );
  expect(result).toMatchObject({ ok: true, results: [{ outcome: 'gone', label: 'claude ×3 on local' }] });
  expect(copies.filter(isAlive)).toEqual([newest]);
  await world.until('one is left', () => sessions()[0]?.duplicates === 1);
  expect(sessions()[0]).toMatchObject({ pid: newest, keeps: null });
});

test('a daemon that carries a session is in use although nobody owns it', async () => {
  const { launcher, pid } = await launchDaemon(['5b1d-one']);
  await started.kill(launcher);
  await world.until(
    'it is seen with its session',
    () => sessions().length === 1 && world.server(pid)?.owner?.alive !== true,
  );
  expect(world.server(pid)?.standing).toBe('suspect');
  expect(world.server(pid)?.checks.find(({ check }) => check === 'client')?.fact).toBe(
    'it carries 1 session in 1 process',
  );
});
