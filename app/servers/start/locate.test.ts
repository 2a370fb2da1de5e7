import { randomUUID } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { kindOf, startableKinds } from '../kinds/kinds.ts';
import { until } from '../session-feed/hostile.testing.ts';
import { locator, NO_OPTIONS, type StartOptions } from './locate.ts';
import { endLoginShells, loginPath } from './login-path.ts';
import { localFinder } from './programs.ts';

let root = '';
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'rollcall-locate-'));
  for (const folder of ['a', 'b', 'dev', 'home']) await mkdir(join(root, folder));
  for (const folder of ['b', 'dev']) {
    await writeFile(join(root, folder, 'opencode'), '#!/bin/sh\n');
    await chmod(join(root, folder, 'opencode'), 0o755);
  }
  // Neither a file without the right to run nor a folder of that name is a program.
  await writeFile(join(root, 'a', 'opencode'), '');
  await mkdir(join(root, 'home', 'opencode'));
});
afterAll(async () => {
  await rm(root, { recursive: true, force: true });
});

/** A login shell whose profile is this text; bash reads `.bash_profile` of HOME. */
async function home(name: string, profile: string): Promise<string> {
  const folder = join(root, name);
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, '.bash_profile'), profile);
  return folder;
}

/** False when it is gone, or its number is somebody else's by now. */
function runs(pid: number, word: string): boolean {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(word);
  } catch {
    return false;
  }
}

const find = locator({ kind: 'opencode', program: 'opencode', remedy: 'Install it.' }, NO_OPTIONS);

