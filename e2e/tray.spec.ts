import type { Fixture } from './support/fixture-core.ts';
import { roll, server } from './support/fixture-roll.ts';
import { startNotificationService } from './support/notification-service.ts';
import { eventually } from './support/processes.ts';
import { commandsOf, expect, setRoll, test, windowOf } from './support/test.ts';

const leaked = (pid: number, memoryBytes: number) => server(pid, 'leaked', { memoryBytes });

test('the real tray menu shows the roll, and follows it', async ({ panel, launch }) => {
  const host = await panel();
  const app = await launch({ roll: roll({ servers: [server(1, 'owned')] }) });
  const icon = await host.icon();
  // The first menu is set right after the icon has registered.
  await eventually(async () => expect(await icon.labels()).toContain('1 server, none leaked'));
  expect(await icon.tooltip()).toBe('Rollcall: 1 server, none leaked');
  expect(app.windows()).toHaveLength(0);
  const calm = await icon.picture();

  await setRoll(app, roll({ servers: [leaked(1, 700e6), leaked(2, 110e6)] }));
  await eventually(async () => expect((await icon.labels())[0]).toBe('2 servers leaked, 810 MB'));
  expect(await icon.labels()).toEqual([
    '2 servers leaked, 810 MB',
    '2 servers, none busy',
    '─',
    'Reap 2 leaked servers, frees 810 MB',
    'Review…',
    'Open Rollcall',
    '─',
    'local, 2 servers, 2 leaked',
    '─',
    'Start server',
    '─',
    'Settings…',
    'Quit Rollcall',
  ]);
  expect(await icon.tooltip()).toBe('Rollcall: 2 servers leaked, 810 MB');
  const alarmed = await icon.picture();
  expect(alarmed.width).toBeGreaterThanOrEqual(22);
  expect(alarmed.bytes.equals(calm.bytes)).toBe(false);
  await app.close();
});

test('a menu is rebuilt at most once a second, and not for a roll that changes nothing in it', async ({
  panel,
  launch,
}) => {
  const host = await panel();
  const app = await launch({ roll: roll() });
  const icon = await host.icon();
  await eventually(async () => expect(await icon.labels()).toContain('No servers'));
  // Every menu that is set from here on, by its first line.
  await app.evaluate(({ Tray }) => {
    const menus: string[] = [];
    Object.assign(globalThis, { menus });
    const { setContextMenu } = Tray.prototype;
    Tray.prototype.setContextMenu = function (menu) {
      menus.push(menu?.items[0]?.label ?? '');
      setContextMenu.call(this, menu);
    };
  });
  const menus = () => app.evaluate(() => (globalThis as unknown as { menus: string[] }).menus);
  const many = (count: number) => roll({ servers: Array.from({ length: count }, (_, at) => server(at + 1, 'owned')) });
  for (let n = 0; n < 5; n += 1) await setRoll(app, roll({ takenAt: `2026-11-30T08:00:0${n}.000Z` }));
  // The app's own interval is as long and began before this one, so what would have been set for those is set by then.
  await app.evaluate(() => new Promise((done) => setTimeout(done, 1_000)));
  expect(await menus()).toEqual([]);
  await setRoll(app, many(1));
  await expect.poll(menus).toEqual(['1 server, none leaked']);

  // 12 rolls within one turn: at most the first at once, and the last.
  await app.evaluate(
    (_electron, rolls) => {
      for (const one of rolls) (globalThis as unknown as { fixture: Fixture }).fixture.setRoll(one);
    },
    Array.from({ length: 12 }, (_, at) => many(at + 2)),
  );
  await eventually(async () => expect((await icon.labels())[0]).toBe('13 servers, none leaked'));
  const [, ...later] = await menus();
  expect([['13 servers, none leaked'], ['2 servers, none leaked', '13 servers, none leaked']]).toContainEqual(later);
  await app.close();
});

