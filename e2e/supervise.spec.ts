/** Supervising for real: start, ready, stop, crash and adoption, over window, tray and command line. */
import { mkdirSync, readdirSync, readlinkSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { type Folders, spawnApp, whenServing } from './support/app.ts';
import { rollcall } from './support/command-line.ts';
import { ended, eventually, lives, marked, type Seen, seen } from './support/processes.ts';
import { opencodeEnv } from './support/servers.ts';
import { expect, test, windowOf } from './support/test.ts';

test.setTimeout(600_000);

interface Listed {
  readonly servers: readonly {
    readonly id: string;
    readonly pid: number;
    readonly pids: number[];
    readonly standing: string;
  }[];
  readonly records: readonly unknown[];
}

const list = async (folders: Folders, mark: string): Promise<Listed> =>
  JSON.parse(await rollcall(folders, mark, 'list', '--json')) as Listed;

const records = (folders: Folders) => readdirSync(join(folders.state, 'records'));

/** Servers of the test: everything marked that is an opencode. */
const servers = (mark: string) => marked(mark).filter(({ argv }) => argv.includes('serve'));

test('start in the window, ready, its log, stop: no process and no record left', async ({ launch, folders, mark }) => {
  const project = join(folders.root, 'project');
  mkdirSync(project);
  const app = await launch({ env: opencodeEnv(folders.root) });
  const page = await windowOf(app);
  await page
    .getByRole('button', { name: /Start server/u })
    .first()
    .click();
  const dialog = page.getByRole('dialog');
  await expect(dialog.getByRole('radio', { name: /opencode/u })).toBeChecked();
  await dialog.getByLabel('Folder').fill(project);
  await dialog.getByRole('button', { name: 'Start opencode' }).click();
  const row = page.getByRole('row', { name: /Supervised/u });
  await expect(row).toBeVisible();
  const [server] = servers(mark);
  expect(server).toBeDefined();
  const [name] = records(folders);
  expect(statSync(join(folders.state, 'records', name ?? '')).mode & 0o777).toBe(0o600);

  await row.click();
  await expect(page.getByText(/opencode server listening on/u)).toBeVisible();
  await page.getByRole('button', { name: 'Stop…' }).click();
  const question = page.getByRole('alertdialog');
  await question.getByRole('button', { name: /^Stop opencode/u }).click();
  await eventually(() => expect(servers(mark)).toEqual([]));
  await eventually(() => expect(records(folders)).toEqual([]));
  await page.mouse.move(5, 5);
  await expect(page.getByRole('row', { name: /Supervised/u })).toHaveCount(0);
  await app.close();
});

test('A11 the app is SIGKILLed and started again at once: it adopts, and the command line stops what it adopted', async ({
  folders,
  mark,
  bus,
}) => {
  const project = join(folders.root, 'project');
  mkdirSync(project);
  const first = await spawnApp({ folders, mark, bus });
  await whenServing(folders);
  const [one, two] = await Promise.all([
    rollcall(folders, mark, 'start', 'opencode', '--dir', project, '--json'),
    rollcall(folders, mark, 'start', 'opencode', '--dir', project, '--json'),
  ]);
  const { pid, id } = JSON.parse(one) as { pid: number; id: string };
  expect((JSON.parse(two) as { pid: number }).pid).toBe(pid);
  const server = seen(pid);
  if (server === null) throw new Error('the server is not there');

  first.child.kill('SIGKILL');
  await ended(first.child);
  expect(lives(server)).toBe(true);
  const second = await spawnApp({ folders, mark, bus });
  await whenServing(folders);
  const after = await list(folders, mark);
  expect(after.servers.filter(({ standing }) => standing === 'supervised').map((row) => [row.id, row.pid])).toEqual([
    [id, pid],
  ]);
  expect(after.records).toEqual([]);
  expect(servers(mark)).toHaveLength(1);

  // As from cron or sudo, where the runtime folder is another one: the app is found through its lock.
  await rollcall({ ...folders, runtime: join(folders.root, 'elsewhere') }, mark, 'stop', id);
  expect(lives(server)).toBe(false);
  expect(records(folders)).toEqual([]);
  second.child.kill('SIGTERM');
  expect(await ended(second.child)).toEqual({ code: 0, signal: null });
  await eventually(() => expect(marked(mark)).toEqual([]));
});

test('a server started by the command line alone is kept, adopted by the app, and ends with it', async ({
  folders,
  mark,
  bus,
}) => {
  const project = join(folders.root, 'project');
  mkdirSync(project);
  const { pid } = JSON.parse(await rollcall(folders, mark, 'start', 'opencode', '--dir', project, '--json')) as {
    pid: number;
  };
  const server = seen(pid);
  if (server === null) throw new Error('the server is not there');
  expect((await list(folders, mark)).servers.find((row) => row.pid === pid)?.standing).toBe('supervised');
  const app = await spawnApp({ folders, mark, bus });
  await whenServing(folders);
  expect((await list(folders, mark)).servers.find((row) => row.pid === pid)?.standing).toBe('supervised');
  app.child.kill('SIGTERM');
  expect(await ended(app.child)).toEqual({ code: 0, signal: null });
  expect(lives(server)).toBe(false);
  await eventually(() => expect(marked(mark)).toEqual([]));
});

/** What a process has open, as the kernel names it: paths, and sockets and pipes by their inode. */
function openIn(pid: number): string[] {
  return readdirSync(`/proc/${pid}/fd`).flatMap((fd) => {
    try {
      return [readlinkSync(`/proc/${pid}/fd/${fd}`)];
    } catch {
      // It was closed while it was read.
      return [];
    }
  });
}

/** A process and what descends from it. Electron blanks its environment, so the mark does not tell its processes. */
function familyOf(pid: number): Seen[] {
  const all = readdirSync('/proc').flatMap((name) => (/^\d+$/u.test(name) ? (seen(Number(name)) ?? []) : []));
  const family = all.filter((one) => one.pid === pid);
  for (const one of family) family.push(...all.filter(({ ppid }) => ppid === one.pid));
  return family;
}

test('E5 a server that is left running holds nothing of the app, which ends at once and can be started again', async ({
  folders,
  mark,
  bus,
}) => {
  const project = join(folders.root, 'project');
  mkdirSync(project);
  const first = await spawnApp({ folders, mark, bus });
  await whenServing(folders);
  const start = ['start', 'opencode', '--dir', project, '--keep-running', '--json'];
  const { pid, id } = JSON.parse(await rollcall(folders, mark, ...start)) as { pid: number; id: string };
  const server = seen(pid);
  if (server === null) throw new Error('the server is not there');
  const family = familyOf(first.child.pid ?? 0).filter(({ argv }) => !argv.includes('serve'));
  const ofApp = new Set(
    family
      .flatMap((one) => openIn(one.pid))
      .filter((name) => /^(?:socket|pipe|anon_inode):|^\/(?!dev\/)/u.test(name) && !name.includes('/logs/')),
  );
  expect(ofApp.size).toBeGreaterThan(20);
  const shared = openIn(pid).filter(
    (name) => (ofApp.has(name) && !name.startsWith('anon_inode:')) || name.startsWith(join(folders.state, 'electron')),
  );
  expect(shared).toEqual([]);
  // Its log, which the server may have duplicated, is all it has of ours.
  const ours = new Set(openIn(pid).filter((name) => name.startsWith(folders.state)));
  expect([...ours]).toEqual([expect.stringContaining('/logs/')]);

  const exit = ended(first.child);
  first.child.kill('SIGTERM');
  expect(await exit).toEqual({ code: 0, signal: null });
  // In order, and not because the time for it was over.
  expect(first.output()).toContain('Rollcall has quit: 0 servers stopped, 1 left running.');
  expect(lives(server)).toBe(true);
  await eventually(() => expect(family.filter(lives)).toEqual([]));

  const second = await spawnApp({ folders, mark, bus });
  await whenServing(folders);
  expect((await list(folders, mark)).servers.find((row) => row.pid === pid)).toMatchObject({
    id,
    standing: 'supervised',
  });
  await rollcall(folders, mark, 'stop', id);
  second.child.kill('SIGTERM');
  expect(await ended(second.child)).toEqual({ code: 0, signal: null });
  await eventually(() => expect(marked(mark)).toEqual([]));
});
