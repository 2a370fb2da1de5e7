import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { until } from '../hosts/local/testing/processes.ts';
import { atomicWrite, WriteFailed } from '../util/atomic-write.ts';
import { ensurePrivateFolder, ensureRuntimeFolder, FolderFailed, UnsafeFolder } from '../util/folders.ts';
import { type Loaded, loadConfig, parseConfig, problemText } from './load.ts';
import { resolvePaths } from './paths.ts';
import { DEFAULTS } from './schema.ts';
import { watchConfig } from './watch.ts';

let root = '';
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'rollcall-config-'));
});
afterEach(async () => {
  await rm(root, { recursive: true, force: true });
});

async function mode(path: string): Promise<number> {
  return (await stat(path)).mode & 0o777;
}

describe('paths', () => {
  const linux = { platform: 'linux', uid: 1000, home: '/home/ann', env: {} } as const;
  test('the XDG folders, and their defaults', () => {
    expect(resolvePaths(linux)).toMatchObject({
      configFile: '/home/ann/.config/rollcall/config.json',
      stateDir: '/home/ann/.local/state/rollcall',
      recordsDir: '/home/ann/.local/state/rollcall/records',
      auditFile: '/home/ann/.local/state/rollcall/audit.jsonl',
      runtimeDir: '/tmp/rollcall-1000',
    });
    const env = { XDG_CONFIG_HOME: '/c', XDG_STATE_HOME: '/s', XDG_RUNTIME_DIR: '/run/user/1000' };
    expect(resolvePaths({ ...linux, env })).toMatchObject({
      configDir: '/c/rollcall',
      stateDir: '/s/rollcall',
      runtimeDir: '/run/user/1000/rollcall',
    });
    const odd = { XDG_CONFIG_HOME: 'relative', XDG_STATE_HOME: '', XDG_RUNTIME_DIR: 'x' };
    expect(resolvePaths({ ...linux, env: odd })).toEqual(resolvePaths(linux));
  });
  test('our own variables come first, on every platform', () => {
    const env = { ROLLCALL_CONFIG_DIR: '/x/c', ROLLCALL_STATE_DIR: '/x/s', XDG_CONFIG_HOME: '/c' };
    for (const platform of ['linux', 'darwin'] as const) {
      expect(resolvePaths({ ...linux, platform, env })).toMatchObject({ configDir: '/x/c', stateDir: '/x/s' });
    }
  });
  test('two state folders have two sockets, one has one, and every name fits', () => {
    const socket = (state: string, run?: string): string =>
      resolvePaths({ ...linux, env: { ROLLCALL_STATE_DIR: state, XDG_RUNTIME_DIR: run } }).controlSocket;
    expect(socket('/a')).not.toBe(socket('/b'));
    expect(socket('/a')).toBe(socket('/a/'));
    for (const run of [undefined, '/run/user/1000', `/run/${'long/'.repeat(30)}`]) {
      expect(Buffer.byteLength(socket(`/${'deep/'.repeat(50)}`, run))).toBeLessThanOrEqual(100);
    }
  });
  test('macOS and Windows have their own folders', () => {
    expect(resolvePaths({ ...linux, platform: 'darwin', home: '/Users/ann' }).configFile).toBe(
      '/Users/ann/Library/Application Support/Rollcall/config.json',
    );
    const windows = resolvePaths({ platform: 'win32', uid: null, home: 'C:\\Users\\ann', env: {} });
    expect(windows.stateDir).toBe('C:\\Users\\ann\\AppData\\Local\\Rollcall');
    expect(windows.controlSocket).toMatch(/^\\\\\.\\pipe\\rollcall-[0-9a-f]{16}$/u);
  });
});

