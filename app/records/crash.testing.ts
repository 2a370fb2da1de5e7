/**
 * The kernel kills a command just before each of its writes, and the next one finds everything whole: records old or
 * new, servers with their record, an audit that can be read, and nothing half written that stays for ever. What is killed
 * before every test run is in crash.integration.test.ts, the rest in crash.long.test.ts.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, unlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { readAudit } from '../audit/audit.ts';
import { bundleCommand, CommandHome, running } from '../cli/command.testing.ts';
import { bundle } from '../hosts/local/testing/bundle.ts';
import { until } from '../hosts/local/testing/processes.ts';
import { installFake } from '../supervisor/testing/fake-opencode.ts';
import { livingOf, Started } from '../supervisor/testing/processes.ts';
import { openWorld } from '../supervisor/testing/world.ts';
import { listRecords } from './files.ts';

const HAS_STRACE = process.platform === 'linux' && spawnSync('strace', ['-V']).status === 0;

/** A run that makes more calls of one kind does something else than this test thinks. */
const MAX_CALLS = 400;

/** Marks the first server that is supervised to keep running; no command does. */
const KEEP = `
import { resolvePaths } from '../config/paths.ts';
import { inlineLooker } from '../hosts/local/look/looker.ts';
import { recognise } from '../servers/recognition/recognise.ts';
import { openLocalCore } from '../core/local-core.ts';
const paths = resolvePaths({ env: process.env, platform: process.platform, uid: process.getuid(), home: process.env.HOME });
const core = await openLocalCore({ paths, lock: null, mode: 'act', looker: inlineLooker(recognise) });
const row = core.roll.servers.find((server) => server.supervised !== null);
const result = await core.run({ command: 'keep-running', server: row.id, keepRunning: true }, 'cli');
if (!result.ok) throw new Error(result.failure.message);
await core.close(false, 0);
process.exit(0);
`;

let command: string;
let keep: string;
let root: string;
let program: string;
let config: unknown;
let home: CommandHome;
let started: Started;

beforeAll(async () => {
  command = await bundleCommand();
  keep = (await bundle({ code: KEEP, beside: new URL('./crash.ts', import.meta.url) })).pathname;
});
beforeEach((context) => {
  if (!HAS_STRACE) context.skip('strace is not installed');
  root = mkdtempSync(join(tmpdir(), 'rollcall-crash-'));
  program = installFake(root);
  config = { leak: { graceSeconds: 0 }, start: { opencode: { path: program } } };
  home = new CommandHome(root, config);
  started = new Started();
});
afterEach(async () => {
  if (!HAS_STRACE) return;
  await endServers();
  rmSync(root, { recursive: true, force: true });
});

const records = () => listRecords(home.paths.recordsDir);
const start = () => [command, 'start', 'opencode', '--dir', root];

/** States of the records on disk; `torn` is a file that does not parse. */
function readRecords(): string[] {
  return records().map(({ record }) => record?.state ?? 'torn');
}

/** PIDs of the servers of this test, whoever knows of them. */
const servers = (): number[] => livingOf([program]);

async function endServers(): Promise<void> {
  for (const pid of servers()) started.note(pid);
  await started.endAll();
}

async function run(words: readonly string[]): Promise<void> {
  const ran = await running([process.execPath, ...words], home.env).ended;
  expect(ran, ran.err).toMatchObject({ code: 0 });
}

/** Runs it and kills it before its Nth call of one kind, counted in each of its threads. @returns whether it was killed */
async function runUntil(words: readonly string[], call: string, at: number): Promise<boolean> {
  // Threads are followed, programs that it starts are let go: a server makes calls of its own.
  const tracing = ['-f', '-b', 'execve', '-qq', '-o', '/dev/null', '-e', `trace=${call},execve`];
  const killing = ['-e', `inject=${call}:signal=KILL:when=${at}`];
  // One thread for the asynchronous writes, so that the count does not depend on which of four takes them.
  const env = { ...home.env, UV_THREADPOOL_SIZE: '1' };
  const { code, signal } = await running(['strace', ...tracing, ...killing, process.execPath, ...words], env).ended;
  // strace ends as what it traced did.
  if (signal === 'SIGKILL') return true;
  expect([0, 1]).toContain(code);
  return false;
}

