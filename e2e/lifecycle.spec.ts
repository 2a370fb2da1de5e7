import { copyFileSync, existsSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join, resolve } from 'node:path';
import type { ElectronApplication } from '@playwright/test';
import { type Folders, spawnApp, whenServing } from './support/app.ts';
import type { Fixture } from './support/fixture-core.ts';
import { roll, server } from './support/fixture-roll.ts';
import { ended, eventually, lives, marked, startMarked, startStranger } from './support/processes.ts';
import { expect, setRoll, test, windowOf } from './support/test.ts';

test('E1 without a tray host the window opens with every act, and a host that comes later gets the icon', async ({
  launch,
  panel,
}) => {
  const app = await launch({ roll: roll({ servers: [server(1, 'leaked')] }) });
  const page = await windowOf(app);
  await expect
    .poll(() => app.evaluate(({ BrowserWindow }) => BrowserWindow.getAllWindows()[0]?.isVisible()))
    .toBe(true);
  const info = await page.evaluate(() =>
    (
      globalThis as unknown as { rollcall: { request(name: string, payload: null): Promise<unknown> } }
    ).rollcall.request('app.info', null),
  );
  expect(info).toMatchObject({ hasTray: false, quitLabel: 'Quit Rollcall' });

  const host = await panel();
  const icon = await host.icon();
  await eventually(async () => expect(await icon.labels()).toContain('1 server leaked, 131 MB'));
  expect(app.windows()).toHaveLength(1);
  await app.close();
});

test('E1 a tray host that vanishes brings the window, and its successor gets a new icon', async ({ launch, panel }) => {
  const first = await panel();
  const app = await launch({ roll: roll() });
  await first.icon();
  expect(app.windows()).toHaveLength(0);
  const opened = windowOf(app);
  await first.leave();
  await opened;
  const second = await panel();
  const icon = await second.icon();
  await eventually(async () => expect(await icon.labels()).toContain('No servers'));
  await app.close();
});

test('E1 without any session bus the window opens', async ({ launch }) => {
  const app = await launch({ roll: roll(), bus: null });
  await windowOf(app);
  await app.close();
});

test('E2 closing the last window without a tray quits, in order', async ({ launch, mark }) => {
  const app = await launch({ roll: roll() });
  await windowOf(app);
  const exit = ended(app.process());
  // It may be gone before it has answered.
  await app.evaluate(({ BrowserWindow }) => BrowserWindow.getAllWindows()[0]?.close()).catch(() => undefined);
  expect(await exit).toEqual({ code: 0, signal: null });
  await eventually(() => expect(marked(mark)).toEqual([]));
});

test('E2 closing the window with a tray keeps the app in the tray', async ({ launch, panel }) => {
  const host = await panel();
  const app = await launch({ roll: roll(), args: ['--show'] });
  await windowOf(app);
  await app.evaluate(({ BrowserWindow }) => BrowserWindow.getAllWindows()[0]?.close());
  await expect.poll(() => app.windows().length).toBe(0);
  await (await host.icon()).choose('Open Rollcall');
  await windowOf(app);
  await app.close();
});

test('E3 quitting waits for servers that take their time to stop', async ({ launch, panel, folders }) => {
  const host = await panel();
  const stopping = holdClosing(folders);
  const app = await launch({ roll: roll({ servers: [server(1, 'supervised')] }), env: stopping.env });
  const icon = await host.icon();
  let said = '';
  app.process().stdout?.on('data', (chunk: Buffer) => {
    said += chunk.toString('utf8');
  });
  const exit = ended(app.process());
  await icon.choose('Quit, stopping 1 local server');
  await expect.poll(() => closesOf(app)).toBe(1);
  expect([app.process().exitCode, said]).toEqual([null, '']);
  stopping.end();
  expect(await exit).toEqual({ code: 0, signal: null });
  expect(said).toContain('Rollcall has quit: 1 server stopped.');
});

test('E3 a second quit forces, and quitting never takes longer than its limit', async ({ launch, mark, folders }) => {
  const app = await launch({ roll: roll(), env: holdClosing(folders).env });
  await windowOf(app);
  const child = app.process();
  let said = '';
  child.stdout?.on('data', (chunk: Buffer) => {
    said += chunk.toString('utf8');
  });
  child.kill('SIGTERM');
  await expect.poll(() => closesOf(app)).toBe(1);
  expect(child.exitCode).toBeNull();
  // One that comes along with the first is the same goodbye; a later one is not.
  await expect
    .poll(() => {
      child.kill('SIGTERM');
      return said;
    })
    .toContain('Rollcall was ended before its servers had stopped.');
  expect(await ended(child)).toEqual({ code: 1, signal: null });
  await eventually(() => expect(marked(mark)).toEqual([]));
});

