/** The keeper with real processes in the guard's place, which behave as guards may. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { type Paths, resolvePaths } from '../config/paths.ts';
import { someRecord } from '../records/fixtures.testing.ts';
import type { Supervised } from '../supervisor/core.ts';
import { isAlive, waitUntil } from '../supervisor/testing/processes.ts';
import { type Budgets, GuardClient } from './guard-client.ts';

/** A guard that works has all the time it needs, however slow the machine is. */
const BUDGETS: Partial<Budgets> = {
  ackMs: 60_000,
  pingMs: 100,
  stableMs: 60_000,
  firstBackoffMs: 20,
  longestBackoffMs: 100,
  farewellMs: 60_000,
};
/** What a guard that does not answer, or does not go, is given up after. */
const SHORT: Partial<Budgets> = { ...BUDGETS, ackMs: 300, farewellMs: 300 };
const SERVERS: Supervised[] = [
  { record: someRecord(), path: '/records/x.json', busy: 'idle', label: 'opencode :4096 on local', id: 'aaaa' },
];

/** Answers like a guard, and writes down what it was told; `act` may do something else for some messages. */
const guardScript = (act: string): string => `
  const net = require('node:net'); const fs = require('node:fs');
  const pipe = new net.Socket({ fd: 3 }); const [told] = process.argv.slice(1);
  const say = (m) => pipe.write(JSON.stringify(m) + '\\n');
  let text = '';
  pipe.on('data', (d) => { text += d; for (let at; (at = text.indexOf('\\n')) >= 0; text = text.slice(at + 1)) take(JSON.parse(text.slice(0, at))); });
  pipe.on('close', () => process.exit(0));
  function take(m) {
    fs.appendFileSync(told, process.pid + ' ' + JSON.stringify(m) + '\\n');
    ${act}
    if (m.type === 'hello') say({ type: 'hello', protocol: 1, pid: process.pid });
    else say({ type: 'ack', seq: m.seq });
    if (m.afterwards === 'nothing') pipe.end();
  }`;

let root: string;
let paths: Paths;
let keeper: GuardClient;
let changes: (string | null)[];
let notes: string[];
/** The pauses before each attempt but the first; milliseconds. */
let pauses: number[];

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'rollcall-keeper-'));
  paths = resolvePaths({ env: { ROLLCALL_STATE_DIR: join(root, 'state') }, platform: 'linux', uid: 0, home: root });
  mkdirSync(paths.logsDir, { recursive: true });
});
afterEach(async () => {
  const { pid } = keeper;
  await keeper.shutdown('nothing');
  if (pid !== null) await waitUntil('the guard is gone', () => !isAlive(pid));
  rmSync(root, { recursive: true, force: true });
});

const toldFile = (): string => join(root, 'told');

function told(): { pid: number; message: { type: string; servers?: unknown[]; afterwards?: string } }[] {
  try {
    return readFileSync(toldFile(), 'utf8')
      .trim()
      .split('\n')
      .map((text) => ({ pid: Number.parseInt(text, 10), message: JSON.parse(text.slice(text.indexOf(' '))) }));
  } catch {
    return []; // nothing was told yet
  }
}

function keep(program: string, args: readonly string[], budgets = BUDGETS): void {
  changes = [];
  notes = [];
  pauses = [];
  keeper = new GuardClient({
    command: { program, args, env: { PATH: process.env['PATH'] ?? '' } },
    paths,
    runId: '5a1b8b1e-8f0e-4b38-9d5c-1b7a3f0f9f10',
    version: '0.1.0',
    budgets,
    later: (start, pauseMs) => {
      pauses.push(pauseMs);
      return setTimeout(start, pauseMs);
    },
  });
  keeper.open({ changed: () => changes.push(keeper.problem), note: (text) => notes.push(text) });
}

const keepScript = (act: string, budgets = BUDGETS): void =>
  keep(process.execPath, ['-e', guardScript(act), toldFile()], budgets);

