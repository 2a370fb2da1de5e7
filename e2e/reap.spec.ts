/** The proof: real opencode servers, real Electron, one click; who must go goes, and nobody else is touched. */
import { execFile, execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Page } from '@playwright/test';
import { type AuditLine, readAudit } from '../app/audit/audit.ts';
import type { Folders } from './support/app.ts';
import { assemble, type Cast, orphan } from './support/cast.ts';
import { type FakeModel, prompt, startFakeModel, writeOpencodeConfig } from './support/fake-model.ts';
import { startNotificationService } from './support/notification-service.ts';
import { endMarked, eventually, lives, MARK, marked, newMark, type Seen, seen } from './support/processes.ts';
import { opencodeEnv, type StartedServer, startByLauncher } from './support/servers.ts';
import { test as base, expect, windowOf } from './support/test.ts';

const test = base.extend<{ readonly model: FakeModel }, { readonly cast: Cast }>({
  // Standings are to change within a test's patience.
  folders: async ({ folders }, use) => {
    folders.configure({ leak: { graceSeconds: 3 } });
    await use(folders);
  },
  // Bystanders live through all tests of a worker: nothing that is done here may touch them.
  cast: [
    // biome-ignore lint/correctness/noEmptyPattern: Playwright reads a fixture's needs from this pattern
    async ({}, use) => {
      const root = mkdtempSync(join(tmpdir(), 'rollcall-cast-'));
      const cast = await assemble(root);
      await use(cast);
      expect(cast.fallen()).toEqual([]);
      await cast.end();
      rmSync(root, { recursive: true, force: true });
    },
    { scope: 'worker', timeout: 600_000 },
  ],
  // biome-ignore lint/correctness/noEmptyPattern: Playwright reads a fixture's needs from this pattern
  model: async ({}, use) => {
    const model = await startFakeModel();
    await use(model);
    await model.close();
  },
});

test.setTimeout(600_000);

/** A server with MCP servers of its own, asked to run this; everything of it carries the returned mark. */
async function working(
  root: string,
  name: string,
  model: FakeModel,
  text: string,
): Promise<StartedServer & { mark: string }> {
  const mark = newMark();
  const env = writeOpencodeConfig(join(root, `config-${name}`), model);
  const directory = join(root, name);
  const server = await startByLauncher({ mark, home: join(root, `home-${name}`), directory, env });
  await prompt(server.port, directory, text);
  return { ...server, mark };
}

const argvOf = (all: readonly Seen[]) => all.map(({ argv }) => argv.join(' '));

/** Everything that carries the mark but the launcher. */
async function treeWith(mark: string, ...wanted: RegExp[]): Promise<Seen[]> {
  return eventually(
    () => {
      const all = marked(mark);
      for (const each of wanted) {
        if (!argvOf(all).some((argv) => each.test(argv)))
          throw new Error(`no ${String(each)} among\n${argvOf(all).join('\n')}`);
      }
      return all;
    },
    60_000,
    200,
  );
}

/** Rejects when somebody listens on the port; threads that are still exiting may do so for a moment. */
function portIsFree(port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(port, '127.0.0.1', () => server.close(() => resolve()));
  });
}

function auditOf(state: string): readonly AuditLine[] {
  return readAudit(join(state, 'audit.jsonl'));
}

/** PIDs that were signalled or asked to dispose, as the audit tells. */
const touched = (state: string) => [
  ...new Set(
    auditOf(state).flatMap(({ event, pid }) => (/^(signal|dispose)-intent$/u.test(event) && pid !== null ? [pid] : [])),
  ),
];

/** Intent and outcome come in pairs, each outcome after its intent. */
function expectPairs(state: string): void {
  const open: string[] = [];
  for (const { event, pid, signal } of auditOf(state)) {
    const key = `${pid} ${signal}`;
    if (event.endsWith('-intent')) open.push(key);
    if (event.endsWith('-outcome')) expect(open.splice(open.indexOf(key), 1)).toEqual([key]);
  }
  expect(open).toEqual([]);
}