/** What holds after any crash, and what the next writer makes of it. */
async function checkEverything(): Promise<void> {
  const before = readAudit(home.paths.auditFile).length;
  const living = servers();
  const world = await openWorld({ root, config, mode: 'act' });
  try {
    expect(readRecords()).not.toContain('torn');
    for (const pid of living) {
      const supervised = async (): Promise<boolean> => {
        await world.core.run({ command: 'look' }, 'cli');
        return world.server(pid)?.standing === 'supervised';
      };
      await until(`PID ${pid} has its record`, supervised, 60_000);
    }
    if (living.length > 0) expect(readRecords().filter((state) => state !== 'bound')).toEqual([]);
    const files = readdirSync(home.paths.stateDir, { recursive: true, encoding: 'utf8' });
    expect(files.filter((name) => name.endsWith('.tmp'))).toEqual([]);
    expect(readAudit(home.paths.auditFile).length).toBeGreaterThanOrEqual(before);
  } finally {
    await world.core.close(false, 1000);
  }
}

/** Kills before the 1st, 2nd, 3rd … call until one run gets through. @returns how many were killed */
async function killEach(
  call: string,
  words: () => readonly string[],
  prepare: () => Promise<void>,
  step = 1,
): Promise<number> {
  for (let at = 1; ; at += step) {
    await prepare();
    const torn = readRecords().includes('torn');
    const killed = await runUntil(words(), call, at);
    if (!torn) expect(readRecords()).not.toContain('torn');
    await checkEverything();
    if (!killed) return at - 1;
    if (at > MAX_CALLS) throw new Error(`${call} is called more than ${MAX_CALLS} times`);
  }
}

async function nothingRuns(): Promise<void> {
  await endServers();
  rmSync(home.paths.recordsDir, { recursive: true, force: true });
}

async function oneRuns(): Promise<void> {
  if (servers().length === 1 && records().length === 1) return;
  await nothingRuns();
  await run(start());
}

/** A call that is killed before it, the first time it comes and then every `step`th, at least so often in all. */
export interface Killed {
  readonly call: string;
  readonly step: number;
  readonly least: number;
}

export interface Crashes {
  /** After how many bytes each a record is cut off, besides after the last. */
  readonly cutEvery: number | null;
  readonly start: readonly Killed[];
  readonly stop: readonly Killed[];
  readonly mark: readonly Killed[];
  /** Of a command that puts the records in order and then finds nothing to do. */
  readonly order: readonly Killed[];
}

const MINUTES = 60_000;

/** Defines the tests: each act is killed before each of these calls. */
export function crashTests({ cutEvery, start: starts, stop: stops, mark: marks, order: orders }: Crashes): void {
  const stop = () => [command, 'stop', String(servers()[0] ?? 0)];
  const order = () => [command, 'clear', join(root, 'nothing')];

  test.each(starts)(
    'a start that is killed before $call',
    async ({ call, step, least }) => {
      expect(await killEach(call, start, nothingRuns, step)).toBeGreaterThanOrEqual(least);
    },
    20 * MINUTES,
  );

  test.each(stops)(
    'a stop that is killed before $call',
    async ({ call, step, least }) => {
      expect(await killEach(call, stop, oneRuns, step)).toBeGreaterThanOrEqual(least);
    },
    20 * MINUTES,
  );

  test.each(marks)(
    'a mark to keep running that is killed before $call',
    async ({ call, step, least }) => {
      expect(await killEach(call, () => [keep], oneRuns, step)).toBeGreaterThanOrEqual(least);
    },
    20 * MINUTES,
  );

  const losses: [string, (path: string) => void][] = [
    ['a torn record that is moved aside', (path) => writeFileSync(path, readFileSync(path, 'utf8').slice(0, 100))],
    ['a lost record that is written anew', (path) => unlinkSync(path)],
  ];
  for (const [what, lose] of losses) {
    const prepare = async (): Promise<void> => {
      await oneRuns();
      lose(records()[0]?.path ?? '');
    };
    test.each(orders)(
      `${what}, killed before $call`,
      async ({ call, step, least }) => {
        expect(await killEach(call, order, prepare, step)).toBeGreaterThanOrEqual(least);
      },
      20 * MINUTES,
    );
  }

  if (cutEvery === null) return;
  test(
    'a record that is cut off after any byte costs no server',
    async () => {
      await oneRuns();
      const [record] = records();
      const [pid] = servers();
      if (record === undefined || pid === undefined) throw new Error('no server runs');
      const whole = readFileSync(record.path);
      for (let bytes = 0; bytes < whole.length; bytes += cutEvery) {
        writeFileSync(record.path, whole.subarray(0, bytes));
        await checkEverything();
        expect(servers(), `cut after ${bytes} bytes`).toEqual([pid]);
      }
    },
    20 * MINUTES,
  );
}