test('one click in the menu reaps what is leaked, once, and a notification tells the result', async ({
  panel,
  launch,
  bus,
}) => {
  const service = await startNotificationService(bus);
  const host = await panel();
  const app = await launch({ roll: roll({ servers: [leaked(1, 700e6), server(2, 'owned')] }) });
  const icon = await host.icon();
  await icon.choose('Reap 1 leaked server, frees 700 MB');
  await eventually(async () =>
    expect(await commandsOf(app)).toEqual([
      { command: { command: 'reap', targets: 'leaked', confirmed: false, force: false }, by: 'tray' },
    ]),
  );
  const told = await service.find(/^1 reaped, 700 MB freed$/u);
  // Markup in a name is shown, not obeyed.
  expect(told.body).toBe('opencode &lt;b&gt;&amp;amp;');
  expect(app.windows()).toHaveLength(0);
  service.click(told);
  await windowOf(app);
  await app.close();
});

test('leaks within the gathering time become one notification, and none is repeated', async ({
  panel,
  launch,
  bus,
}) => {
  const service = await startNotificationService(bus);
  await panel();
  const app = await launch({ roll: roll() });
  await app.evaluate(
    (_electron, rolls) => {
      for (const one of rolls) (globalThis as unknown as { fixture: Fixture }).fixture.setRoll(one);
    },
    [roll({ servers: [leaked(1, 2.1e9)] }), roll({ servers: [leaked(1, 2.1e9), leaked(2, 2.21e9)] })],
  );
  const told = await service.find(/leaked$/u);
  expect(told).toMatchObject({ title: '2 servers leaked', body: 'They hold 4.31 GB on local.' });
  await setRoll(app, roll({ servers: [leaked(1, 2.1e9), leaked(2, 2.3e9)] }));
  await setRoll(app, roll({ servers: [leaked(1, 2.1e9)] }));
  // What would have been told of those is told before this, or with it.
  await setRoll(app, roll({ servers: [leaked(1, 2.1e9), leaked(3, 1e9)] }));
  await service.find(/^opencode .* leaked$/u);
  expect(service.shown.filter((one) => /leaked/u.test(one.title))).toHaveLength(2);
  await app.close();
});

test('every other act that ends a process opens the window with its question', async ({ panel, launch }) => {
  const host = await panel();
  const ours = server(7, 'supervised', { listening: [{ address: '127.0.0.1', port: 4096 }] });
  const app = await launch({ roll: roll({ servers: [ours, server(8, 'detached')] }) });
  const icon = await host.icon();
  const asked = async (line: RegExp, item: string, title: string): Promise<void> => {
    await icon.choose('local, 2 servers', line, item);
    const page = await windowOf(app);
    const question = page.getByRole('alertdialog');
    await expect(question.getByRole('heading', { name: title })).toBeVisible();
    // The safe answer has the focus.
    await expect(question.getByRole('button', { name: 'Cancel' })).toBeFocused();
    await page.keyboard.press('Escape');
    await expect(question).toHaveCount(0);
  };
  await asked(/^● opencode/u, 'Restart…', 'Restart opencode :4096 on local?');
  await asked(/^● opencode/u, 'Stop…', 'Stop opencode :4096 on local?');
  await asked(/^○ opencode/u, 'Reap…', 'Reap opencode :30008 on local?');
  // Asking is not doing.
  expect(await commandsOf(app)).toEqual([]);
  await app.close();
});

test('a URL that no browser opens is told, and the app lives on', async ({ panel, launch, bus }) => {
  const service = await startNotificationService(bus);
  const host = await panel();
  const app = await launch({ roll: roll({ servers: [server(7, 'detached')] }) });
  await app.evaluate(({ shell }) => {
    shell.openExternal = () => Promise.reject(new Error('no program for http'));
  });
  const icon = await host.icon();
  await icon.choose('local, 1 server', /^○ opencode/u, 'Open in browser');
  const told = await service.find(/^Nothing was opened\.$/u);
  expect(told.body).toContain('no program for http');
  expect(await icon.labels()).toContain('1 server, none leaked');
  await app.close();
});
