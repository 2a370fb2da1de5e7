import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { estimate, JobQueue, jobsOf, keepSeconds, kindOf, measuredSeconds } from './test-jobs.mjs';

function folder(): string {
  const made = mkdtempSync(path.join(os.tmpdir(), 'rollcall-jobs-'));
  onTestFinished(() => rmSync(made, { recursive: true, force: true }));
  return made;
}

const SECONDS: Readonly<Record<string, number>> = { long: 90, middle: 20, a: 4, b: 3, c: 19 };

test('a long file is a job of its own and comes first; short ones share one', () => {
  const jobs = jobsOf('integration', ['a', 'c', 'long', 'middle', 'b'], (file) => SECONDS[file] ?? 0);
  expect(jobs.map(({ files }) => files)).toEqual([['long'], ['c', 'a'], ['middle'], ['b']]);
  expect(jobs.flatMap(({ files }) => files).sort()).toEqual(['a', 'b', 'c', 'long', 'middle']);
});

test('each file of the long tier is a job of its own', () => {
  expect(jobsOf('long', ['a', 'b', 'c'], (file) => SECONDS[file] ?? 0).map(({ files }) => files)).toEqual([
    ['c'],
    ['a'],
    ['b'],
  ]);
});

test('the order in which files are found changes nothing', () => {
  const files = ['a', 'b', 'c', 'long', 'middle'];
  const of = (names: readonly string[]) => jobsOf('e2e', names, (file) => SECONDS[file] ?? 0);
  expect(of([...files].reverse())).toEqual(of(files));
});

test('of several that take from one queue each gets another job, and none is lost', () => {
  const at = folder();
  new JobQueue(at).fill(jobsOf('unit', ['long', 'middle'], (file) => SECONDS[file] ?? 0));
  const [one, other] = [new JobQueue(at), new JobQueue(at)];
  const taken = [one.take(), other.take(), one.take()];
  expect(taken.map((each) => each?.job.files ?? null)).toEqual([['long'], ['middle'], null]);
  one.finish(taken[0]?.id ?? '', { code: 0 });
  expect(other.result(taken[0]?.id ?? '')).toEqual({ code: 0 });
  expect(other.result(taken[1]?.id ?? '')).toBeNull();
  expect([one.ids('waiting'), one.ids('taken').length, one.ids('done').length]).toEqual([[], 2, 1]);
});

test('what a file took the last time decides, and its size where it never ran', () => {
  const root = folder();
  mkdirSync(path.join(root, 'app'));
  for (const name of ['known', 'new']) writeFileSync(path.join(root, 'app', name), 'x'.repeat(6000));
  expect(measuredSeconds(root)).toEqual({});
  keepSeconds(root, { 'app/known': 3 });
  keepSeconds(root, { 'app/other': 5 });
  expect(measuredSeconds(root)).toEqual({ 'app/known': 3, 'app/other': 5 });
  expect(['app/known', 'app/new'].map(estimate(root))).toEqual([3, 10]);
});

test('a test file is known by its name', () => {
  const names = [
    'app/a.test.ts',
    'renderer/a.test.tsx',
    'app/a.integration.test.ts',
    'chaos/a.long.test.ts',
    'e2e/a.spec.ts',
  ];
  expect(names.map(kindOf)).toEqual(['unit', 'unit', 'integration', 'long', 'e2e']);
  expect(['app/a.ts', 'app/a.testing.ts', 'e2e/support/a.ts'].map(kindOf)).toEqual([null, null, null]);
});
