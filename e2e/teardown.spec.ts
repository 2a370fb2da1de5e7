/** The ways in which the app itself goes, with a server that is to stop, one that is to stay, and everything of both counted. */
import { execFile } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { ElectronApplication } from '@playwright/test';
import { installFake } from '../app/supervisor/testing/fake-opencode.ts';
import { type Folders, spawnApp, whenServing } from './support/app.ts';
import { ended, eventually, lives, MARK, marked, type Seen, seen } from './support/processes.ts';
import { opencodeEnv } from './support/servers.ts';
import { expect, test } from './support/test.ts';

test.setTimeout(600_000);

const run = promisify(execFile);

/** Starts a server through the running app. */
async function startServer(folders: Folders, mark: string, name: string, ...flags: string[]): Promise<Seen> {
  const project = join(folders.root, name);
  mkdirSync(project, { recursive: true });
  const env = {
    ...process.env,
    ...opencodeEnv(folders.root),
    ROLLCALL_STATE_DIR: folders.state,
    ROLLCALL_CONFIG_DIR: folders.config,
    XDG_RUNTIME_DIR: folders.runtime,
    [MARK]: mark,
  };
  const words = ['out/cli.js', 'start', 'opencode', '--dir', project, '--json', ...flags];
  const { stdout } = await run(process.execPath, words, { env });
  const server = seen((JSON.parse(stdout) as { pid: number }).pid);
  if (server === null) throw new Error('the server is not there');
  return server;
}

/** All but the one with this PID and those below it. */
function others(all: readonly Seen[], root: number): Seen[] {
  const below = new Set([root]);
  for (let size = 0; size !== below.size; ) {
    size = below.size;
    for (const { pid, ppid } of all) if (below.has(ppid)) below.add(pid);
  }
  return all.filter(({ pid }) => !below.has(pid));
}

/** Each with the real opencode, which takes its time to come up, or a stand-in with tools and a helper of its own. */
const WAYS: readonly (readonly [string, boolean, (app: ElectronApplication) => Promise<void>])[] = [
  ['SIGTERM', true, async (app) => void app.process().kill('SIGTERM')],
  ['SIGINT', false, async (app) => void app.process().kill('SIGINT')],
  ['SIGHUP', false, async (app) => void app.process().kill('SIGHUP')],
  [
    // The event as Electron gives it; there is no logind here that could cause it.
    'the end of the desktop session',
    false,
    (app) =>
      app.evaluate(({ powerMonitor }) => {
        (powerMonitor as NodeJS.EventEmitter).emit('shutdown', { preventDefault: () => undefined });
      }),
  ],
];

for (const [way, real, go] of WAYS) {
  test(`${way} ends the server that is not kept with all its processes, leaves the kept one, and nothing of the app`, async ({
    launch,
    folders,
    mark,
  }) => {
    const env = opencodeEnv(folders.root);
    if (!real) {
      const path = ['ends', 'stays'].map((name) => installFake(join(folders.root, name)))[0];
      folders.configure({ start: { opencode: { path } } });
      env['FAKE'] = JSON.stringify({ tool: true, helper: true });
    }
    const app = await launch({ env });
    await whenServing(folders);
    // One after the other: two that make their first database in one home at once may trip over each other.
    const ends = await startServer(folders, mark, 'ends');
    const stays = await startServer(folders, mark, 'stays', '--keep-running');
    expect([ends, stays].filter(lives)).toHaveLength(2);
    const exited = new Promise((resolve) => app.process().once('exit', resolve));
    await go(app);
    expect(await exited).toBe(0);
    expect(lives(ends)).toBe(false);
    expect(lives(stays)).toBe(true);
    // What is left is the kept server and what it started.
    await eventually(() => expect(others(marked(mark), stays.pid)).toEqual([]));
  });
}

test('a goodbye that comes while the app starts is kept: it does not come up, and ends in order', async ({
  folders,
  mark,
  bus,
}) => {
  const { child, output } = await spawnApp({ folders, mark, bus });
  const exit = ended(child);
  // It holds the writer's lock and has neither core nor desktop yet.
  const lock = join(folders.state, 'writer.lock');
  await eventually(() => expect(readFileSync(lock, 'utf8')).toContain(`"pid":${child.pid}`), 60_000, 2);
  child.kill('SIGTERM');
  expect(await exit).toEqual({ code: 0, signal: null });
  expect(output()).toContain('Rollcall has quit');
  await eventually(() => expect(marked(mark)).toEqual([]));
});