/** With the app running, the CLI shows the app's roll. */
function expectSameOnTerminal(folders: Folders, cast: Cast): void {
  const env = {
    ...process.env,
    ROLLCALL_STATE_DIR: folders.state,
    ROLLCALL_CONFIG_DIR: folders.config,
    XDG_RUNTIME_DIR: folders.runtime,
  };
  const text = execFileSync(process.execPath, ['out/cli.js', 'list', '--json'], { env, encoding: 'utf8' });
  const listed = JSON.parse(text) as { version: number; servers: { pid: number; standing: string }[] };
  const standingOf = (pid: number) => listed.servers.find((server) => server.pid === pid)?.standing;
  expect(listed.version).toBe(1);
  expect(standingOf(cast.owned.listener.pid)).toBe('owned');
  expect(standingOf(cast.detached.listener.pid)).toBe('detached');
  if (cast.service !== null) expect(standingOf(cast.service.listener.pid)).toBe('service');
  expect(standingOf(cast.lookAlike.pid)).toBeUndefined();
}

/** One that the app supervises, started over the command line. */
async function startSupervised(folders: Folders, mark: string): Promise<Seen> {
  const directory = join(folders.root, 'supervised');
  mkdirSync(directory);
  const env = {
    ...process.env,
    ROLLCALL_STATE_DIR: folders.state,
    ROLLCALL_CONFIG_DIR: folders.config,
    XDG_RUNTIME_DIR: folders.runtime,
    [MARK]: mark,
  };
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ['out/cli.js', 'start', 'opencode', '--dir', directory, '--json'],
    { env },
  );
  const one = seen((JSON.parse(stdout) as { pid: number }).pid);
  if (one === null) throw new Error('the supervised server is not there');
  return one;
}

test('A2 one click in the real tray menu reaps a leaked server and the leftovers of a dead one, and nobody else', async ({
  cast,
  model,
  launch,
  panel,
  folders,
  mark,
  bus,
}) => {
  const service = await startNotificationService(bus);
  // One server is going to be leaked with its MCP servers; another one dies while its tool runs.
  const leaked = await working(folders.root, 'leaked', model, 'hello');
  const dead = await working(folders.root, 'dead', model, 'RUN: sleep 301 & sleep 302');
  try {
    await treeWith(leaked.mark, /fake-mcp\.mjs sticky/u, /fake-mcp\.mjs$/u);
    await treeWith(dead.mark, /^sleep 301$/u, /^sleep 302$/u, /fake-mcp\.mjs sticky/u);
    const host = await panel();
    const app = await launch({ env: opencodeEnv(join(folders.root, 'home-supervised')) });
    const icon = await host.icon();
    const lines = async () => (await icon.menu()).children.flatMap((one) => one.children.map((line) => line.label));
    const hasLine = (pattern: RegExp) =>
      eventually(async () => expect((await lines()).filter((line) => pattern.test(line))).toHaveLength(1), 60_000, 500);
    await hasLine(new RegExp(`^◉ opencode :${leaked.port}`, 'u'));
    await hasLine(new RegExp(`^◉ opencode :${cast.owned.port}`, 'u'));
    await hasLine(new RegExp(`^○ opencode :${cast.detached.port}`, 'u'));
    if (cast.service !== null) await hasLine(new RegExp(`^■ opencode :${cast.service.port}`, 'u'));

    expectSameOnTerminal(folders, cast);
    const supervised = await startSupervised(folders, mark);
    await hasLine(/^● opencode :\d+/u);

    process.kill(dead.listener.pid, 'SIGKILL');
    await orphan(dead);
    await orphan(leaked);
    await hasLine(new RegExp(`^◆ opencode :${leaked.port}, `, 'u'));
    const before = [...marked(leaked.mark), ...marked(dead.mark)];
    await icon.choose(/^Reap 1 server and \d leftovers?, frees /u);
    await service.find(/reaped, .* freed$/u);

    await eventually(() => expect(argvOf([...marked(leaked.mark), ...marked(dead.mark)])).toEqual([]));
    await eventually(() => portIsFree(leaked.port));
    const reaped = new Set(before.map(({ pid }) => pid));
    expect(touched(folders.state).filter((pid) => !reaped.has(pid))).toEqual([]);
    expect(touched(folders.state)).toContain(leaked.listener.pid);
    expect(lives(supervised)).toBe(true);
    expectPairs(folders.state);
    const words = auditOf(folders.state).map(({ event, by }) => `${event} ${by}`);
    expect(words).toContain('dispose-intent tray');
    expect(words).toContain('reaped tray');
    await eventually(async () => expect((await lines()).some((line) => line.startsWith('◆'))).toBe(false));
    await app.close();
    // It ends with the app, which started it, and only then.
    await eventually(() => expect(lives(supervised)).toBe(false));
  } finally {
    await endMarked(leaked.mark);
    await endMarked(dead.mark);
  }
});

