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
  const idsNow = async () => (await icon.menu()).children.map((line) => line.id).join(' ');
  const before = await idsNow();
  for (let n = 0; n < 5; n += 1) await setRoll(app, roll({ takenAt: `2026-11-30T08:00:0${n}.000Z` }));
  await new Promise((done) => setTimeout(done, 1_300));
  expect(await idsNow()).toBe(before);

  const seen = new Set<string>();
  for (let n = 1; n <= 12; n += 1) {
    await setRoll(app, roll({ servers: Array.from({ length: n }, (_, at) => server(at + 1, 'owned')) }));
    await new Promise((done) => setTimeout(done, 80));
    seen.add((await icon.labels())[0] ?? '');
  }
  await eventually(async () => expect((await icon.labels())[0]).toBe('12 servers, none leaked'));
  // 12 rolls within about a second: the first at once, then one more, then the last.
  expect(seen.size).toBeLessThanOrEqual(4);
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
  await setRoll(app, roll({ servers: [leaked(1, 2.1e9)] }));
  await setRoll(app, roll({ servers: [leaked(1, 2.1e9), leaked(2, 2.21e9)] }));
  const told = await service.find(/leaked$/u);
  expect(told).toMatchObject({ title: '2 servers leaked', body: 'They hold 4.31 GB on local.' });
  await setRoll(app, roll({ servers: [leaked(1, 2.1e9), leaked(2, 2.3e9)] }));
  await setRoll(app, roll({ servers: [leaked(1, 2.1e9)] }));
  await new Promise((done) => setTimeout(done, 11_000));
  expect(service.shown.filter((one) => /leaked/u.test(one.title))).toHaveLength(1);
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
