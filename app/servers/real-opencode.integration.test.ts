import { type ChildProcess, spawn } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, readlink, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { endpointAt, until } from './hostile.testing.ts';
import { ask } from './http.ts';
import type { Endpoint, Recognisable } from './kind.ts';
import { kindOf } from './kinds.ts';
import { recognise } from './recognise.ts';
import { isPlainWrapper } from './wrappers.ts';

const BIN = fileURLToPath(new URL('../../node_modules/.bin/opencode', import.meta.url));
let root = '';
const children: ChildProcess[] = [];

/** Starts the real server in a home of its own and waits for the address that it prints. */
async function start(env: Readonly<Record<string, string>>): Promise<{ child: ChildProcess; endpoint: Endpoint }> {
  const own: Record<string, string> = {
    PATH: '/usr/bin:/bin',
    HOME: root,
    TMPDIR: root,
    OPENCODE_DISABLE_AUTOUPDATE: '1',
    OPENCODE_DISABLE_MODELS_FETCH: '1',
    OPENCODE_DISABLE_LSP_DOWNLOAD: '1',
  };
  // By this mark a whole test run finds what it has left behind.
  const run = process.env['ROLLCALL_TEST_RUN'];
  if (run !== undefined) own['ROLLCALL_TEST_RUN'] = run;
  for (const name of ['CONFIG', 'DATA', 'STATE', 'CACHE']) own[`XDG_${name}_HOME`] = join(root, name);
  const child = spawn(BIN, ['serve', '--hostname', '127.0.0.1', '--port', '0'], {
    cwd: join(root, 'project'),
    env: { ...own, ...env },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  children.push(child);
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
  const port = (): string | undefined => /listening on http:\/\/127\.0\.0\.1:(\d+)/u.exec(output)?.[1];
  await until('opencode listens', () => port() !== undefined || child.exitCode !== null, 120_000);
  if (port() === undefined) throw new Error('opencode exited before it listened');
  await expectListener(child.pid, Number(port()));
  return { child, endpoint: endpointAt('127.0.0.1', Number(port())) };
}

/** Nothing is asked at a port before it has been shown to be this very child's. */
async function expectListener(pid: number | undefined, port: number): Promise<void> {
  const hex = port.toString(16).toUpperCase().padStart(4, '0');
  const lines = (await readFile(`/proc/${pid}/net/tcp`, 'utf8')).split('\n').map((line) => line.trim().split(/\s+/u));
  const inode = lines.find((fields) => fields[1] === `0100007F:${hex}` && fields[3] === '0A')?.[9];
  const held = await Promise.all(
    (await readdir(`/proc/${pid}/fd`)).map((fd) => readlink(`/proc/${pid}/fd/${fd}`).catch(() => 'closed meanwhile')),
  );
  expect(held).toContain(`socket:[${inode}]`);
}

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'rollcall-real-'));
  await mkdir(join(root, 'project'));
});
afterAll(async () => {
  for (const child of children) {
    const gone = new Promise((resolve) => child.once('exit', resolve));
    if (child.exitCode === null && child.signalCode === null && child.kill('SIGKILL')) await gone;
  }
  await rm(root, { recursive: true, force: true });
});

describe('the real opencode', () => {
  test('it is recognised by what /proc shows, is healthy, and its stream tells when nothing works', async () => {
    const { child, endpoint } = await start({});
    expect(recognise(await read(child.pid), [])).toMatchObject({ kind: 'opencode', role: 'server' });

    const kind = kindOf('opencode', []);
    expect(await kind?.health(endpoint, 20_000)).toEqual({
      state: 'ok',
      version: expect.stringMatching(/^\d+\.\d+\.\d+$/u),
    });
    expect(await kindOf('codex', [])?.health(endpoint, 20_000)).toMatchObject({ state: 'unresponsive' });
    expect(await kindOf('t3', [])?.health(endpoint, 20_000)).toMatchObject({ state: 'unresponsive' });

    const watch = kind?.watch?.(endpoint, () => undefined);
    await until('the stream is open', () => watch?.reading().busy === false, 30_000);
    const opened = watch?.lastSign();
    expect(opened).toBeTypeOf('number');
    // Passive requests only: the watch has created nothing.
    const sessions = await ask(endpoint, { method: 'GET', path: '/api/session', deadlineMs: 20_000 });
    expect(sessions).toMatchObject({ state: 'answered', status: 200 });
    watch?.close();
  }, 180_000);

  test('A22 with a password it is locked for us, and open for who knows it', async () => {
    const { endpoint } = await start({ OPENCODE_SERVER_PASSWORD: 'pa:ss word' });
    const kind = kindOf('opencode', []);
    expect(await kind?.health(endpoint, 20_000)).toEqual({ state: 'locked' });
    const watch = kind?.watch?.(endpoint, () => undefined);
    await until('the stream is refused', () => JSON.stringify(watch?.reading()).includes('password'), 30_000);
    watch?.close();
    const credentials = { username: 'opencode', password: 'pa:ss word' };
    expect(await kind?.health({ ...endpoint, credentials }, 20_000)).toMatchObject({ state: 'ok' });
  }, 180_000);
});

/** A living process as a look would show it. */
async function read(pid: number | undefined): Promise<Recognisable> {
  const argv = (await readFile(`/proc/${pid}/cmdline`, 'utf8')).split('\0').slice(0, -1);
  return {
    argv,
    executablePath: await readlink(`/proc/${pid}/exe`),
    comm: (await readFile(`/proc/${pid}/comm`, 'utf8')).trim(),
  };
}

test.each([
  [
    'a rewritten title',
    ['-e', "process.title = 'opencode serve --port 1'; console.log(1); setInterval(() => {}, 1000)"],
  ],
  ['a title of npm', ['-e', "process.title = 'npm exec opencode serve'; console.log(1); setInterval(() => {}, 1000)"]],
])('F4 a living process that only titles itself a server is none: %s', async (_, args) => {
  // Long arguments leave room for the title in the memory that /proc shows.
  const child = spawn(process.execPath, [...args, 'x'.repeat(200)], { stdio: ['ignore', 'pipe', 'ignore'] });
  children.push(child);
  await new Promise((resolve) => child.stdout.once('data', resolve));
  const seen = await read(child.pid);
  expect(seen.argv[0]).toMatch(/opencode serve/u);
  expect(recognise(seen, [])).toBeNull();
  expect(isPlainWrapper(seen)).toBe(seen.argv[0]?.startsWith('npm') === true);
});
