/** Many real commands at once against one state folder: one writer at a time, nothing lost, nothing twice. */
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { readAudit } from '../audit/audit.ts';
import { bundle } from '../hosts/local/testing/bundle.ts';
import { listRecords } from '../records/files.ts';
import { installFake, installProgram } from '../supervisor/testing/fake-opencode.ts';
import { isAlive, livingOf, Started, waitUntil } from '../supervisor/testing/processes.ts';
import { bundleCommand, CommandHome, type Ran, running } from './command.testing.ts';

const SECRET = 'hunter2-Zq81kfW0';
const AGENT = `
require('node:http').createServer((_, res) => res.end('ready')).listen(Number(process.argv[2]), '127.0.0.1');
`;

/** The app's supervisor without its window. */
const APP = `
import { writeFileSync } from 'node:fs';
import { resolvePaths } from '../config/paths.ts';
import { acquireWriter } from '../writer/writer-lock.ts';
import { inlineLooker } from '../hosts/local/look/looker.ts';
import { recognise } from '../servers/recognition/recognise.ts';
import { openLocalCore } from '../core/local-core.ts';
const paths = resolvePaths({ env: process.env, platform: process.platform, uid: process.getuid(), home: process.env.HOME });
const lock = await acquireWriter(paths.writerLock, { holder: 'app', version: '0', fallbackFolder: paths.runtimeDir });
const core = await openLocalCore({ paths, lock, mode: 'app', looker: inlineLooker(recognise) });
if (process.env.ONCE !== undefined) {
  console.log(core.roll.servers.filter(({ directory }) => directory === process.env.HOME).map(({ standing }) => standing).join());
  await core.close(false, 1000);
  process.exit(0);
}
writeFileSync(process.env.HOME + '/open', '');
`;

let command: string;
let app: string;
let root: string;
let programs: readonly string[];
let home: CommandHome;
let started: Started;

beforeAll(async () => {
  command = await bundleCommand();
  app = (await bundle({ code: APP, beside: new URL('./parallel.ts', import.meta.url) })).pathname;
});
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'rollcall-parallel-'));
  const path = installFake(root);
  const agent = installProgram(root, 'agentd', 'agent', AGENT);
  programs = [path, agent];
  home = new CommandHome(root, {
    leak: { graceSeconds: 0 },
    start: { opencode: { path, env: { OPENCODE_API_KEY: SECRET } } },
    kinds: [
      {
        name: 'agent',
        program: agent,
        args: ['agent'],
        start: [agent, 'agent', '{port}', '--api-key', SECRET, `--token=${SECRET}`, `https://ann:${SECRET}@host/`],
        health: { path: '/', contains: 'ready' },
      },
    ],
  });
  started = new Started();
});
afterEach(async () => {
  for (const pid of servers()) started.note(pid);
  await started.endAll();
  rmSync(root, { recursive: true, force: true });
});

const servers = (): number[] => livingOf(programs);

const rollcall = (...words: string[]): Promise<Ran> => running([process.execPath, command, ...words], home.env).ended;
const records = () => listRecords(home.paths.recordsDir);

test('the same server started by four at once is one; all of them name it, and those that only look see the roll', async () => {
  const starts = Array.from({ length: 4 }, () => rollcall('start', 'opencode', '--dir', root, '--json'));
  const looks = [rollcall('list'), rollcall('records'), rollcall('list', '--json')];
  const ran = await Promise.all([...starts, ...looks]);
  for (const { code, err } of ran.slice(4)) expect(code, err).toBe(0);
  // Each waits ten seconds for its turn; on a machine that is busier than that it says so and has done nothing.
  const late = ran.slice(0, 4).filter(({ code }) => code !== 0);
  for (const { err } of late) expect(err).toMatch(/PID \d+/u);
  const pids = ran
    .slice(0, 4)
    .filter(({ code }) => code === 0)
    .map(({ out }) => (JSON.parse(out) as { pid: number }).pid);
  expect(new Set(pids).size).toBe(1);
  expect(servers()).toEqual([pids[0]]);
  expect(records()).toHaveLength(1);
  expect(records()[0]?.record?.state).toBe('bound');
  expect(readAudit(home.paths.auditFile).filter(({ event }) => event === 'started')).toHaveLength(1);
}, 120_000);