describe('where a program is', () => {
  test('on PATH, past what cannot be run; relative entries do not count', async () => {
    const PATH = [join(root, 'a'), join(root, 'home'), '.', '', join(root, 'b')].join(':');
    expect(await find(localFinder({ PATH }))).toEqual({ found: true, program: join(root, 'b', 'opencode') });
  });
  test('E17 on the PATH of the login shell, whatever the profile prints', async () => {
    const HOME = await home(
      'chatty',
      `echo welcome; printf 'PATH=%s' nonsense\nexport PATH="${root}/none:${root}/b"\necho bye\n`,
    );
    const env = { PATH: join(root, 'none'), SHELL: '/bin/bash', HOME };
    expect(await find(localFinder(env))).toEqual({ found: true, program: join(root, 'b', 'opencode') });
  });
  test('E17 a profile that hangs costs 3 s and leaves nothing behind', async () => {
    const [pidFile, marker] = [join(root, 'hung.pid'), `hung-${randomUUID()}`];
    const HOME = await home('hung', `sh -c 'echo $$ > "${pidFile}"; while :; do sleep 0.2; done' ${marker}\n`);
    const waits = vi.spyOn(globalThis, 'setTimeout');
    expect(await loginPath({ PATH: '/usr/bin:/bin', SHELL: '/bin/bash', HOME })).toBeNull();
    expect(waits.mock.calls.map(([, ms]) => ms)).toContain(3000);
    vi.restoreAllMocks();
    const hung = Number(await readFile(pidFile, 'utf8'));
    expect(hung).toBeGreaterThan(1);
    await until('what hung is gone', () => !runs(hung, marker));
  });
  test.each([
    ['that took too long', async (env: Record<string, string>) => expect(await loginPath(env)).toBeNull()],
    [
      'that is ended with us',
      async (env: Record<string, string>, working: () => boolean) => {
        const answer = loginPath(env);
        await until('the profile is at work', working);
        await endLoginShells();
        expect(await answer).toBeNull();
      },
    ],
  ])('E17 a profile %s lets go of what it holds, as when its terminal is closed', async (name, ask) => {
    // As pyenv does it: a lock, given back by a trap. One that is left makes every later terminal wait.
    const lock = join(root, `lock-${name.length}`);
    const script = join(root, `rehash-${name.length}.sh`);
    await writeFile(script, `echo > "${lock}"\ntrap 'rm -f "${lock}"' EXIT\nwhile :; do sleep 0.1; done\n`);
    const HOME = await home(`locked-${name.length}`, `bash "${script}"\n`);
    await ask({ PATH: '/usr/bin:/bin', SHELL: '/bin/bash', HOME }, () => existsSync(lock));
    await until('the lock is given back', () => !existsSync(lock));
  });
  test('E17 a profile that will not be hung up on is killed a moment later', async () => {
    const pidFile = join(root, 'deaf.pid');
    const HOME = await home('deaf', `trap '' HUP\necho $$ > "${pidFile}"\nwhile :; do sleep 0.1; done\n`);
    const answer = loginPath({ PATH: '/usr/bin:/bin', SHELL: '/bin/bash', HOME });
    await until('the profile is at work', () => existsSync(pidFile));
    await endLoginShells();
    expect(await answer).toBeNull();
    const pid = Number(await readFile(pidFile, 'utf8'));
    await until('it is gone', () => !runs(pid, 'printf'));
  });
  test('E17 an answer is kept for a minute of the monotonic clock, whatever the wall clock does', async () => {
    const HOME = await home('counted', `echo asked >> "${root}/asked"\n`);
    const env = { PATH: '/usr/bin:/bin', SHELL: '/bin/bash', HOME };
    const asked = async (): Promise<number> => (await readFile(join(root, 'asked'), 'utf8')).split('\n').length - 1;
    const [wall, mono] = [Date.now.bind(Date), performance.now.bind(performance)];
    try {
      await loginPath(env);
      for (const hours of [8, -1]) {
        vi.spyOn(Date, 'now').mockImplementation(() => wall() + hours * 3_600_000);
        await loginPath(env);
        expect(await asked()).toBe(1);
      }
      vi.spyOn(performance, 'now').mockImplementation(() => mono() + 61_000);
      await loginPath(env);
      expect(await asked()).toBe(2);
    } finally {
      vi.restoreAllMocks();
    }
  });
  test('E17 no shell, a shell that is not asked, a shell that is missing', async () => {
    expect(await loginPath({})).toBeNull();
    expect(await loginPath({ SHELL: '/usr/bin/python3' })).toBeNull();
    expect(await loginPath({ SHELL: 'bash' })).toBeNull();
    expect(await loginPath({ SHELL: join(root, 'bash') })).toBeNull();
  });
  test('a checkout’s own dependency comes last; without it the sentence says what to do', async () => {
    const HOME = await home('plain', `PATH=${root}/none\n`);
    const env = { PATH: join(root, 'none'), SHELL: '/bin/bash', HOME };
    const options = { developmentBin: join(root, 'dev', 'opencode'), programs: {}, setting: 'start' };
    expect(await kindOf('opencode', [], options)?.locate?.(localFinder(env))).toEqual({
      found: true,
      program: join(root, 'dev', 'opencode'),
    });
    expect(await kindOf('opencode', [])?.locate?.(localFinder(env))).toEqual({
      found: false,
      why: 'No program named opencode is on PATH, nor on the PATH of your login shell.',
      remedy: expect.stringContaining('start.opencode.path'),
    });
  });
  test('a configured path wins, and a wrong one is not replaced by another program', async () => {
    const PATH = join(root, 'b');
    const at = (path: string) => ({ developmentBin: null, programs: { opencode: { path } }, setting: 'start' });
    const dev = join(root, 'dev', 'opencode');
    expect(await kindOf('opencode', [], at(dev))?.locate?.(localFinder({ PATH }))).toEqual({
      found: true,
      program: dev,
    });
    expect(await kindOf('opencode', [], at('/nowhere'))?.locate?.(localFinder({ PATH }))).toMatchObject({
      found: false,
    });
  });
});