describe('files and folders', () => {
  test('a file is replaced as a whole, private, with nothing left beside it', async () => {
    const path = join(root, 'x.json');
    await writeFile(path, 'old', { mode: 0o644 });
    const texts = Array.from({ length: 20 }, (_, index) => `${index} `.repeat(100_000));
    let writing = true;
    const writes = Promise.all(texts.map((text) => atomicWrite(path, text))).finally(() => {
      writing = false;
    });
    // Whoever reads meanwhile gets one whole text.
    while (writing) expect(['old', ...texts]).toContain(await readFile(path, 'utf8'));
    await writes;
    expect(texts).toContain(await readFile(path, 'utf8'));
    expect(await mode(path)).toBe(0o600);
    expect(await readdir(root)).toEqual(['x.json']);
  });
  test('a failed write says so and leaves the old file', async () => {
    const missing = join(root, 'nowhere', 'x.json');
    await expect(atomicWrite(missing, 'x')).rejects.toMatchObject({
      name: 'WriteFailed',
      code: 'ENOENT',
      path: missing,
    });
    await mkdir(join(root, 'x.json'));
    await expect(atomicWrite(join(root, 'x.json'), 'x')).rejects.toBeInstanceOf(WriteFailed);
    expect(await readdir(root)).toEqual(['x.json']);
  });
  test('private folders are made and closed', async () => {
    const folder = join(root, 'a', 'b');
    ensurePrivateFolder(folder);
    expect([await mode(join(root, 'a')), await mode(folder)]).toEqual([0o700, 0o700]);
    await chmod(folder, 0o755);
    ensurePrivateFolder(folder);
    expect(await mode(folder)).toBe(0o700);
    await writeFile(join(root, 'file'), '');
    expect(() => ensurePrivateFolder(join(root, 'file', 'x'))).toThrow(FolderFailed);
  });
  test('a runtime folder that somebody may have prepared is refused, not repaired', async () => {
    const folder = join(root, 'run');
    ensureRuntimeFolder(folder);
    expect(await mode(folder)).toBe(0o700);
    ensureRuntimeFolder(folder);
    await chmod(folder, 0o711);
    expect(() => ensureRuntimeFolder(folder)).toThrow(/others have rights to it \(mode 711\)/u);
    await symlink(root, join(root, 'link'));
    expect(() => ensureRuntimeFolder(join(root, 'link'))).toThrow(UnsafeFolder);
    await writeFile(join(root, 'file'), '');
    expect(() => ensureRuntimeFolder(join(root, 'file'))).toThrow(/not a folder/u);
    // Root's own folder is somebody else's for everybody but root.
    if (process.getuid?.() !== 0) expect(() => ensureRuntimeFolder('/etc')).toThrow(/belongs to user 0/u);
  });
});