test('starts in different folders and stops of one server at once: a record for each that runs, none for what ended', async () => {
  const folders = ['a', 'b', 'c'].map((name) => join(root, name));
  for (const folder of folders) {
    mkdirSync(folder);
    // Its program takes its script from the folder that it serves.
    writeFileSync(join(folder, 'agent'), AGENT);
  }
  const [first] = folders;
  const begun = await rollcall('start', 'agent', '--dir', first ?? '', '--json');
  const { pid } = JSON.parse(begun.out) as { pid: number };
  const acts = await Promise.all([
    ...folders.slice(1).map((folder) => rollcall('start', 'agent', '--dir', folder, '--json')),
    rollcall('stop', String(pid)),
    rollcall('stop', String(pid)),
    rollcall('list'),
  ]);
  for (const { code, err } of acts.slice(0, 2)) expect(code, err).toBe(0);
  const stops = acts.slice(2, 4);
  expect(stops.map(({ code }) => code).sort()).toEqual([0, 1]);
  const late = stops.find(({ code }) => code === 1)?.err ?? '';
  expect(late).toMatch(/PID \d+/u);
  expect(isAlive(pid)).toBe(false);
  expect(
    records()
      .map(({ record }) => record?.server?.identity.pid)
      .sort(),
  ).toEqual(servers().sort());
  expect(servers()).toHaveLength(2);
}, 120_000);

test('one stale record that three want out of the way is moved once; the others say that it is none any more', async () => {
  const begun = await rollcall('start', 'opencode', '--dir', root, '--json');
  const { pid } = JSON.parse(begun.out) as { pid: number };
  started.note(pid);
  await started.kill(pid);
  const path = records()[0]?.path ?? '';
  const ran = await Promise.all([1, 2, 3].map(() => rollcall('clear', path)));
  expect(ran.map(({ code }) => code).sort()).toEqual([0, 1, 1]);
  for (const { code, err } of ran) if (code === 1) expect(err).toContain(path);
  expect(records()).toEqual([]);
  expect(readdirSync(home.paths.setAsideDir)).toHaveLength(1);
}, 120_000);

test('a second app on the same state folder ends with one sentence and touches nothing', async () => {
  const ran = await rollcall('start', 'opencode', '--dir', root);
  expect(ran.code, ran.err).toBe(0);
  const first = running([process.execPath, app], home.env);
  await waitUntil('the first is open', () => existsSync(join(root, 'open')));
  const before = records().map(({ sha256 }) => sha256);
  const second = await running([process.execPath, app], home.env).ended;
  expect(second.code).not.toBe(0);
  expect(second.err).toMatch(
    /Rollcall.*, PID \d+, is in charge of these servers now\. Try again when it has finished\./u,
  );
  first.child.kill('SIGKILL');
  await first.ended;
  expect(records().map(({ sha256 }) => sha256)).toEqual(before);
  expect(servers()).toHaveLength(1);
  // The kernel has released the lock with its holder: no wait, and nothing to clean up by hand.
  const third = await running([process.execPath, app], { ...home.env, ONCE: '1' }).ended;
  expect(third, third.err).toMatchObject({ code: 0, out: 'supervised\n' });
}, 120_000);

test('no secret of a command line or an environment is anywhere in the state folder', async () => {
  for (const kind of ['agent', 'opencode']) {
    const ran = await rollcall('start', kind, '--dir', root);
    expect(ran.code, ran.err).toBe(0);
    expect(`${ran.out}${ran.err}`).not.toContain(SECRET);
  }
  expect((await rollcall('list', '--json')).out).not.toContain(SECRET);
  const [one] = servers();
  expect((await rollcall('stop', String(one))).code).toBe(0);
  const [record] = records();
  expect(record?.record?.planHash).toMatch(/^[0-9a-f]{64}$/u);
  expect(record?.record?.server?.evidence.argvHash).toMatch(/^[0-9a-f]{64}$/u);
  const files = readdirSync(root, { recursive: true, encoding: 'utf8' })
    .map((name) => join(root, name))
    .filter((path) => path !== home.paths.configFile && !programs.includes(path) && statSync(path).isFile());
  expect(files.filter((path) => path.startsWith(home.paths.stateDir)).length).toBeGreaterThanOrEqual(4);
  for (const path of files) expect(readFileSync(path).includes(SECRET), path).toBe(false);
}, 120_000);
