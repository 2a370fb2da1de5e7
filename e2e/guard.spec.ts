/** The guard of the real app: what happens to its servers when Electron is killed, and when the guard is. */
import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { GRACE_VARIABLE } from '../app/guard/grace.ts';
import { installFake } from '../app/supervisor/testing/fake-opencode.ts';
import { electronRuntime, type Folders, spawnApp, whenServing } from './support/app.ts';
import { ended, eventually, lives, MARK, marked, type Seen, seen } from './support/processes.ts';
import { expect, test, windowOf } from './support/test.ts';

test.setTimeout(600_000);

const run = promisify(execFile);
const ROOT = resolve(import.meta.dirname, '..');
/** What a guard may cost, in bytes (DESIGN section 6). */
const PRIVATE_LIMIT = 30_000_000;

/** Makes `opencode` of this state folder the fake, which starts at once. */
function useFake(folders: Folders): void {
  const path = installFake(join(folders.root, 'project'));
  writeFileSync(
    join(folders.config, 'config.json'),
    JSON.stringify({ look: { intervalSeconds: 0.5 }, start: { opencode: { path } } }),
    { mode: 0o600 },
  );
}

async function rollcall(folders: Folders, mark: string, ...args: string[]): Promise<string> {
  const env = {
    ...process.env,
    ROLLCALL_STATE_DIR: folders.state,
    ROLLCALL_CONFIG_DIR: folders.config,
    XDG_RUNTIME_DIR: folders.runtime,
    [MARK]: mark,
  };
  const { stdout } = await run(process.execPath, [join(ROOT, 'out/cli.js'), ...args], { env });
  return stdout;
}

async function start(folders: Folders, mark: string, name: string, ...args: string[]): Promise<Seen> {
  const directory = join(folders.root, name);
  mkdirSync(directory, { recursive: true });
  cpSync(join(folders.root, 'project', 'serve'), join(directory, 'serve'));
  const { pid } = JSON.parse(
    await rollcall(folders, mark, 'start', 'opencode', '--dir', directory, '--json', ...args),
  ) as { pid: number };
  const server = seen(pid);
  if (server === null) throw new Error('the server is not there');
  return server;
}

const guards = (mark: string): Seen[] =>
  marked(mark).filter(({ argv }) => argv.some((word) => word.endsWith('/guard.js')));

async function guardOf(mark: string, other: Seen | null = null): Promise<Seen> {
  return eventually(() => {
    const [one, ...more] = guards(mark).filter(({ pid }) => pid !== other?.pid);
    if (one === undefined || more.length > 0) throw new Error(`${more.length + 1} guards`);
    return one;
  });
}

/** Private memory of a process, in bytes. */
function privateBytes(pid: number): number {
  const text = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8');
  return [...text.matchAll(/^Private_(?:Clean|Dirty): +(\d+) kB$/gmu)].reduce(
    (sum, [, kilobytes]) => sum + Number(kilobytes) * 1024,
    0,
  );
}

test('A11 Electron is SIGKILLed, nobody comes, no node is installed: what is not kept ends, what is kept lives', async ({
  folders,
  mark,
  bus,
}) => {
  useFake(folders);
  const env = { [GRACE_VARIABLE]: '500', PATH: join(folders.root, 'empty') };
  const app = await spawnApp({ folders, mark, bus, env });
  await whenServing(folders);
  const many = await Promise.all(['a', 'b', 'c'].map((name) => start(folders, mark, name)));
  const kept = await start(folders, mark, 'kept', '--keep-running');
  const guard = await guardOf(mark);
  expect(guard.argv[0]).toBe((await electronRuntime()).executable);
  // It settles when what it started with is collected.
  await eventually(() => {
    const cost = privateBytes(guard.pid);
    expect(cost, `the guard has ${Math.round(cost / 1e6)} MB of its own`).toBeLessThanOrEqual(PRIVATE_LIMIT);
  });

  app.child.kill('SIGKILL');
  await ended(app.child);
  await eventually(() => expect(many.filter(lives)).toEqual([]));
  await eventually(() => expect(lives(guard)).toBe(false));
  expect(lives(kept)).toBe(true);
  // Nobody is left but the kept server.
  await eventually(() => expect(marked(mark).map(({ pid }) => pid)).toEqual([kept.pid]));
});

test('A11 Electron and its guard are killed in turn: the next app adopts, the next guard knows everything', async ({
  folders,
  mark,
  bus,
}) => {
  useFake(folders);
  const first = await spawnApp({ folders, mark, bus });
  await whenServing(folders);
  const server = await start(folders, mark, 'a');
  const guard = await guardOf(mark);
  process.kill(guard.pid, 'SIGKILL');
  const second = await guardOf(mark, guard);
  await eventually(
    async () => expect(await rollcall(folders, mark, 'audit')).toContain('The guard runs again'),
    60_000,
  );

  first.child.kill('SIGKILL');
  await ended(first.child);
  const log = (): string => readFileSync(join(folders.state, 'logs/guard.log'), 'utf8');
  await eventually(() => expect(log()).toMatch(/ in-charge$/mu));
  // While it waits, it answers commands.
  expect(await rollcall(folders, mark, 'list')).toContain('Supervised');
  const app = await spawnApp({ folders, mark, bus });
  await eventually(() => expect(log()).toMatch(/ yields$/mu));
  await whenServing(folders);
  expect(lives(server)).toBe(true);
  expect(lives(second)).toBe(false);
  await guardOf(mark);
  app.child.kill('SIGTERM');
  expect(await ended(app.child)).toEqual({ code: 0, signal: null });
  await eventually(() => expect(marked(mark)).toEqual([]));
});

test('a guard that cannot be started is shown, in window and list, and comes back by itself', async ({
  launch,
  folders,
  mark,
}) => {
  useFake(folders);
  // The app as it is built, but its guard is missing.
  const appDir = join(folders.root, 'app');
  cpSync(join(ROOT, 'out'), join(appDir, 'out'), { recursive: true });
  cpSync(join(ROOT, 'package.json'), join(appDir, 'package.json'));
  symlinkSync(join(ROOT, 'node_modules'), join(appDir, 'node_modules'));
  const guard = join(appDir, 'out', 'guard.js');
  renameSync(guard, `${guard}.away`);
  const app = await launch({ appDir });
  const page = await windowOf(app);
  await start(folders, mark, 'a');
  const strip = page.getByRole('region', { name: 'The guard does not run' });
  await expect(strip).toContainText('If Rollcall crashed now, 1 local server would be left behind.', {
    timeout: 60_000,
  });
  expect(await rollcall(folders, mark, 'list')).toContain('The guard does not run');
  await strip.getByRole('button', { name: 'Start the guard' }).click();
  await expect(page.getByRole('alert')).toContainText('It ended with code 1');

  // It is tried again by itself, too, with longer and longer pauses.
  renameSync(`${guard}.away`, guard);
  await eventually(
    async () => expect(await rollcall(folders, mark, 'list')).not.toContain('The guard does not run'),
    60_000,
    1000,
  );
  expect(guards(mark)).toHaveLength(1);
  await page.getByRole('alert').getByRole('button', { name: 'Dismiss' }).click();
  await expect(strip).toHaveCount(0);
  await app.close();
  await eventually(() => expect(marked(mark)).toEqual([]));
});