describe('the configuration file', () => {
  const messages = (text: string): readonly string[] =>
    parseConfig(text, 'config.json').problems.map((problem) => problem.message);

  test('nothing, blanks and comments mean the defaults', async () => {
    expect(loadConfig(join(root, 'config.json'))).toEqual({ config: DEFAULTS, problems: [] });
    for (const text of ['', '  \n', '// later\n', '{}', '\ufeff{}', '/* x */ {  }']) {
      expect(parseConfig(text, 'config.json'), text).toEqual({ config: DEFAULTS, problems: [] });
    }
  });
  test('comments and trailing commas are fine', () => {
    const text = '{\n  // ten minutes\n  "leak": { "graceSeconds": 600, },\n  "reap": {"ask": "always"},\n}';
    expect(parseConfig(text, 'config.json')).toEqual({
      config: { ...DEFAULTS, leak: { graceSeconds: 600 }, reap: { ask: 'always' } },
      problems: [],
    });
  });
  test('a wrong value costs only itself and is told with its line', () => {
    const text = '{\n  "reap": { "ask": "always" },\n  "leak": {\n    "graceSeconds": "soon"\n  },\n  "quit": 7\n}';
    const { config, problems } = parseConfig(text, 'config.json');
    expect(config).toEqual({ ...DEFAULTS, reap: { ask: 'always' } });
    expect(problems).toEqual([
      {
        level: 'error',
        line: 4,
        column: 21,
        message:
          'config.json, line 4: leak.graceSeconds must be a number of at least 0 and at most 604800 (a week); the default, 120, is used.',
      },
      {
        level: 'error',
        line: 6,
        column: 11,
        message: 'config.json, line 6: quit must be an object; its defaults are used.',
      },
    ]);
    expect(problemText(problems)).toBe(`${problems[0]?.message} (1 more)`);
    expect(problemText([])).toBeNull();
  });
  test('an unknown key is a warning with its line', () => {
    expect(parseConfig('{\n"leek": 1,\n"leak": {"graceSecond": 1}}', 'config.json').problems).toMatchObject([
      { level: 'warning', line: 2, message: 'config.json, line 2: leek is no setting; it is ignored.' },
      { level: 'warning', line: 3, message: 'config.json, line 3: leak.graceSecond is no setting; it is ignored.' },
    ]);
  });
  test('a syntax error is told once, with line and column, and the rest counts', () => {
    const { config, problems } = parseConfig(
      '{\n  "leak": {"graceSeconds": 60}\n  "reap": {"ask": "always"}\n}',
      'config.json',
    );
    expect(config).toMatchObject({ leak: { graceSeconds: 60 }, reap: { ask: 'always' } });
    expect(problems.map((problem) => problem.message)).toEqual([
      'config.json, line 3, column 3: a comma is missing here; what could be read counts.',
    ]);
    expect(messages('[1]')).toEqual(['config.json, line 1: the file must hold one object; the defaults are used.']);
    for (const text of [
      '{',
      '}',
      '{"a"',
      '{"leak": {"graceSeconds": 1',
      '\u0000',
      '"',
      '{"__proto__": {"x": 1}}',
      '[[[[',
    ]) {
      expect(messages(text).length, text).toBeGreaterThan(0);
    }
  });
  test('custom kinds: each is judged for itself', () => {
    const text = JSON.stringify({
      kinds: [
        {
          name: 'house',
          program: 'house',
          args: ['serve'],
          start: ['house', '{port}'],
          health: { path: '/up', contains: 'ok' },
        },
        { name: 'opencode', program: 'x' },
        { name: 'Big', program: 'x' },
        { name: 'a' },
        { name: 'b', program: './x' },
        { name: 'c', program: 'x', start: [] },
        { name: 'd', program: 'x', health: { path: 'up', contains: 'x' } },
        { name: 'house', program: 'y' },
        { name: 'e', program: 'x', colour: 'red' },
        7,
      ],
    });
    const { config } = parseConfig(text, 'config.json');
    expect(config.kinds).toEqual([
      {
        name: 'house',
        program: 'house',
        args: ['serve'],
        start: ['house', '{port}'],
        health: { path: '/up', contains: 'ok' },
      },
      { name: 'e', program: 'x', args: [] },
    ]);
    expect(messages(text).map((message) => message.replace('config.json, line 1: ', ''))).toEqual([
      'kinds[1].name must not be the name of a built-in kind; this kind is left out.',
      'kinds[2].name must be 1 to 32 small letters, digits and dashes; this kind is left out.',
      'kinds[3].program is missing; this kind is left out.',
      'kinds[4].program must be a file name without folders, or an absolute path; this kind is left out.',
      'kinds[5].start must be a list of texts that begins with a program; this kind is left out.',
      'kinds[6].health.path must begin with a slash and hold no blanks; this kind is left out.',
      'kinds[7] is named house like an earlier one; this kind is left out.',
      'kinds[8].colour is no setting; it is ignored.',
      'kinds[9] must be an object; this kind is left out.',
    ]);
  });
  test.each([['ROLLCALL_NONCE'], ['ROLLCALL_KIND'], ['OPENCODE_PID'], ['KILO_PID']])(
    'start options cannot forge the mark %s',
    (name) => {
      const text = `{"start": {"t3": {"env": {"${name}": "1"}}}}`;
      expect(parseConfig(text, 'config.json').config.start).toEqual({});
      expect(messages(text)).toEqual([
        'config.json, line 1: start.t3.env must have no ROLLCALL_…, OPENCODE_PID or KILO_PID, by which Rollcall tells processes apart; t3 starts as usual.',
      ]);
    },
  );

  test('start options with a variable that is none', () => {
    const text = '{"start": {"t3": {"env": {"A B": "1"}}}}';
    expect(parseConfig(text, 'config.json').config.start).toEqual({});
    expect(messages(text)).toEqual(['config.json, line 1: start.t3.env must have plain names; t3 starts as usual.']);
  });

  test('start options', () => {
    const text =
      '{"start": {"opencode": {"path": "/b/opencode", "args": ["-x"], "env": {"A": "1"}}, "t3": {"path": "t3"}}}';
    expect(parseConfig(text, 'config.json').config.start).toEqual({
      opencode: { path: '/b/opencode', args: ['-x'], env: { A: '1' } },
    });
    expect(messages(text)).toEqual([
      'config.json, line 1: start.t3.path must be an absolute path; t3 starts as usual.',
    ]);
  });
  test('session-end hooks: each is judged for itself', () => {
    const text = JSON.stringify({
      idle: { stopAfterMinutes: 30 },
      hooks: {
        sessionEnd: [
          { command: ['entire', 'hooks', 'opencode', 'session-end'], kinds: ['opencode'], hosts: ['local'] },
          { command: ['/bin/true'], timeoutSeconds: 600 },
          {},
          { command: 'notify' },
          { command: [] },
          { command: [''] },
          { command: ['x', 1] },
          { command: ['-x'] },
          { command: ['bin/x'] },
          { command: ['x', 'a\0b'] },
          { command: ['x'], timeoutSeconds: 0 },
          { command: ['x'], timeoutSeconds: 601 },
          { command: ['x'], timeoutSeconds: 'soon' },
          { command: ['x'], kinds: 'opencode' },
          { command: ['x'], hosts: [] },
          7,
          { command: ['x'], when: 'always' },
        ],
        sessionStart: [],
      },
    });
    const { config } = parseConfig(text, 'config.json');
    expect(config.idle).toEqual({ stopAfterMinutes: 30 });
    expect(config.hooks.sessionEnd).toEqual([
      {
        command: ['entire', 'hooks', 'opencode', 'session-end'],
        kinds: ['opencode'],
        hosts: ['local'],
        timeoutSeconds: 30,
      },
      { command: ['/bin/true'], timeoutSeconds: 600 },
      { command: ['x'], timeoutSeconds: 30 },
    ]);
    expect(messages(text).map((message) => message.replace('config.json, line 1: hooks.', ''))).toEqual([
      'sessionStart is no setting; it is ignored.',
      'sessionEnd[2].command is missing; this hook is left out.',
      'sessionEnd[3].command must be a list of texts that begins with a program; this hook is left out.',
      'sessionEnd[4].command must be a list of texts that begins with a program; this hook is left out.',
      'sessionEnd[5].command must be a list of texts that begins with a program; this hook is left out.',
      'sessionEnd[6].command.1 must be a text; this hook is left out.',
      'sessionEnd[7].command must not begin with a dash; this hook is left out.',
      'sessionEnd[8].command must begin with a file name without folders, or an absolute path; this hook is left out.',
      'sessionEnd[9].command must hold no NUL; this hook is left out.',
      'sessionEnd[10].timeoutSeconds must be a whole number from 1 to 600; this hook is left out.',
      'sessionEnd[11].timeoutSeconds must be a whole number from 1 to 600; this hook is left out.',
      'sessionEnd[12].timeoutSeconds must be a whole number from 1 to 600; this hook is left out.',
      'sessionEnd[13].kinds must be a list of names; this hook is left out.',
      'sessionEnd[14].hosts must be a list of names; this hook is left out.',
      'sessionEnd[15] must be an object; this hook is left out.',
      'sessionEnd[16].when is no setting; it is ignored.',
    ]);
    expect(messages('{"hooks": []}')).toEqual([
      'config.json, line 1: hooks must be an object; there are no hooks now.',
    ]);
    expect(messages('{"hooks": {"sessionEnd": {}}}')).toEqual([
      'config.json, line 1: hooks.sessionEnd must be a list; there are no session-end hooks now.',
    ]);
    expect(messages('{"idle": {"stopAfterMinutes": 0}}')).toEqual([
      'config.json, line 1: idle.stopAfterMinutes must be null or a number of minutes from 1 to 10080 (a week); the default, null, is used.',
    ]);
  });
  test('what names programs counts only where nobody else can write', async () => {
    const file = join(root, 'config.json');
    await writeFile(
      file,
      '{"leak": {"graceSeconds": 5}, "kinds": [{"name": "a", "program": "a"}], "start": {"t3": {}}, "hooks": {"sessionEnd": [{"command": ["a"]}]}}',
    );
    expect(loadConfig(file)).toMatchObject({ config: { kinds: [{ name: 'a' }] }, problems: [] });
    for (const [path, wrong, right] of [
      [file, 0o620, 0o600],
      [root, 0o777, 0o700],
    ] as const) {
      await chmod(path, wrong);
      const { config, problems } = loadConfig(file);
      expect(config).toEqual({ ...DEFAULTS, leak: { graceSeconds: 5 } });
      expect(problems).toHaveLength(1);
      const what = path === file ? 'it' : `the folder ${root}`;
      expect(problems[0]?.message).toBe(
        `config.json: hooks, kinds and start cannot count, because others may write to ${what}, and they name programs to run and hosts to trust; take that right away (chmod go-w ${path}).`,
      );
      await chmod(path, right);
    }
    await symlink(file, join(root, 'link.json'));
    expect(loadConfig(join(root, 'link.json')).problems).toEqual([]);
  });
  test('an unreadable place is told and means the defaults', async () => {
    await mkdir(join(root, 'config.json'));
    expect(loadConfig(join(root, 'config.json'))).toEqual({
      config: DEFAULTS,
      problems: [
        { level: 'error', line: null, column: null, message: 'config.json is no file; the defaults are used.' },
      ],
    });
  });
});

