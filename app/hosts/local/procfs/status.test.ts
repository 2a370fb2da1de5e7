import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { parsePss, parseStatus } from './status.ts';

const text = [
  'Name:\tNgid:',
  'Tgid:\t20062',
  'Ngid:\t0',
  'Pid:\t20061',
  'PPid:\t1',
  'Uid:\t1000\t0\t0\t0',
  'NSpid:\t20061\t7',
  'VmRSS:\t    1024 kB',
  'Threads:\t3',
  'SigIgn:\t0000000000001001',
  '',
].join('\n');

describe('parseStatus', () => {
  test('reads what is needed', () => {
    expect(parseStatus(text)).toEqual({
      pid: 20061,
      tgid: 20062,
      realUid: 1000,
      threads: 3,
      namespacePids: [20061, 7],
      rssBytes: 1_048_576,
      ignoresHangup: true,
    });
  });

  test('SIGHUP alone decides: other ignored signals are not nohup', () => {
    expect(parseStatus(text.replace('1001', '1000'))?.ignoresHangup).toBe(false);
    expect(parseStatus(text.replace('0000000000001001', 'ffffffffffffffff'))?.ignoresHangup).toBe(true);
  });

  test('a process without memory has none', () => {
    expect(parseStatus(text.replace(/VmRSS.*\n/u, ''))?.rssBytes).toBe(0);
  });

  test.each(['Tgid', 'Pid', 'Uid', 'Threads', 'SigIgn'])('without %s it is not understood', (name) => {
    expect(parseStatus(text.replace(new RegExp(`^${name}:`, 'mu'), 'Other:'))).toBeNull();
  });

  test('reads our own', () => {
    const own = parseStatus(readFileSync('/proc/self/status', 'utf8'));
    expect(own).toMatchObject({ pid: process.pid, tgid: process.pid, realUid: process.getuid?.() });
  });
});

test('parsePss', () => {
  expect(parsePss('00400000-7ffc [rollup]\nRss:  100 kB\nPss:    42 kB\nPss_Dirty: 1 kB\n')).toBe(43_008);
  expect(parsePss('Rss: 1 kB\n')).toBeNull();
});
