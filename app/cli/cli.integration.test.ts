import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build, type Plugin } from 'esbuild';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { resolvePaths } from '../config/paths.ts';
import { FakeCore, fakeRoll, fakeServer } from '../control/fake-core.testing.ts';
import { type ControlServer, serveControl } from '../control/server.ts';
import { NODE_SIDE } from '../hosts/local/testing/node-side.ts';
import type { Plan } from '../roll/commands.ts';
import type { Ended, ReapResult } from '../roll/schema.ts';
import { acquireWriter } from '../writer/writer-lock.ts';

let bundles = '';
let program = '';
let folder = '';
let env: Record<string, string> = {};
let core: FakeCore;
let app: ControlServer | null = null;
const children: ChildProcess[] = [];

/** Stands for the supervisor in the command's own process, which has tests of its own. It says how it was opened. */
const localStub: Plugin = {
  name: 'local-core-stub',
  setup(builder) {
    builder.onResolve({ filter: /\/local\.ts$/ }, () => ({ path: 'stub', namespace: 'stub' }));
    builder.onLoad({ filter: /.*/, namespace: 'stub' }, () => ({
      resolveDir: process.cwd(),
      loader: 'ts',
      contents: `
        import { FakeCore } from './app/control/fake-core.testing.ts';
        export async function openForCli(paths, mode, lock) {
          process.stderr.write('local core: ' + mode + ', lock ' + (lock === null ? 'none' : 'held') + '\\n');
          return Object.assign(new FakeCore(), { supervised: () => [], close: async () => ({ stopped: 0, leftRunning: 0, failed: [] }) });
        }`,
    }));
  },
};

beforeAll(async () => {
  bundles = mkdtempSync(join(tmpdir(), 'rollcall-cli-'));
  program = join(bundles, 'out', 'cli.mjs');
  writeFileSync(join(bundles, 'package.json'), '{"name":"rollcall","version":"4.5.6"}');
  await build({
    ...NODE_SIDE,
    entryPoints: { cli: 'app/cli/index.ts' },
    outdir: join(bundles, 'out'),
    outExtension: { '.js': '.mjs' },
    splitting: true,
    alias: { koffi: import.meta.resolve('koffi') },
    external: ['file:*'],
    plugins: [localStub],
  });
});

afterAll(() => rmSync(bundles, { recursive: true, force: true }));

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'rollcall-cli-state-'));
  env = {
    PATH: process.env['PATH'] ?? '',
    HOME: folder,
    ROLLCALL_STATE_DIR: join(folder, 'state'),
    ROLLCALL_CONFIG_DIR: join(folder, 'config'),
    XDG_RUNTIME_DIR: join(folder, 'run'),
  };
  core = new FakeCore();
});

afterEach(async () => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  await app?.close();
  app = null;
  rmSync(folder, { recursive: true, force: true });
});

function paths() {
  return resolvePaths({ env, platform: process.platform, uid: process.getuid?.() ?? null, home: folder });
}

async function startApp(): Promise<void> {
  app = await serveControl({ core, socketPath: paths().controlSocket, onShow: () => undefined, version: '0.1.0' });
}

interface Ran {
  code: number | null;
  out: string;
  err: string;
}

function rollcall(...args: string[]): Promise<Ran> {
  return run(process.execPath, [program, ...args]);
}

function run(command: string, args: string[]): Promise<Ran> {
  const child = spawn(command, args, { env, stdio: ['ignore', 'pipe', 'pipe'], cwd: folder });
  children.push(child);
  const ran: Ran = { code: null, out: '', err: '' };
  child.stdout.on('data', (chunk: Buffer) => {
    ran.out += chunk.toString();
  });
  child.stderr.on('data', (chunk: Buffer) => {
    ran.err += chunk.toString();
  });
  return new Promise((done) => child.on('close', (code) => done({ ...ran, code })));
}

function planOf(...rows: Partial<Plan['rows'][number]>[]): Plan {
  return {
    rows: rows.map((row, at) => ({
      id: (4711 + at).toString(16).padStart(16, '0'),
      label: `opencode :${34_801 + at} on local`,
      host: 'local',
      standing: 'leaked',
      ownerLabel: null,
      memoryBytes: 131_000_000,
      refusal: null,
      needsForce: false,
      consequences: [],
      steps: [
        {
          pid: 4711 + at,
          name: 'opencode',
          command: 'opencode serve',
          memoryBytes: 131_000_000,
          how: 'dispose, then TERM',
        },
      ],
      ...row,
    })),
    freesBytes: 131_000_000 * rows.length,
    processes: rows.length,
    busy: 0,
  };
}

