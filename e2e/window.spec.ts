import { resolve } from 'node:path';
import { roll, server } from './support/fixture-roll.ts';
import { expect, setRoll, test, windowOf } from './support/test.ts';

interface Page {
  rollcall?: {
    request(name: string, payload: unknown): Promise<unknown>;
    on(name: string, listener: (payload: unknown) => void): () => void;
  };
  require?: unknown;
  process?: unknown;
  module?: unknown;
  heard?: unknown[];
}

test('the page has the bridge and nothing of Node or Electron', async ({ launch }) => {
  const app = await launch({ roll: roll() });
  const page = await windowOf(app);
  const found = await page.evaluate(() => {
    const here = globalThis as unknown as Page;
    return {
      bridge: Object.keys(here.rollcall ?? {}).sort(),
      node: [typeof here.require, typeof here.process, typeof here.module],
    };
  });
  expect(found).toEqual({ bridge: ['on', 'request'], node: ['undefined', 'undefined', 'undefined'] });
  const preferences = await app.evaluate(({ BrowserWindow }) => {
    const contents = BrowserWindow.getAllWindows()[0]?.webContents as unknown as {
      getLastWebPreferences(): Record<string, unknown>;
    };
    const { sandbox, contextIsolation, nodeIntegration, webviewTag } = contents.getLastWebPreferences();
    return { sandbox, contextIsolation, nodeIntegration, webviewTag };
  });
  expect(preferences).toMatchObject({ sandbox: true, contextIsolation: true, nodeIntegration: false });
  await app.close();
});

test('the roll is answered and pushed through the bridge', async ({ launch }) => {
  const app = await launch({ roll: roll({ servers: [server(1, 'owned')] }) });
  const page = await windowOf(app);
  await page.waitForLoadState();
  const first = await page.evaluate(() => (globalThis as unknown as Page).rollcall?.request('roll.get', null));
  expect(first).toMatchObject({ version: 1, servers: [{ pid: 1 }] });
  await page.evaluate(() => {
    const here = globalThis as unknown as Page;
    here.heard = [];
    here.rollcall?.on('roll.changed', (next) => here.heard?.push(next));
  });
  await setRoll(app, roll({ servers: [server(1, 'owned'), server(2, 'leaked')] }));
  // Only what changed is sent.
  await expect
    .poll(() => page.evaluate(() => (globalThis as unknown as Page).heard?.at(-1)))
    .toMatchObject({
      type: 'parts',
      base: { version: 1 },
      to: { version: 2 },
      parts: { version: 2 },
      servers: { changed: [{ pid: 2, standing: 'leaked' }] },
    });
  // The pointer may be over the list, where nothing moves; the totals follow at once.
  await expect(page.getByText('1 server leaked, 131 MB')).toBeVisible();
  await app.close();
});

test('an invalid message is refused before it reaches the core', async ({ launch }) => {
  const app = await launch({ roll: roll() });
  const page = await windowOf(app);
  await page.waitForLoadState();
  const ask = (name: string, payload: unknown): Promise<string> =>
    page.evaluate(
      ([channel, message]) =>
        (globalThis as unknown as Page).rollcall?.request(channel as string, message).then(
          () => 'answered',
          (error: Error) => error.message,
        ) ?? Promise.resolve('no bridge'),
      [name, payload] as const,
    );
  expect(await ask('command.run', { command: 'reap', targets: 'everything', confirmed: true, force: true })).toMatch(
    /^The request command\.run was refused: /u,
  );
  expect(await ask('command.run', { command: 'look', extra: 1 })).toMatch(/was refused/u);
  expect(await ask('no.such', null)).toBe('There is no request no.such.');
  expect(await ask('constructor', null)).toBe('There is no request constructor.');
  expect(await ask('text.copy', { text: 'x'.repeat(10_001) })).toMatch(/was refused/u);
  const commands = await app.evaluate(
    () => (globalThis as unknown as { fixture: { commands: unknown[] } }).fixture.commands,
  );
  expect(commands).toEqual([]);
  await app.close();
});

