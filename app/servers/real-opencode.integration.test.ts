import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, readFile, readlink, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ask } from './client/http.ts';
import type { Recognisable } from './kind.ts';
import { kindOf } from './kinds/kinds.ts';
import { endChild, startOpencode } from './real-opencode.testing.ts';
import { recognise } from './recognition/recognise.ts';
import { isPlainWrapper } from './recognition/wrappers.ts';
import { until } from './session-feed/hostile.testing.ts';

let root = '';
const children: ChildProcess[] = [];

async function start(env: Readonly<Record<string, string>>): ReturnType<typeof startOpencode> {
  const server = await startOpencode(root, env);
  children.push(server.child);
  return server;
}

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'rollcall-real-'));
});
afterAll(async () => {
  for (const child of children) await endChild(child);
  await rm(root, { recursive: true, force: true });
});

describe('the real opencode', () => {
  test('it is recognised by what /proc shows, is healthy, and its stream tells when nothing works', async () => {
    const { child, endpoint } = await start({});
    expect(recognise(await read(child.pid), [])).toMatchObject({
      state: 'server',
      recognition: { kind: 'opencode', role: 'server' },
    });

    const kind = kindOf('opencode', []);
    expect(await kind?.health(endpoint, 60_000)).toEqual({
      state: 'ok',
      version: expect.stringMatching(/^\d+\.\d+\.\d+$/u),
    });
    expect(await kindOf('codex', [])?.health(endpoint, 60_000)).toMatchObject({ state: 'unresponsive' });
    expect(await kindOf('t3', [])?.health(endpoint, 60_000)).toMatchObject({ state: 'unresponsive' });

    const watch = kind?.watch?.(endpoint, () => undefined);
    await until('the stream is open', () => watch?.reading().busy === false);
    const opened = watch?.lastSign();
    expect(opened).toBeTypeOf('number');
    // Passive requests only: the watch has created nothing.
    const sessions = await ask(endpoint, { method: 'GET', path: '/api/session', deadlineMs: 60_000 });
    expect(sessions).toMatchObject({ state: 'answered', status: 200 });
    watch?.close();
  }, 180_000);

  test('A22 with a password it is locked for us, and open for who knows it', async () => {
    const { endpoint } = await start({ OPENCODE_SERVER_PASSWORD: 'pa:ss word' });
    const kind = kindOf('opencode', []);
    expect(await kind?.health(endpoint, 60_000)).toEqual({ state: 'locked' });
    const watch = kind?.watch?.(endpoint, () => undefined);
    await until('the stream is refused', () => JSON.stringify(watch?.reading()).includes('password'));
    watch?.close();
    const credentials = { username: 'opencode', password: 'pa:ss word' };
    expect(await kind?.health({ ...endpoint, credentials }, 60_000)).toMatchObject({ state: 'ok' });
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
  expect(recognise(seen, [])).toEqual({ state: 'other' });
  expect(isPlainWrapper(seen)).toBe(seen.argv[0]?.startsWith('npm') === true);
});
