import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isFinished } from '../../process-info.ts';
import { parseStat } from './stat.ts';

/** A stat line with the fields that matter set, the others zero. */
function line(comm: string | Buffer, state = 'S', threads = 1, start = '187588', flags = 0): Buffer {
  const rest = [state, 10, 11, 12, 34816, -1, flags, 0, 0, 0, 0, 5, 7, 0, 0, 20, 0, threads, 0, start, 999, 55, 0];
  return Buffer.concat([Buffer.from('4711 ('), Buffer.from(comm), Buffer.from(`) ${rest.join(' ')}\n`)]);
}

describe('parseStat', () => {
  test('reads our own line as the kernel prints it', () => {
    const stat = parseStat(readFileSync('/proc/self/stat'));
    expect(stat).toMatchObject({ pid: process.pid, ppid: process.ppid, kernelThread: false });
    expect(stat?.startTicks).toMatch(/^\d+$/u);
  });

  test('gives each field its own number', () => {
    expect(parseStat(line('server'))).toEqual({
      pid: 4711,
      comm: 'server',
      state: 'S',
      ppid: 10,
      pgrp: 11,
      session: 12,
      tty: 34816,
      tpgid: -1,
      kernelThread: false,
      cpuTicks: 12,
      threads: 1,
      startTicks: '187588',
    });
  });

  test.each(['a b', ')', '(', '))', ') S 1 2 (', 'x) Z 1 1 1', '\n', 'a\nb', '', ' ', '((sd-pam))', 'ütf', '\t'])(
    'F4 the name %j does not shift the fields',
    (comm) => {
      expect(parseStat(line(comm))).toMatchObject({ comm, ppid: 10, startTicks: '187588' });
    },
  );

  test('any name of up to 15 bytes leaves the other fields alone', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 15 }), (bytes) => {
        expect(parseStat(line(Buffer.from(bytes)))).toMatchObject({ ppid: 10, threads: 1, startTicks: '187588' });
      }),
    );
  });

  test('keeps ticks beyond what a double can hold', () => {
    expect(parseStat(line('x', 'S', 1, '18446744073709551615'))?.startTicks).toBe('18446744073709551615');
  });

  test('knows a kernel thread by its flag, not by an empty argv', () => {
    expect(parseStat(line('kworker', 'I', 1, '1', 0x0020_8040))?.kernelThread).toBe(true);
  });

  test.each(['', '4711', '4711 (x', '4711 (x) S', '4711 (x) SS 1 1 1', 'x (y) S 1', '4711 (x) S 1 1 1 0 0 0'])(
    'refuses %j, which is no stat line',
    (text) => {
      expect(parseStat(Buffer.from(text))).toBeNull();
    },
  );

  test('never throws, whatever the bytes', () => {
    fc.assert(fc.property(fc.uint8Array({ maxLength: 400 }), (bytes) => void parseStat(Buffer.from(bytes))));
  });
});

test.each([
  ['Z', 1, true],
  ['X', 1, true],
  ['Z', 2, false],
  ['S', 1, false],
])('state %s with %i threads: finished is %s', (state, threads, finished) => {
  const stat = parseStat(line('x', state, threads));
  expect(stat !== null && isFinished(stat)).toBe(finished);
});