async function rowOf(page: Page, port: number): Promise<ReturnType<Page['locator']>> {
  // Rows keep their place while the pointer is in the list.
  await page.mouse.move(5, 5);
  const row = page.getByRole('row', { name: new RegExp(`:${port}\\b`, 'u') });
  await expect(row).toBeVisible();
  return row;
}

test('A7 in the window: why it is leaked, the plan, one click, and a busy one only by force', async ({
  cast,
  model,
  launch,
  folders,
}) => {
  const leaked = await working(folders.root, 'leaked', model, 'hello');
  const busy = await working(folders.root, 'busy', model, 'RUN: sleep 301 & sleep 302');
  try {
    await treeWith(leaked.mark, /fake-mcp\.mjs sticky/u);
    const busyTree = await treeWith(busy.mark, /^sleep 301$/u, /^sleep 302$/u, /fake-mcp\.mjs sticky/u);
    const app = await launch();
    const page = await windowOf(app);
    await expect(await rowOf(page, leaked.port)).toContainText('Owned');
    const views = page.getByRole('navigation', { name: 'Views' });
    const sessionOn = (port: number) =>
      page
        .getByRole('grid', { name: 'Sessions' })
        .getByRole('row')
        .filter({ hasText: `opencode :${port}` });
    await views.getByRole('button', { name: /^Sessions/u }).click();
    await expect(sessionOn(busy.port)).toContainText('Busy');
    // Of this one nothing was said since the app is there.
    await expect(sessionOn(leaked.port)).toBeVisible();
    await views.getByRole('button', { name: /^Servers/u }).click();
    await orphan(leaked);
    await orphan(busy);

    const row = await rowOf(page, leaked.port);
    await expect(row).toContainText('Leaked');
    await row.click();
    const details = page.getByRole('complementary').filter({ hasText: 'Why is this leaked?' });
    await expect(details).toContainText(
      new RegExp(`Its owner node, PID ${leaked.launcher.pid}, exited at \\d\\d:\\d\\d`, 'u'),
    );
    await expect(details).toContainText(`No client connected to :${leaked.port}`);
    await expect(details).toContainText('event stream silent');

    await page.mouse.move(5, 5);
    await page.getByRole('button', { name: 'Reap 1 server', exact: true }).click();
    await eventually(() => expect(argvOf(marked(leaked.mark))).toEqual([]));
    await eventually(() => portIsFree(leaked.port));
    await expect(page.getByRole('row', { name: new RegExp(`:${leaked.port}\\b`, 'u') })).toHaveCount(0, {
      timeout: 60_000,
    });

    const busyRow = await rowOf(page, busy.port);
    await expect(busyRow).toContainText('Suspect');
    await busyRow.click();
    await page.keyboard.press('Delete');
    const dialog = page.getByRole('alertdialog');
    await expect(dialog).toContainText(/a tool runs/iu);
    const confirm = dialog.getByRole('button', { name: /^Reap opencode/u });
    await expect(dialog.getByRole('button', { name: 'Cancel' })).toBeFocused();
    expect(busyTree.filter(({ pid }) => pid !== busy.launcher.pid).every(lives)).toBe(true);
    await dialog.getByRole('checkbox').first().check();
    await confirm.click();
    await eventually(() => expect(argvOf(marked(busy.mark))).toEqual([]));
    await eventually(() => portIsFree(busy.port));
    // Its session is past, and says why.
    await views.getByRole('button', { name: /^Sessions/u }).click();
    await expect(sessionOn(busy.port)).toContainText('Ended');

    const ours = new Set([leaked, busy].flatMap(({ listener }) => [listener.pid]));
    expect(touched(folders.state).some((pid) => ours.has(pid))).toBe(true);
    expect(cast.fallen()).toEqual([]);
    expectPairs(folders.state);
    await app.close();
  } finally {
    await endMarked(leaked.mark);
    await endMarked(busy.mark);
  }
});
