import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { BadOptions, readOptions } from './options.ts';
import { Random } from './random.ts';
import { readTrace } from './trace.ts';

test('the same seed draws the same row, and a fork does not shift it', () => {
  const row = (random: Random): number[] => Array.from({ length: 20 }, () => random.between(1, 1000));
  expect(row(new Random(7))).toEqual(row(new Random(7)));
  expect(row(new Random(7))).not.toEqual(row(new Random(8)));
  const [forked, plain] = [new Random(7), new Random(7)];
  row(forked.fork());
  plain.next();
  expect(row(forked)).toEqual(row(plain));
});

test('what is drawn stays within its bounds, and weights count', () => {
  const random = new Random(1);
  const drawn = Array.from({ length: 2000 }, () => random.weighted([{ weight: 9 }, { weight: 1 }]).weight);
  const rare = drawn.filter((weight) => weight === 1).length;
  expect(rare).toBeGreaterThan(100);
  expect(rare).toBeLessThan(320);
  for (let time = 0; time < 1000; time += 1) expect([3, 4, 5]).toContain(random.between(3, 5));
  expect(random.pick([])).toBeUndefined();
});

test('minutes, seconds, seed and nothing else are understood', () => {
  expect(readOptions(['--minutes', '0.5', '--seed', '9'], 4)).toMatchObject({ seconds: 30, seed: 9, sabotage: null });
  expect(readOptions([], 4)).toMatchObject({ seconds: 60, seed: 4, verbose: false });
  for (const words of [['--minutes', 'x'], ['--seconds', '-1'], ['--minutes', '1', '--seconds', '1'], ['--what']]) {
    expect(() => readOptions(words, 4)).toThrow(BadOptions);
  }
});

test('a traced signal is dated by the moment at which its target was named', () => {
  const folder = mkdtempSync(join(tmpdir(), 'rollcall-trace-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, 'trace');
  writeFileSync(
    file,
    [
      '40 100.5 pidfd_open(71, 0) = 9<pid:71>',
      '40 100.7 pidfd_send_signal(9<pid:71>, 0, NULL, 0) = 0',
      '41 100.8 kill(50, SIGTERM <unfinished ...>',
      '40 101.5 pidfd_send_signal(9<pid:71>, SIGTERM, NULL, 0) = 0',
      '41 101.6 <... kill resumed>) = 0',
      '41 101.7 pidfd_send_signal(9<anon_inode:[pidfd]>, SIGKILL, NULL, 0) = -1 ESRCH (No such process)',
      '41 101.8 tgkill(60, 61, SIGABRT) = ',
    ].join('\n'),
  );
  expect(readTrace(file)).toEqual([
    { by: 40, at: 100.5, pid: 71, signal: 'SIGTERM', ok: true },
    { by: 41, at: 100.8, pid: 50, signal: 'SIGTERM', ok: true },
    { by: 41, at: 101.7, pid: null, signal: 'SIGKILL', ok: false },
  ]);
  expect(readTrace(join(folder, 'absent'))).toEqual([]);
});