const GONE: ReapResult = {
  pid: 4711,
  id: '0000000000001267',
  label: 'opencode :34801 on local',
  outcome: 'gone',
  verdict: 'same',
  signals: ['dispose', 'SIGTERM 4711'],
  message: 'opencode :34801 on local is gone.',
  freedBytes: 131_000_000,
};

test('help and version come at once and touch nothing', async () => {
  const help = await rollcall('--help');
  expect(help).toMatchObject({ code: 0, err: '' });
  expect(help.out).toContain('\n  reap ');
  expect((await rollcall('reap', '--help')).out).toContain('Usage: rollcall reap');
  expect((await rollcall('--version')).out).toBe('rollcall 4.5.6\n');
  expect(readdirSync(folder)).toEqual([]);
  // What takes time is to load the commands with their schemas.
  const schemas = (texts: readonly string[]) => texts.filter((text) => text.includes('ZodObject'));
  expect(schemas(await loadedBy('--help'))).toEqual([]);
  expect(schemas(await loadedBy('--version'))).toEqual([]);
  expect(schemas(await loadedBy('list'))).not.toEqual([]);
});

/** Texts of those files of the program that a command loads. */
async function loadedBy(...words: readonly string[]): Promise<string[]> {
  const coverage = mkdtempSync(join(bundles, 'coverage-'));
  env = { ...env, NODE_V8_COVERAGE: coverage };
  await rollcall(...words);
  const urls = readdirSync(coverage).flatMap((name) => {
    const { result } = JSON.parse(readFileSync(join(coverage, name), 'utf8')) as { result: { url: string }[] };
    return result.map(({ url }) => url).filter((url) => url.startsWith(pathToFileURL(join(bundles, 'out')).href));
  });
  expect(urls).toContain(pathToFileURL(program).href);
  return urls.map((url) => readFileSync(fileURLToPath(url), 'utf8'));
}

test('a usage error is exit 2 with a hint, on standard error only', async () => {
  for (const words of [
    ['lst'],
    ['reap'],
    ['reap', '--all', '--force'],
    ['explain', 'opencode'],
    ['start', 'opencode', '--for', '1'],
  ]) {
    const ran = await rollcall(...words);
    expect(ran, words.join(' ')).toMatchObject({ code: 2, out: '' });
    expect(ran.err).toMatch(/^rollcall: .+\n$/u);
  }
});

test('list looks through the running app, as text and as JSON', async () => {
  await startApp();
  const text = await rollcall('list');
  expect(text).toMatchObject({ code: 0, err: '' });
  expect(text.out).toMatch(/◆ Leaked +opencode :34801 +4711/u);
  const json = await rollcall('list', '--json');
  expect(JSON.parse(json.out)).toMatchObject({
    version: 1,
    hosts: [{ id: 'local' }],
    servers: [{ pid: 4711, standing: 'leaked' }],
  });
  expect(core.ran.every((each) => each.command.command === 'look' && each.by === 'cli')).toBe(true);
});

test('C24 without the app, reading takes no lock and leaves nothing on disk', async () => {
  const ran = await rollcall('list');
  expect(ran.code).toBe(0);
  expect(ran.err).toBe('local core: read, lock none\n');
  expect((await rollcall('explain', '4711')).err).toContain('read');
  expect(JSON.parse((await rollcall('audit', '--json')).out)).toMatchObject({ entries: [] });
  expect((await rollcall('reap', '--all', '--dry-run')).err).toContain('read, lock none');
  expect(readdirSync(folder)).toEqual([]);
});

test('without the app, an act takes the lock first and gives it back', async () => {
  const ran = await rollcall('start', 'opencode', '--json');
  expect(ran.err).toContain('local core: act, lock held');
  expect(ran.code).toBe(0);
  await (await acquireWriter(paths().writerLock, { holder: 'cli', version: '0' })).release();
});

test('an act waits for another command to finish, and says so', async () => {
  const lock = await acquireWriter(paths().writerLock, { holder: 'cli', version: '0' });
  const waiting = rollcall('start', 'opencode');
  const child = children.at(-1);
  await new Promise((done) => child?.stderr?.once('data', done));
  await lock.release();
  const ran = await waiting;
  expect(ran.code).toBe(0);
  expect(ran.err).toContain(`PID ${process.pid},`);
});