/** Lets real input come in while the timers stand still. */
async function turnsUntil(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((done) => setImmediate(done));
}

describe('a guard that works', () => {
  test('is handed the full state at once and on every change, and only then', async () => {
    keepScript('');
    keeper.update(SERVERS);
    await waitUntil('it watches', () => keeper.watching);
    keeper.update(structuredClone(SERVERS));
    keeper.update([]);
    await waitUntil(
      'the change has arrived',
      () => told().filter(({ message }) => message.type === 'state').length === 2,
    );
    await waitUntil('it is asked for a sign of life', () => told().some(({ message }) => message.type === 'ping'));
    expect(
      told()
        .map(({ message }) => message.type)
        .slice(0, 2),
    ).toEqual(['hello', 'state']);
    expect(told().flatMap(({ message }) => (message.servers === undefined ? [] : [message.servers.length]))).toEqual([
      1, 0,
    ]);
    expect(keeper.problem).toBeNull();
    expect(changes).toEqual([]);
    expect(statSync(paths.guardLog).mode & 0o777).toBe(0o600);
  });

  test('hears the farewell before the app goes', async () => {
    keepScript('');
    await waitUntil('it watches', () => keeper.watching);
    const { pid } = keeper;
    expect(await keeper.shutdown('watch-owners')).toBeNull();
    expect(told().at(-1)).toMatchObject({ pid, message: { type: 'farewell', afterwards: 'watch-owners' } });
    expect(keeper.pid).toBeNull();
  });

  test('has its log turned over when it is large', async () => {
    writeFileSync(paths.guardLog, 'x'.repeat(600_000));
    keepScript('console.error("hello");');
    await waitUntil('it has said something', () => readFileSync(paths.guardLog, 'utf8').includes('hello'));
    expect(statSync(paths.guardLog).size).toBeLessThan(10_000);
    expect(statSync(paths.guardLog.replace('.log', '.1.log')).size).toBe(600_000);
  });
});

