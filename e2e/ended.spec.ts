/** A server that ends unasked, with the real app and real processes: told, counted down, started again, given up, forgotten. */
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { installFake } from '../app/supervisor/testing/fake-opencode.ts';
import { type Folders, whenServing } from './support/app.ts';
import { rollcall } from './support/command-line.ts';
import { startNotificationService } from './support/notification-service.ts';
import { eventually, lives, marked, type Seen, seen } from './support/processes.ts';
import { expect, test, windowOf } from './support/test.ts';

test.setTimeout(600_000);

/** Servers of these folders are a small stand-in for opencode: what matters here is how they end. */
function configure(folders: Folders, attempts: number): string {
  const program = installFake(join(folders.root, 'bin'));
  writeFileSync(
    join(folders.config, 'config.json'),
    JSON.stringify({
      look: { intervalSeconds: 0.5 },
      restart: { when: 'failure', attempts },
      start: { opencode: { path: program } },
    }),
    { mode: 0o600 },
  );
  const project = join(folders.root, 'bin');
  mkdirSync(project, { recursive: true });
  return project;
}

/** The marked server that runs and is not one of these. */
function running(mark: string, before: readonly Seen[] = []): Seen[] {
  return marked(mark).filter(
    ({ argv, pid }) => argv[1] === 'serve' && argv.includes('--port') && !before.some((one) => one.pid === pid),
  );
}

interface Listed {
  readonly servers: readonly {
    readonly pid: number;
    readonly listening: readonly { readonly port: number }[];
    readonly supervised: { readonly state: string } | null;
  }[];
  readonly ended: readonly { readonly nonce: string; readonly state: string }[];
}

const list = async (folders: Folders, mark: string): Promise<Listed> =>
  JSON.parse(await rollcall(folders, mark, 'list', '--json')) as Listed;

async function start(folders: Folders, mark: string, project: string): Promise<{ server: Seen; port: number }> {
  const started = JSON.parse(await rollcall(folders, mark, 'start', 'opencode', '--dir', project, '--json')) as {
    pid: number;
    url: string;
  };
  const server = seen(started.pid);
  if (server === null) throw new Error('the server is not there');
  return { server, port: Number(new URL(started.url).port) };
}

/** SIGKILLs a server and waits until the app has a ready one in its place. */
async function crash(folders: Folders, mark: string, server: Seen): Promise<Seen> {
  process.kill(server.pid, 'SIGKILL');
  return eventually(
    async () => {
      const [next] = running(mark, [server]);
      if (next === undefined) throw new Error('it was not started again');
      const row = (await list(folders, mark)).servers.find(({ pid }) => pid === next.pid);
      expect(row?.supervised?.state).toBe('ready');
      return next;
    },
    60_000,
    200,
  );
}

test('A10 a server that is SIGKILLed counts down to its restart in the window, and Start now does not wait for it', async ({
  launch,
  folders,
  mark,
  bus,
}) => {
  const project = configure(folders, 5);
  const notifications = await startNotificationService(bus);
  // Without a panel the window opens by itself.
  const app = await launch();
  const page = await windowOf(app);
  await whenServing(folders);
  let { server, port } = await start(folders, mark, project);
  // Each crash in a row doubles the wait; the fourth is long enough to be seen counting.
  for (let n = 1; n <= 3; n += 1) server = await crash(folders, mark, server);
  process.kill(server.pid, 'SIGKILL');

  const alert = page.getByRole('region', { name: `opencode :${port} on local ended unexpectedly` });
  const detail = alert.locator('.strip-detail');
  await expect(detail).toHaveText(/^It was ended by SIGKILL\. It starts again in [1-8] s, attempt 4 of 5\.$/u);
  const seconds = async (): Promise<number> => Number(/in (\d+) s/u.exec((await detail.textContent()) ?? '')?.[1]);
  const first = await seconds();
  await eventually(async () => expect(await seconds()).toBeLessThan(first));
  await alert.getByRole('button', { name: 'Start now' }).click();

  const [next] = await eventually(() => {
    const found = running(mark, [server]);
    expect(found).toHaveLength(1);
    return found;
  });
  await expect(page.getByRole('row', { name: new RegExp(`Supervised.*opencode.*:${port}`, 'u') })).toBeVisible();
  await expect(alert).toHaveCount(0);
  const after = await list(folders, mark);
  expect(after.ended).toEqual([]);
  expect(after.servers.filter(({ supervised }) => supervised !== null).map((row) => row.listening[0]?.port)).toEqual([
    port,
  ]);
  expect(next !== undefined && lives(next)).toBe(true);
  // One event, one notification: neither each crash in a row nor the person's own start is another.
  expect(notifications.shown.filter(({ title }) => /ended/u.test(title))).toMatchObject([
    {
      title: `opencode :${port} on local ended unexpectedly`,
      body: 'It was ended by SIGKILL. Restarting, attempt 1 of 5.',
    },
  ]);
  await app.close();
  await eventually(() => expect(running(mark)).toEqual([]));
});

test('A10 one that is given up is a fault in tray and window, with its log, until it is forgotten', async ({
  launch,
  panel,
  folders,
  mark,
  bus,
}) => {
  const project = configure(folders, 1);
  const notifications = await startNotificationService(bus);
  const host = await panel();
  const app = await launch();
  await whenServing(folders);
  const icon = await host.icon();
  const { server, port } = await start(folders, mark, project);
  const name = `opencode :${port}`;
  await eventually(async () => expect((await icon.labels())[0]).toMatch(/none leaked$/u));
  const calm = await icon.picture();
  process.kill((await crash(folders, mark, server)).pid, 'SIGKILL');

  await eventually(async () => expect(await icon.tooltip()).toBe(`Rollcall: ${name} on local ended unexpectedly`));
  const labels = await icon.labels();
  expect(labels[0]).toBe(`${name} on local ended unexpectedly`);
  expect(labels).toContain(`Start ${name} again`);
  expect((await icon.picture()).bytes.equals(calm.bytes)).toBe(false);
  const told = await notifications.find(/ended unexpectedly$/u);
  expect(told.body).toMatch(/^It was ended by SIGKILL\. (Restarting, attempt 1 of 1|It runs again|It was given up)/u);
  expect(await rollcall(folders, mark, 'list')).toMatch(
    new RegExp(`1 server ended unexpectedly\\n {2}[0-9a-f]{8} {2}${name} on local, PID \\d+, ended`, 'u'),
  );

  await icon.choose(/^local, .*1 ended$/u, `▲ ${name}, gave up`, 'Show log…');
  const page = await windowOf(app);
  const log = page.getByRole('dialog', { name: `Log of ${name} on local` });
  await expect(log.getByText(`opencode server listening on http://127.0.0.1:${port}`).first()).toBeVisible();
  await page.keyboard.press('Escape');
  await expect(log).toHaveCount(0);
  const alert = page.getByRole('region', { name: `${name} on local ended unexpectedly` });
  await expect(alert.locator('.strip-detail')).toHaveText(
    'It was ended by SIGKILL. It was given up after 1 attempt; its log may tell why.',
  );
  // Reached and pressed by the keyboard alone.
  await alert.getByRole('button', { name: 'Forget' }).focus();
  await page.keyboard.press('Enter');
  await expect(alert).toHaveCount(0);
  expect((await list(folders, mark)).ended).toEqual([]);
  expect(readdirSync(join(folders.state, 'records'))).toEqual([]);
  expect(running(mark)).toEqual([]);
  await eventually(async () => expect((await icon.labels())[0]).not.toContain('ended'));
  expect((await icon.picture()).bytes.equals(calm.bytes)).toBe(true);
  await app.close();
});
