import {
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { until } from '../hosts/local/testing/processes.ts';
import type { ProcessRef, Verdict } from '../identity/identity.ts';
import { someRef } from '../records/fixtures.testing.ts';
import { IdempotencyStore } from './idempotency-store.ts';

let folder: string;
/** PIDs that live. */
let alive: Set<number>;

beforeEach(() => {
  folder = join(mkdtempSync(join(tmpdir(), 'rollcall-once-')), 'once');
  alive = new Set([100, 200]);
});
afterEach(() => rmSync(join(folder, '..'), { recursive: true, force: true }));

const verify = async ({ identity }: ProcessRef): Promise<Verdict> =>
  alive.has(identity.pid) ? { verdict: 'same' } : { verdict: 'gone', why: 'it has exited' };

const onceOf = (pid: number): IdempotencyStore =>
  new IdempotencyStore({ folder, self: someRef(pid), verify, keepFiles: 40 });

/** Begins a key and never ends it, as a process that is killed does. */
async function beginAndDie(pid: number, key: string): Promise<void> {
  await expect(
    onceOf(pid).run(key, async () => {
      throw new Error('killed');
    }),
  ).rejects.toThrow('killed');
  alive.delete(pid);
}

test('what is done is done once', async () => {
  let count = 0;
  const work = async (): Promise<void> => {
    count += 1;
  };
  expect(await onceOf(100).run('k', work)).toBe('done');
  expect(await onceOf(100).run('k', work)).toBe('was-done');
  expect(await onceOf(200).run('k', work)).toBe('was-done');
  expect(await onceOf(200).run('other', work)).toBe('done');
  expect(count).toBe(2);
  for (const name of readdirSync(folder)) expect(statSync(join(folder, name)).mode & 0o777).toBe(0o600);
});

test('what a living process is at is left alone, what a dead one began is taken over', async () => {
  let done = 0;
  const inside = await new Promise((seen) => {
    void onceOf(100).run('k', async () => {
      seen(
        await onceOf(200).run('k', async () => {
          done += 1;
        }),
      );
    });
  });
  expect(inside).toBe('underway');
  expect(done).toBe(0);

  await beginAndDie(100, 'killed');
  expect(
    await onceOf(200).run('killed', async () => {
      done += 1;
    }),
  ).toBe('done');
  expect(done).toBe(1);
});

test('one that nothing can be told of counts as living', async () => {
  await beginAndDie(100, 'k');
  const blind = new IdempotencyStore({
    folder,
    self: someRef(200),
    verify: async () => ({ verdict: 'unknown', why: 'no /proc' }),
  });
  expect(await blind.run('k', async () => undefined)).toBe('underway');
});

test('the same process may try again what went wrong', async () => {
  const once = onceOf(100);
  await expect(
    once.run('k', async () => {
      throw new Error('full disk');
    }),
  ).rejects.toThrow('full disk');
  expect(await once.run('k', async () => undefined)).toBe('done');
});

test('of many that come at once to take over, one does it', async () => {
  await beginAndDie(100, 'k');
  const pids = Array.from({ length: 20 }, (_, index) => 300 + index);
  for (const pid of pids) alive.add(pid);
  let count = 0;
  let refused = 0;
  const outcomes = await Promise.all(
    pids.map(async (pid) => {
      const outcome = await onceOf(pid).run('k', async () => {
        count += 1;
        await until('everybody else has come', () => count + refused === pids.length, 60_000);
      });
      if (outcome !== 'done') refused += 1;
      return outcome;
    }),
  );
  expect(count).toBe(1);
  expect(outcomes.filter((outcome) => outcome === 'done')).toHaveLength(1);
});

test('a file that a damaged disk has torn is no reason not to do it', async () => {
  await beginAndDie(100, 'k');
  alive.add(100);
  const [name] = readdirSync(folder);
  truncateSync(join(folder, name ?? ''), 3);
  expect(await onceOf(200).run('k', async () => undefined)).toBe('done');
});

test('what is done is forgotten after a month and above a number; what is begun is not', async () => {
  await beginAndDie(100, 'open');
  alive.add(100);
  const once = onceOf(100);
  await once.run('old', async () => undefined);
  const past = new Date(Date.now() - 40 * 24 * 3600 * 1000);
  for (const name of readdirSync(folder)) utimesSync(join(folder, name), past, past);
  for (let index = 0; index < 30; index += 1) once.finish(`k${index}`);
  expect(once.isDone('old')).toBe(false);
  expect(once.isDone('k29')).toBe(true);
  for (let index = 0; index < 30; index += 1) once.finish(`m${index}`);
  const names = readdirSync(folder);
  expect(names.length).toBeLessThanOrEqual(42);
  expect(names.filter((name) => name.endsWith('.begun'))).toHaveLength(1);
  // A file of somebody else is nobody's key.
  writeFileSync(join(folder, 'note.txt'), '');
  expect(await once.run('open', async () => undefined)).toBe('done');
});

test('what was begun a month ago and not done is forgotten, unless a living process is at it', async () => {
  await beginAndDie(100, 'abandoned');
  await beginAndDie(101, 'hung');
  alive.add(101);
  await beginAndDie(102, 'fresh');
  const past = new Date(Date.now() - 40 * 24 * 3600 * 1000);
  const begun = readdirSync(folder);
  for (const name of begun)
    if (!readFileSync(join(folder, name), 'utf8').includes('fresh')) utimesSync(join(folder, name), past, past);
  expect(await onceOf(200).run('other', async () => undefined)).toBe('done');
  const left = readdirSync(folder).filter((name) => name.endsWith('.begun'));
  const keys = left.map((name) => (JSON.parse(readFileSync(join(folder, name), 'utf8')) as { key: string }).key);
  expect(keys.sort()).toEqual(['fresh', 'hung', 'other']);
  expect(await onceOf(200).run('hung', async () => undefined)).toBe('underway');
});

test('what a writer that was killed left on its way is removed after an hour; what is on its way now is not', async () => {
  const once = onceOf(100);
  await once.run('k', async () => undefined);
  const hash = (readdirSync(folder)[0] ?? '').slice(0, 32);
  const [old, young] = ['aa', 'bb'].map((end) => join(folder, `.${hash}.done.4711.${end.repeat(6)}.tmp`)) as [
    string,
    string,
  ];
  for (const path of [old, young, join(folder, '.somebody.tmp')]) writeFileSync(path, '');
  const past = new Date(Date.now() - 2 * 3600 * 1000);
  for (const path of [old, join(folder, '.somebody.tmp')]) utimesSync(path, past, past);
  once.finish('other');
  expect(
    readdirSync(folder)
      .filter((name) => name.endsWith('.tmp'))
      .sort(),
  ).toEqual([basename(young), '.somebody.tmp']);
});