test('quitting asks before it interrupts somebody at work; Cancel stays, and settings that stop nothing ask nothing', async ({
  launch,
  panel,
}) => {
  const host = await panel();
  const busy = server(1, 'supervised', { busy: 'busy', listening: [{ address: '127.0.0.1', port: 4096 }] });
  const app = await launch({ roll: roll({ servers: [busy] }) });
  const icon = await host.icon();
  // The question is the system's own box, which nobody can press here: it is answered in its place.
  await app.evaluate(({ dialog }) => {
    const asked: unknown[] = [];
    Object.assign(globalThis, { asked });
    dialog.showMessageBox = (...given: unknown[]) => {
      asked.push(given.at(-1));
      return Promise.resolve({ response: 0, checkboxChecked: false });
    };
  });
  await icon.choose('Quit, stopping 1 local server…');
  const questions = () => app.evaluate(() => (globalThis as unknown as { asked: unknown[] }).asked);
  await expect.poll(questions).toEqual([
    expect.objectContaining({
      message: 'Quit and stop 1 local server?',
      detail: 'opencode :4096 on local is busy and is interrupted; its sessions end and history is kept.',
      buttons: ['Cancel', 'Quit and stop 1 local server'],
      defaultId: 0,
      cancelId: 0,
    }),
  ]);
  expect(await closesOf(app)).toBe(0);

  await setRoll(app, roll({ servers: [busy], settings: { ...roll().settings, stopLocalServers: false } }));
  const exit = ended(app.process());
  await icon.choose('Quit, leaving 1 local server running');
  expect(await exit).toEqual({ code: 0, signal: null });
});

test('E3 SIGHUP right behind SIGTERM, as at the end of a session, does not cut the quit short', async ({
  folders,
  mark,
  bus,
}) => {
  const stopping = holdClosing(folders);
  const { child, output } = await spawnApp({
    folders,
    mark,
    bus,
    roll: roll({ servers: [server(1, 'supervised')] }),
    env: stopping.env,
  });
  await whenServing(folders);
  const exit = ended(child);
  child.kill('SIGTERM');
  child.kill('SIGHUP');
  // It has begun to quit once it does not listen any more.
  await eventually(() => expect(existsSync(join(folders.runtime, 'rollcall', 'control.sock'))).toBe(false));
  stopping.end();
  expect(await exit).toEqual({ code: 0, signal: null });
  expect(output()).toContain('Rollcall has quit: 1 server stopped.');
});

test('E7 Quit in the tray menu ends the app, with a window open, and leaves no process', async ({
  launch,
  panel,
  mark,
}) => {
  const host = await panel();
  const app = await launch({ roll: roll(), args: ['--show'] });
  await windowOf(app);
  const icon = await host.icon();
  const exit = ended(app.process());
  await icon.choose('Quit Rollcall');
  expect(await exit).toEqual({ code: 0, signal: null });
  await eventually(() => expect(marked(mark)).toEqual([]));
});

test("E9 a second launch shows the first one's window, says so, and exits 0 without touching anything", async ({
  launch,
  panel,
  folders,
  mark,
  bus,
}) => {
  await panel();
  const first = await launch({ roll: roll({ servers: [server(1, 'supervised')] }) });
  expect(first.windows()).toHaveLength(0);
  const opened = windowOf(first);
  const second = await spawnApp({ folders, mark, bus, roll: roll({ servers: [server(1, 'supervised')] }) });
  expect(await ended(second.child)).toEqual({ code: 0, signal: null });
  expect(second.output()).toMatch(/Rollcall already runs, PID \d+\. Its window is shown\./u);
  await opened;
  // Another session, or none, has another runtime folder; the lock says where the first one listens.
  const runtime = join(folders.root, 'elsewhere');
  mkdirSync(runtime, { mode: 0o700 });
  const third = await spawnApp({ folders, mark, bus, roll: roll(), env: { XDG_RUNTIME_DIR: runtime } });
  expect(await ended(third.child)).toEqual({ code: 0, signal: null });
  expect(third.output()).toMatch(/Rollcall already runs, PID \d+\. Its window is shown\./u);
  expect(await closesOf(first)).toBe(0);
  await first.close();
});