describe('a guard that does not work', () => {
  test('because it cannot be started is told, tried again with longer pauses, and found when it can', async () => {
    const program = join(root, 'guard');
    keep(program, []);
    await waitUntil('it is told', () => keeper.problem !== null);
    expect(keeper.problem).toContain('ENOENT');
    expect(await keeper.startNow()).toContain('ENOENT');
    const script = guardScript('').replaceAll("'", "'\\''");
    writeFileSync(program, `#!/bin/sh\nexec ${process.execPath} -e '${script}' ${toldFile()}\n`, { mode: 0o755 });
    expect(await keeper.startNow()).toBeNull();
    expect(keeper.problem).toBeNull();
    expect(changes.at(-1)).toBeNull();
    expect(notes.at(-1)).toContain('runs again');
  });

  test('because it cannot be started says so to whoever asks first, and at the farewell', async () => {
    keep(join(root, 'guard'), []);
    expect(await keeper.startNow()).toContain('ENOENT');
    expect(await keeper.shutdown('watch-owners')).toContain('ENOENT');
  });

  test('because it does not hear the farewell is told to whoever said it, when something is left', async () => {
    keepScript("if (m.type === 'farewell') return;", { ...BUDGETS, pingMs: 60_000, farewellMs: 300 });
    await waitUntil('it watches', () => keeper.watching);
    expect(await keeper.shutdown('watch-owners')).toContain('0.3 s');
  });

  test('because it dies of the farewell is told with how it died', async () => {
    keepScript("if (m.type === 'farewell') process.exit(3);");
    await waitUntil('it watches', () => keeper.watching);
    expect(await keeper.shutdown('end-servers')).toMatch(/code 3|pipe/u);
  });

  test('because it ends at once is told from the second time on, and does not make a storm', async () => {
    keep(process.execPath, ['-e', 'process.exit(3)']);
    await waitUntil('it is told', () => keeper.problem !== null);
    expect(keeper.problem).toContain('code 3');
    await waitUntil('it has failed six times', () => notes.length >= 6);
    expect(pauses.slice(0, 6)).toEqual([0, 20, 40, 80, 100, 100]);
  });

  test.each([
    ['says nothing', 'return;', '0.3 s'],
    ['does not acknowledge', "if (m.type !== 'hello') return;", '0.3 s'],
    ['speaks another language', "pipe.write('bonjour\\n'); return;", 'understand'],
    ['never ends a line', "pipe.write('x'.repeat(1e6)); return;", 'understand'],
    ['refuses', "say({ type: 'refused', why: 'the app is too old' }); return;", 'the app is too old'],
    [
      'closes its pipe and stays',
      "setInterval(() => {}, 1e6); pipe.removeAllListeners('close'); pipe.end(); return;",
      'pipe',
    ],
  ])('because it %s is ended, told and replaced', async (_, act, why) => {
    keepScript(act, SHORT);
    // One that had not started in time is another trouble, and the next one comes.
    await waitUntil('it is told', () => keeper.problem?.includes(why) === true, 60_000);
    await waitUntil('it was replaced', () => new Set(told().map(({ pid }) => pid)).size > 2);
    const pids = [...new Set(told().map(({ pid }) => pid))].filter((pid) => pid !== keeper.pid);
    await waitUntil('those before are gone', () => pids.every((pid) => !isAlive(pid)));
  });

  test('killed once is replaced without a word in the window, with a line in the timeline', async () => {
    keepScript('');
    keeper.update(SERVERS);
    await waitUntil('it watches', () => keeper.watching);
    const first = keeper.pid ?? 0;
    process.kill(first, 'SIGKILL');
    await waitUntil('another one watches', () => keeper.watching && keeper.pid !== first);
    expect(keeper.problem).toBeNull();
    expect(changes).toEqual([]);
    expect(notes).toEqual([
      'The guard is gone: It was ended by SIGKILL. Another one is started',
      `The guard runs again, PID ${keeper.pid}`,
    ]);
    expect(told().at(-1)).toMatchObject({
      pid: keeper.pid,
      message: { type: 'state', servers: [{ path: '/records/x.json' }] },
    });
  });

  test('and is to be started again later is started for the farewell, when there is work for it', async () => {
    const flag = join(root, 'flag');
    keepScript(`if (!fs.existsSync(${JSON.stringify(flag)})) process.exit(1);`, {
      ...BUDGETS,
      firstBackoffMs: 600_000,
      longestBackoffMs: 600_000,
    });
    keeper.update(SERVERS);
    await waitUntil('it is waited with', () => keeper.problem !== null && keeper.pid === null);
    writeFileSync(flag, '');
    await keeper.shutdown('watch-owners');
    expect(told().slice(-2)).toMatchObject([
      { message: { type: 'state', servers: [{ path: '/records/x.json' }] } },
      { message: { type: 'farewell', afterwards: 'watch-owners' } },
    ]);
  });

  test('slow to answer, but within its time, is left alone', async () => {
    // Each message is answered when the next one comes, so there always is one that waits for its answer.
    const act = "if (m.type !== 'hello') { if (m.seq > 1) say({ type: 'ack', seq: m.seq - 1 }); return; }";
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] });
    try {
      keepScript(act, SHORT);
      await turnsUntil(() => told().some(({ message }) => message.type === 'state'));
      const first = keeper.pid;
      // Three times as long as an answer may take.
      for (let round = 1; round <= 9; round += 1) {
        keeper.update(round % 2 === 0 ? [] : SERVERS);
        vi.advanceTimersByTime(100);
        await turnsUntil(() => keeper.watching || keeper.pid !== first);
        expect(keeper.pid).toBe(first);
      }
      expect(pauses).toEqual([]);
    } finally {
      vi.useRealTimers();
    }
  });

  test('without a log it runs anyway', async () => {
    rmSync(paths.logsDir, { recursive: true });
    writeFileSync(paths.logsDir, 'in the way');
    keepScript('');
    await waitUntil('it watches', () => keeper.watching);
    expect(notes.join()).toContain('without a log');
  });
});