test('head may stop reading in the middle', async () => {
  core.roll = fakeRoll(1, { servers: Array.from({ length: 3000 }, (_, at) => fakeServer(5000 + at, 'leaked')) });
  await startApp();
  const ran = await run('bash', [
    '-c',
    `"${process.execPath}" "${program}" list | head -1; echo "codes \${PIPESTATUS[0]}"`,
  ]);
  expect(ran.err).toBe('');
  expect(ran.out).toMatch(/^local.*3000.*\ncodes 0\n$/u);
});

const ENDED: Ended = {
  nonce: '0b9f7c1e-5d0c-4c55-8a57-6f1e2d3c4b5a',
  host: 'local',
  kind: 'opencode',
  label: 'opencode :4096 on local',
  directory: '/srv/project',
  pid: 4711,
  state: 'lost',
  why: 'it was ended by SIGKILL',
  endedAt: '2026-01-02T03:04:05.000Z',
  attempt: 1,
  attempts: 5,
  retryAt: null,
  logPath: '/nowhere/a.log',
};

test.each([
  ['start-again', 'Starting opencode :4096 on local again.'],
  ['forget', ''],
] as const)('%s names one that ended by its number or the start of it', async (command, said) => {
  core.roll = fakeRoll(1, { ended: [ENDED, { ...ENDED, nonce: '0b9f7c1f-5d0c-4c55-8a57-6f1e2d3c4b5a' }] });
  await startApp();
  const short = await rollcall(command, '0b9f7c1e');
  expect(short).toMatchObject({ code: 0, out: 'Done.\n' });
  expect(short.err.trim()).toBe(said);
  expect(JSON.parse((await rollcall(command, ENDED.nonce, '--json')).out)).toMatchObject({ ok: true });
  expect(core.ran).toEqual([
    { command: { command, nonce: ENDED.nonce }, by: 'cli' },
    { command: { command, nonce: ENDED.nonce }, by: 'cli' },
  ]);

  expect(await rollcall(command, '0b9f')).toMatchObject({
    code: 1,
    err: expect.stringContaining('0b9f'),
  });
  const unknown = await rollcall(command, 'ffff', '--json');
  expect(unknown.code).toBe(1);
  expect(JSON.parse(unknown.out)).toMatchObject({ ok: false });
  expect(unknown.err).toContain('ffff');
  expect((await rollcall(command, 'opencode')).code).toBe(2);
  const failure = { code: 'port-taken', message: 'Port 4096 is held by node.', remedy: 'Stop it.', detail: null };
  core.onRun = async () => ({ ok: false, failure, results: [] });
  expect(await rollcall(command, ENDED.nonce)).toMatchObject({
    code: 1,
    err: expect.stringContaining(`${failure.message} ${failure.remedy}`),
  });
});

test('what ended is known to the app alone: without it the commands say so and take no lock', async () => {
  for (const command of ['start-again', 'forget']) {
    const ran = await rollcall(command, ENDED.nonce);
    expect(ran.code).toBe(1);
    expect(ran.err).toContain('local core: read, lock none');
  }
});

test('explain says the state of a server of ours, and what a restart would renew', async () => {
  const supervised = {
    recordPath: '/nowhere/r.json',
    keepRunning: false,
    logPath: null,
    nonceSeen: true,
    state: 'unresponsive' as const,
    idleMinutes: null,
    idleStopAt: null,
    outdated: 'Its start command in the configuration was changed.',
  };
  core.onExplain = async () => ({
    server: fakeServer(4711, 'supervised', { supervised }),
    leftover: null,
    text: '',
  });
  await startApp();
  const ran = await rollcall('explain', '4711');
  expect(ran.out).toMatch(/^ {2}state {6}unresponsive$/mu);
  expect(ran.out).toMatch(
    /^ {2}outdated {3}Its start command in the configuration was changed\. A restart would renew it\.$/mu,
  );
  core.onExplain = async () => ({ server: fakeServer(4711, 'owned'), leftover: null, text: '' });
  expect((await rollcall('explain', '4711')).out).not.toMatch(/^ {2}(state|outdated) /mu);
});