test('E4 after SIGKILL the next launch starts at once', async ({ folders, mark, bus }) => {
  const first = await spawnApp({ folders, mark, bus, roll: roll() });
  await whenServing(folders);
  first.child.kill('SIGKILL');
  await ended(first.child);
  const second = await spawnApp({ folders, mark, bus, roll: roll() });
  await whenServing(folders);
  expect(second.child.exitCode, second.output()).toBeNull();
  const exit = ended(second.child);
  second.child.kill('SIGTERM');
  expect((await exit).code).toBe(0);
});

for (const [whose, target, said] of [
  ['a dead PID', () => `${hostname()}-4194303`, null],
  ['a stranger', (pid: number) => `${hostname()}-${pid}`, 'of this machine, which is not this Rollcall'],
  ['another host', () => 'another-host-4711', 'names PID 4711 on host another-host'],
] as const) {
  test(`E4 a SingletonLock of ${whose} never keeps the app from starting`, async ({ folders, mark, bus }) => {
    const stranger = startStranger(mark);
    const userData = join(folders.state, 'electron');
    mkdirSync(userData, { mode: 0o700 });
    symlinkSync(target(stranger.pid), join(userData, 'SingletonLock'));
    const { child, output } = await spawnApp({ folders, mark, bus, roll: roll() });
    await whenServing(folders);
    if (said === null) expect(output()).not.toContain('SingletonLock');
    else expect(output()).toContain(said);
    const exit = ended(child);
    child.kill('SIGTERM');
    expect(await exit).toEqual({ code: 0, signal: null });
    expect(lives(stranger)).toBe(true);
  });
}

test('E4 a state folder that somebody else is in charge of is refused in words, with exit code 1', async ({
  folders,
  mark,
  bus,
}) => {
  const holder = startHolder(folders.state, mark);
  await eventually(() => expect(holder.output()).toContain('locked'));
  const app = await spawnApp({ folders, mark, bus, roll: roll() });
  expect(await ended(app.child)).toEqual({ code: 1, signal: null });
  expect(app.output()).toContain(`PID ${holder.child.pid}`);
  expect(app.output()).toContain('start Rollcall again');
});

test('E13 a start that fails ends with exit code 1 and the reason', async ({ folders, mark, bus }) => {
  const absent = join(folders.root, 'absent');
  const { child, output } = await spawnApp({
    folders,
    mark,
    bus,
    roll: roll(),
    env: { ROLLCALL_FIXTURE_ROLL: absent },
  });
  expect(await ended(child)).toEqual({ code: 1, signal: null });
  expect(output()).toContain(absent);
  await eventually(() => expect(marked(mark)).toEqual([]));
});

test('E13 a package that is missing ends the start with exit code 1 and its name, not with an error box', async ({
  folders,
  mark,
  bus,
}) => {
  const appDir = join(folders.root, 'broken');
  mkdirSync(appDir);
  writeFileSync(join(appDir, 'package.json'), JSON.stringify({ name: 'rollcall', type: 'module', main: 'main.js' }));
  copyFileSync(resolve(import.meta.dirname, '../out/main.js'), join(appDir, 'main.js'));
  writeFileSync(join(appDir, 'app.js'), "import 'a-package-that-is-missing';\n");
  const { child, output } = await spawnApp({ folders, mark, bus, appDir });
  expect(await ended(child)).toEqual({ code: 1, signal: null });
  expect(output()).toContain('a-package-that-is-missing');
  await eventually(() => expect(marked(mark)).toEqual([]));
});

/** Servers that take their time: what the app is given closes once `end` was called. */
function holdClosing(folders: Folders): { readonly env: Record<string, string>; end(): void } {
  const file = join(folders.root, 'closing');
  writeFileSync(file, '');
  return { env: { ROLLCALL_FIXTURE_CLOSE_WHILE: file }, end: () => rmSync(file) };
}

/** How often the app has begun to close. */
function closesOf(app: ElectronApplication): Promise<number> {
  return app.evaluate(() => (globalThis as unknown as { fixture: Fixture }).fixture.closes);
}

/** Holds the writer's lock as an app that hangs does, for as long as it lives. */
function startHolder(state: string, mark: string): ReturnType<typeof startMarked> {
  const script = `printf '{"holder":"app","pid":%d,"since":"2026-11-30T08:00:00.000Z","version":"0"}\\n' $$ >&9; echo locked; exec sleep 600`;
  return startMarked(mark, ['bash', '-c', `exec 9<>"$0"; flock -n 9 || exit 9; ${script}`, join(state, 'writer.lock')]);
}