describe('watching', () => {
  const TIMING = { settleMs: 20, pollMs: 100 };
  async function follow(file: string): Promise<{ seen: Loaded[]; wait: (count: number) => Promise<void> }> {
    const seen: Loaded[] = [];
    const end = watchConfig(file, loadConfig(file), (loaded) => seen.push(loaded), TIMING);
    endings.push(end);
    return {
      seen,
      wait: async (count) => {
        await until(`change ${count} is told`, () => seen.length >= count, 60_000);
        expect(seen.length).toBe(count);
      },
    };
  }
  const endings: (() => void)[] = [];
  afterEach(() => {
    for (const end of endings.splice(0)) end();
  });

  test('a change, a replacement, a problem, a removal', async () => {
    const file = join(root, 'config.json');
    const { seen, wait } = await follow(file);
    await writeFile(file, '{"leak": {"graceSeconds": 1}}');
    await wait(1);
    await atomicWrite(file, '{"leak": {"graceSeconds": 2}}');
    await wait(2);
    // To a second one, which knows less, the same file is news: by then the first has read it, too.
    let read = false;
    const known = { config: DEFAULTS, problems: [] };
    endings.push(
      watchConfig(
        file,
        known,
        () => {
          read = true;
        },
        TIMING,
      ),
    );
    await writeFile(file, '{"leak": {"graceSeconds": 2}} // no change of meaning');
    await until('the second has read it', () => read, 60_000);
    await writeFile(file, '{"leak": ');
    await wait(3);
    await rm(file);
    await wait(4);
    expect(seen.map((loaded) => [loaded.config.leak.graceSeconds, loaded.problems.length])).toEqual([
      [1, 0],
      [2, 0],
      [120, 1],
      [120, 0],
    ]);
  });
  test('a folder that comes later, and goes and comes again', async () => {
    const folder = join(root, 'later');
    const { wait } = await follow(join(folder, 'config.json'));
    await mkdir(folder);
    await writeFile(join(folder, 'config.json'), '{"leak": {"graceSeconds": 1}}');
    await wait(1);
    await rm(folder, { recursive: true });
    await wait(2);
    await mkdir(folder);
    await writeFile(join(folder, 'config.json'), '{"leak": {"graceSeconds": 3}}');
    await wait(3);
  });
  test('a link to a file elsewhere', async () => {
    await mkdir(join(root, 'dotfiles'), { mode: 0o700 });
    await mkdir(join(root, 'conf'), { mode: 0o700 });
    await writeFile(join(root, 'dotfiles', 'c.json'), '{}');
    await symlink(join(root, 'dotfiles', 'c.json'), join(root, 'conf', 'config.json'));
    const { wait } = await follow(join(root, 'conf', 'config.json'));
    await writeFile(join(root, 'dotfiles', 'c.json'), '{"leak": {"graceSeconds": 4}}');
    await wait(1);
  });
});