test('log prints what one that ended wrote last', async () => {
  core.roll = fakeRoll(1, { ended: [ENDED] });
  await startApp();
  expect(await rollcall('log', '0b9f7c1e')).toMatchObject({ code: 0, out: 'listening\n' });
  expect(await rollcall('log', ENDED.nonce)).toMatchObject({ code: 0, out: 'listening\n' });
  expect((await rollcall('log', 'zzzz')).code).toBe(2);
});

test('reap --all --yes acts on exactly the rows of the plan, without force', async () => {
  await startApp();
  core.onPlan = async () => planOf({}, {});
  core.onRun = async () => ({
    ok: true,
    message: 'Done.',
    server: null,
    results: [GONE, { ...GONE, pid: 4712, id: '0000000000001268' }],
  });
  const ran = await rollcall('reap', '--all', '--yes', '--json');
  expect(ran.code).toBe(0);
  expect(JSON.parse(ran.out)).toMatchObject({
    results: [{ pid: 4711, outcome: 'gone', verdict: 'same', signals: ['dispose', 'SIGTERM 4711'] }, { pid: 4712 }],
  });
  expect(core.planned).toEqual(['leaked']);
  expect(core.ran.map((each) => each.command)).toEqual([
    { command: 'reap', targets: ['0000000000001267', '0000000000001268'], confirmed: false, force: false },
  ]);
});

test('off a terminal without --yes nothing is reaped', async () => {
  await startApp();
  core.onPlan = async () => planOf({});
  const ran = await rollcall('reap', '--all');
  expect(ran).toMatchObject({ code: 1, out: '' });
  expect(ran.err).toContain('--yes');
  const json = await rollcall('reap', '--all', '--json');
  expect(json.code).toBe(1);
  expect(JSON.parse(json.out)).toMatchObject({ results: [{ pid: 4711, outcome: 'refused', signals: [] }] });
  expect(core.ran).toEqual([]);
});

test('on a terminal the plan is shown and asked about; only a plain yes is one', async () => {
  await startApp();
  core.onPlan = async () => planOf({ consequences: ['0 sessions are busy'] });
  core.onRun = async () => ({ ok: true, message: 'Done.', server: null, results: [GONE] });
  const answer = async (text: string) => {
    // util-linux's script gives the command a terminal of its own.
    const child = spawn('script', ['-qefc', `"${process.execPath}" "${program}" reap --all`, '/dev/null'], {
      env,
      cwd: folder,
    });
    children.push(child);
    let said = '';
    child.stdout.on('data', (chunk: Buffer) => {
      said += chunk.toString();
      if (said.includes('[y/N] ') && !child.stdin.writableEnded) child.stdin.end(text);
    });
    const code = await new Promise<number | null>((done) => child.on('close', done));
    return { code, said };
  };
  const no = await answer('\n');
  expect(no.said).toMatch(/0 sessions are busy\r\n {2}4711 [\s\S]*opencode :34801 on local\? \[y\/N\] /u);
  expect(no.code).toBe(1);
  expect(core.ran).toEqual([]);
  const yes = await answer('y\n');
  expect(yes.said).toContain(GONE.message);
  expect(yes.code).toBe(0);
  expect(core.ran).toHaveLength(1);
});

test('a dry run shows every process and signals none', async () => {
  await startApp();
  core.onPlan = async () => planOf({});
  const ran = await rollcall('reap', '--all', '--dry-run');
  expect(ran.code).toBe(0);
  expect(ran.out).toMatch(/4711 .*131 MB .*opencode serve/u);
  expect(JSON.parse((await rollcall('reap', '--all', '--dry-run', '--json')).out)).toMatchObject({
    results: [],
    plan: { processes: 1 },
  });
  expect(core.ran).toEqual([]);
});

test('nothing leaked is done already', async () => {
  await startApp();
  expect(await rollcall('reap', '--all')).toMatchObject({ code: 0, out: 'Nothing is leaked.\n' });
  expect(JSON.parse((await rollcall('reap', '--all', '--yes', '--json')).out)).toEqual({ results: [] });
  expect(core.ran).toEqual([]);
});