test('a window that is not ours gets no answer, even with the same preload', async ({ launch }) => {
  const app = await launch({ roll: roll() });
  await windowOf(app);
  const preload = resolve(import.meta.dirname, '../out/preload.cjs');
  const answer = await app.evaluate(async ({ BrowserWindow }, path) => {
    const other = new BrowserWindow({ show: false, webPreferences: { preload: path, sandbox: true } });
    await other.loadURL('app://rollcall/index.html');
    return other.webContents.executeJavaScript(
      "window.rollcall.request('roll.get', null).then(() => 'answered', (error) => error.message)",
    );
  }, preload);
  expect(answer).toBe("The request roll.get was refused: it does not come from Rollcall's window.");
  await app.close();
});

test('navigation, new windows, permissions and the network are denied', async ({ launch }) => {
  const app = await launch({ roll: roll() });
  const page = await windowOf(app);
  await page.waitForLoadState();
  const before = page.url();
  expect(before).toBe('app://rollcall/index.html');
  await app.evaluate(({ BrowserWindow }) => {
    const tried: string[] = [];
    Object.assign(globalThis, { tried });
    BrowserWindow.getAllWindows()[0]?.webContents.on('will-frame-navigate', ({ url }) => tried.push(url));
  });
  const tried = await page.evaluate(async () => {
    const opened = window.open('https://127.0.0.1/');
    const permission = await Notification.requestPermission();
    const fetched = await fetch('http://127.0.0.1:9/').then(
      () => 'fetched',
      () => 'refused',
    );
    const link = document.createElement('a');
    link.href = 'file:///etc/passwd';
    document.body.append(link);
    link.click();
    location.href = 'http://127.0.0.1:9/';
    return { opened: opened !== null, permission, fetched };
  });
  expect(tried).toEqual({ opened: false, permission: 'denied', fetched: 'refused' });
  // It was asked for the last way out, and nothing is on its way any more.
  await expect
    .poll(() =>
      app.evaluate(({ BrowserWindow }) => ({
        tried: (globalThis as unknown as { tried: string[] }).tried.at(-1),
        loading: BrowserWindow.getAllWindows()[0]?.webContents.isLoading(),
      })),
    )
    .toEqual({ tried: 'http://127.0.0.1:9/', loading: false });
  expect(page.url()).toBe(before);
  expect(app.windows()).toHaveLength(1);
  await app.close();
});

test('the page is served with its policy, and nothing outside its folder is', async ({ launch }) => {
  const app = await launch({ roll: roll() });
  const page = await windowOf(app);
  await page.waitForLoadState();
  const served = await app.evaluate(async ({ net }) => {
    const status = (url: string): Promise<number> =>
      net.fetch(url).then(
        (answer) => answer.status,
        () => 0,
      );
    const answer = await net.fetch('app://rollcall/index.html');
    return {
      status: answer.status,
      policy: answer.headers.get('content-security-policy'),
      outside: await Promise.all(
        [
          'app://rollcall/../preload.cjs',
          'app://rollcall/%2e%2e/main.js',
          'app://rollcall/..%2fmain.js',
          'app://other/index.html',
        ].map(status),
      ),
    };
  });
  expect(served.status).toBe(200);
  expect(served.policy).toContain("default-src 'none'");
  for (const status of served.outside) expect([0, 404]).toContain(status);
  const allowed = await page.evaluate(async () => {
    const fetched = await fetch('app://rollcall/index.html').then(
      () => 'yes',
      () => 'no',
    );
    // In a task of its own: Playwright's evaluation is itself exempt from the policy.
    const evaluated = await new Promise<string>((done) => {
      setTimeout(() => {
        try {
          done(String(new Function('return "yes"')()));
        } catch {
          // What the policy is for.
          done('no');
        }
      });
    });
    return { fetched, evaluated };
  });
  expect(allowed).toEqual({ fetched: 'no', evaluated: 'no' });
  await app.close();
});

test('the window remembers where it stood', async ({ launch, panel }) => {
  const host = await panel();
  const first = await launch({ roll: roll(), args: ['--show'] });
  await windowOf(first);
  const bounds = { x: 60, y: 40, width: 960, height: 640 };
  await first.evaluate(({ BrowserWindow }, to) => {
    const window = BrowserWindow.getAllWindows()[0];
    window?.setBounds(to);
    window?.close();
  }, bounds);
  await expect.poll(() => first.windows().length).toBe(0);
  await (await host.icon()).choose('Open Rollcall');
  await windowOf(first);
  const again = await first.evaluate(({ BrowserWindow }) => BrowserWindow.getAllWindows()[0]?.getBounds());
  expect(again).toMatchObject({ width: bounds.width, height: bounds.height });
  await first.close();
});