describe('what a person reads when a program is nowhere', () => {
  const custom = [
    { name: 'house', program: 'hs', args: [], start: ['hs', 'serve'] as const },
    { name: 'hut', program: '/nowhere/hut', args: [], start: ['/nowhere/hut'] as const },
  ];
  const read = async (
    env: Readonly<Record<string, string>>,
    programs: StartOptions['programs'] = {},
  ): Promise<readonly string[]> => {
    const texts: string[] = [];
    for (const kind of startableKinds(custom, { developmentBin: null, programs, setting: 'start' })) {
      const found = await kind.locate?.(localFinder(env));
      texts.push(found?.found === false ? `${kind.name}: ${found.why} ${found.remedy}` : `${kind.name} is there`);
    }
    return texts;
  };
  const house = 'Install it, or correct the start command of house in config.json.';
  const hut =
    'hut: /nowhere/hut, which config.json names for hut, is not a program that can be run. Install it, or correct the start command of hut in config.json.';

  test('every kind: what was looked at, and a way out that works for it', async () => {
    expect(await read({ PATH: '/nowhere' })).toEqual([
      'opencode: No program named opencode is on PATH. Install it with “npm install -g opencode-ai”, or name its path in config.json under start.opencode.path.',
      'kilo: No program named kilo is on PATH. Install it with “npm install -g @kilocode/cli”, or name its path in config.json under start.kilo.path.',
      't3: No program named t3 is on PATH. Install T3 Code, or name its path in config.json under start.t3.path.',
      'codex: No program named codex is on PATH. Install it with “npm install -g @openai/codex”, or name its path in config.json under start.codex.path.',
      `house: No program named hs is on PATH. ${house}`,
      hut,
    ]);
  });
  test('the login shell is named only when it has answered', async () => {
    const HOME = await home('answers', '');
    const [, , , , text] = await read({ PATH: '/usr/bin:/bin', SHELL: '/bin/bash', HOME });
    expect(text).toBe(`house: No program named hs is on PATH, nor on the PATH of your login shell. ${house}`);
  });
  test('a configured path that is wrong names its own setting; one for a custom kind has no meaning', async () => {
    const texts = await read({ PATH: '/nowhere' }, { t3: { path: '/x/t3' }, hut: { path: '/x/hut' } });
    expect(texts[2]).toBe(
      't3: /x/t3, which config.json names for t3, is not a program that can be run. Correct start.t3.path in config.json, or remove it.',
    );
    expect(texts[5]).toBe(hut);
  });
});

describe('how a server is started', () => {
  test('opencode: loopback, its port, the configured additions, nothing secret', () => {
    const programs = { opencode: { args: ['--print-logs'], env: { A: '1' } } };
    const options = { developmentBin: null, programs, setting: 'start' };
    expect(kindOf('opencode', [], options)?.startPlan?.('/b/opencode', '/p', 4096)).toEqual({
      argv: ['/b/opencode', 'serve', '--hostname', '127.0.0.1', '--port', '4096', '--print-logs'],
      env: { OPENCODE_DISABLE_AUTOUPDATE: '1', A: '1' },
      port: 4096,
    });
    expect(kindOf('opencode', [])?.startPlan?.('/b/opencode', '/p', null).argv.at(-1)).toBe('0');
  });
  test('a custom kind’s command gets port and folder', () => {
    const custom = [
      { name: 'house', program: 'house', args: [], start: ['house', '-p={port}', '{directory}/x'] as const },
    ];
    const plan = kindOf('house', custom)?.startPlan?.('/b/house', '/a b', 9);
    expect(plan).toEqual({ argv: ['/b/house', '-p=9', '/a b/x'], env: {}, port: 9 });
    expect(startableKinds(custom).map((kind) => kind.name)).toEqual(['opencode', 'kilo', 't3', 'codex', 'house']);
    expect(startableKinds([{ name: 'seen', program: 'x', args: [] }]).map((kind) => kind.name)).not.toContain('seen');
  });
  test('a custom kind cannot take a built-in name', () => {
    const kind = kindOf('opencode', [{ name: 'opencode', program: 'evil', args: [] }]);
    expect(kind?.mark).toBe('OPENCODE_PID');
  });
});