test('F12 a PID that is no server is refused with or without --force, and an owned one needs it', async () => {
  await startApp();
  const stranger = await rollcall('reap', '7', '--yes', '--force', '--json');
  expect(stranger.code).toBe(1);
  expect(JSON.parse(stranger.out)).toMatchObject({ results: [{ pid: 7, outcome: 'refused', signals: [] }] });
  expect(stranger.err).toContain('PID 7 is bash');
  expect(core.ran).toEqual([]);

  core.onExplain = async () => ({ server: fakeServer(4711, 'owned'), leftover: null, text: '' });
  core.onPlan = async () =>
    planOf({ standing: 'owned', needsForce: true, refusal: 'opencode :34801 was not signalled: VS Code owns it.' });
  const owned = await rollcall('reap', '4711', '--yes');
  expect(owned.code).toBe(1);
  expect(owned.err).toMatch(/VS Code.*--force/u);
  expect(core.ran).toEqual([]);
  core.onRun = async () => ({ ok: true, message: 'Done.', server: null, results: [GONE] });
  expect((await rollcall('reap', '4711', '--yes', '--force')).code).toBe(0);
  expect(core.ran.at(-1)?.command).toMatchObject({ targets: ['0000000000001267'], confirmed: true, force: true });
  // Without --yes, force alone agrees to nothing.
  expect((await rollcall('reap', '4711', '--force')).code).toBe(1);
  expect(core.ran).toHaveLength(1);
});

test('a reap that a server survives, and one that fails as a whole, are exit 1', async () => {
  await startApp();
  core.onPlan = async () => planOf({});
  core.onRun = async () => ({
    ok: true,
    message: 'Done.',
    server: null,
    results: [{ ...GONE, outcome: 'survived', message: 'It survived SIGKILL.' }],
  });
  expect(await rollcall('reap', '--all', '--yes')).toMatchObject({
    code: 1,
    err: expect.stringContaining('It survived SIGKILL.'),
  });
  core.onRun = async () => ({
    ok: false,
    failure: { code: 'x', message: 'The look failed.', remedy: 'Try again.', detail: null },
    results: [],
  });
  const failed = await rollcall('reap', '--all', '--yes', '--json');
  expect(failed.code).toBe(1);
  expect(JSON.parse(failed.out)).toMatchObject({
    results: [{ pid: 4711, outcome: 'refused', message: 'The look failed. Try again.' }],
  });
});

test('start gives id, PID and URL, and a failure its reason and remedy', async () => {
  await startApp();
  core.onRun = async () => ({
    ok: true,
    message: 'Ready.',
    server: { id: '00000000000000aa', pid: 4711, url: 'http://127.0.0.1:4096/' },
    results: [],
  });
  mkdirSync(join(folder, 'project'));
  const ran = await rollcall(
    'start',
    'opencode',
    '--dir',
    'project',
    '--for',
    '4242',
    '--port',
    '4096',
    '--keep-running',
    '--json',
  );
  expect(ran.code).toBe(0);
  expect(JSON.parse(ran.out)).toMatchObject({ id: '00000000000000aa', pid: 4711, url: 'http://127.0.0.1:4096/' });
  expect(core.ran[0]?.command).toEqual({
    command: 'start',
    kind: 'opencode',
    directory: join(folder, 'project'),
    port: 4096,
    forPid: 4242,
    keepRunning: true,
  });
  expect((await rollcall('start', 'opencode')).out).toBe(
    'id   00000000000000aa\npid  4711\nurl  http://127.0.0.1:4096/\n',
  );
  core.onRun = async () => ({
    ok: false,
    failure: {
      code: 'port-taken',
      message: 'Port 4096 is held by node, PID 6120.',
      remedy: 'Choose another port.',
      detail: null,
    },
    results: [],
  });
  const failed = await rollcall('start', 'opencode', '--port', '4096');
  expect(failed).toMatchObject({ code: 1, out: '' });
  expect(failed.err).toMatch(/PID 6120.*Choose another port\./u);
});

test('stop follows what the roll permits', async () => {
  await startApp();
  const stop = { supervised: 'yes', owned: 'no', service: 'force', suspect: 'confirm' } as const;
  core.onExplain = async (target) => {
    const [standing, allowed] = Object.entries(stop)[Number(target) - 1001] ?? ['owned', 'no'];
    const permission = allowed === 'yes' ? { allowed } : { allowed, why: `Because it is ${standing}.` };
    return { server: fakeServer(Number(target), 'supervised', { stop: permission }), leftover: null, text: '' };
  };
  const code = async (...words: string[]) => (await rollcall('stop', ...words)).code;
  expect(await code('1001')).toBe(0);
  expect(await code('1002', '--yes', '--force')).toBe(1);
  expect(await code('1003', '--yes')).toBe(1);
  expect(await code('1003', '--force')).toBe(1);
  expect(await code('1003', '--yes', '--force')).toBe(0);
  expect(await code('1004')).toBe(1);
  expect(await code('1004', '--yes')).toBe(0);
  expect(core.ran.map((each) => each.command.command)).toEqual(['stop', 'stop', 'stop']);
});

test('explain tells why; for a stranger what it is, with exit 1', async () => {
  await startApp();
  core.onExplain = async () => ({ server: fakeServer(4711, 'leaked'), leftover: null, text: '' });
  const known = await rollcall('explain', '4711');
  expect(known.code).toBe(0);
  expect(known.out).toMatch(/^◆ opencode :34801 .*PID 4711.* leaked[\s\S]*✓ No owner.*PID 4000/u);
  core.onExplain = async (target) => ({ server: null, leftover: null, text: `PID ${target} is bash.` });
  expect(await rollcall('explain', '7')).toMatchObject({ code: 1, out: 'PID 7 is bash.\n' });
});

test('records and clear go by the file that was judged', async () => {
  const path = join(folder, 'record.json');
  const record = {
    host: 'local',
    source: 'rollcall',
    path,
    pid: 4711,
    verdict: 'reused',
    detail: 'names PID 4711, which is now postgres',
    clearable: true,
    keptBecause: null,
    sha256: 'ab12',
    kind: null,
    directory: null,
    writtenAt: null,
  } as const;
  core.roll = fakeRoll(1, {
    records: [
      record,
      { ...record, path: `${path}.kept`, clearable: false, keptBecause: 'It is kept: it cannot be read.' },
    ],
  });
  await startApp();
  expect(JSON.parse((await rollcall('records', '--json')).out)).toMatchObject({
    records: [{ path, verdict: 'reused' }, {}],
  });
  expect((await rollcall('records')).out).toContain('which is now postgres');
  expect((await rollcall('clear', 'record.json')).code).toBe(0);
  expect(core.ran.map((each) => each.command)).toEqual([{ command: 'clear', path, sha256: 'ab12' }]);
  expect(await rollcall('clear', `${path}.kept`)).toMatchObject({ code: 1, err: 'It is kept: it cannot be read.\n' });
  expect((await rollcall('clear', join(folder, 'other.json'))).code).toBe(1);
  expect(core.ran).toHaveLength(1);
});

test('audit reads past a torn last line', async () => {
  mkdirSync(paths().stateDir, { recursive: true });
  const line = {
    at: '2026-01-02T03:04:05.000Z',
    event: 'signal-intent',
    by: 'cli',
    host: 'local',
    pid: 4711,
    identity: null,
    verdict: 'same',
    signal: 'SIGTERM',
    subject: 'opencode :34801 on local',
    text: 'SIGTERM is next',
  };
  writeFileSync(paths().auditFile, `${JSON.stringify(line)}\n{"at":"2026-`);
  expect((await rollcall('audit')).out).toContain(
    'signal-intent  opencode :34801 on local, PID 4711: SIGTERM is next\n',
  );
  expect(JSON.parse((await rollcall('audit', '--json')).out)).toMatchObject({ entries: [{ signal: 'SIGTERM' }] });
});

test('list --watch prints again only when something changed, survives the app, and ends on Ctrl-C', async () => {
  await startApp();
  const child = spawn(process.execPath, [program, 'list', '--watch'], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  children.push(child);
  let out = '';
  let err = '';
  child.stdout.on('data', (chunk: Buffer) => {
    out += chunk.toString();
  });
  child.stderr.on('data', (chunk: Buffer) => {
    err += chunk.toString();
  });
  const heads = () => out.split('\n').filter((line) => line.startsWith('local, ')).length;
  await expect.poll(heads, { timeout: 60_000 }).toBe(1);
  // That another one which says the same is not printed has a test of its own, with looks that can be counted.
  core.push(fakeRoll(2, { servers: [fakeServer(4711, 'leaked', { cpuPercent: 77 })] }));
  core.push(fakeRoll(3, { servers: [] }));
  await expect.poll(heads, { timeout: 60_000 }).toBe(2);
  await app?.close();
  app = null;
  await expect.poll(() => err, { timeout: 60_000 }).toContain('local core: read');
  child.kill('SIGINT');
  const code = await new Promise((done) => child.on('exit', done));
  expect(code).toBe(0);
  expect(existsSync(paths().writerLock)).toBe(false);
});
