import { describe, expect, test } from 'vitest';
import * as words from './words.ts';

describe('formatBytes', () => {
  test.each([
    [0, '0 MB'],
    [499, '0 MB'],
    [812_000, '812 kB'],
    [999_600, '1 MB'],
    [131_000_000, '131 MB'],
    [999_499_999, '999 MB'],
    [999_500_000, '1.00 GB'],
    [1_840_000_000, '1.84 GB'],
    [9_994_999_999, '9.99 GB'],
    [9_996_000_000, '10.0 GB'],
    [66_040_000_000, '66.0 GB'],
    [99_960_000_000, '100 GB'],
    [1_500_000_000_000, '1.50 TB'],
  ])('%d bytes is %s', (bytes, text) => {
    const quantity = words.formatBytes(bytes);
    expect(quantity.text).toBe(text);
    expect(`${quantity.digits} ${quantity.unit}`).toBe(text);
  });
});

describe('ages', () => {
  const minute = 60_000;
  const hour = 60 * minute;
  const day = 24 * hour;
  test.each([
    [-5, '0s', '0 s'],
    [8_900, '8s', '8 s'],
    [59_999, '59s', '59 s'],
    [31 * minute, '31m', '31 min'],
    [5 * hour + 12 * minute, '5h 12m', '5 h'],
    [5 * hour, '5h', '5 h'],
    [day, '1d', '1 day'],
    [2 * day + 4 * hour, '2d 4h', '2 days'],
    [10 * day + 4 * hour, '10d', '10 days'],
    [31 * day, '31d', '31 days'],
  ])('%d ms is %s in a column and %s in a sentence', (ms, column, sentence) => {
    expect(words.columnAge(ms)).toBe(column);
    expect(words.sentenceAge(ms)).toBe(sentence);
  });
});

test('a clock time names the weekday beyond today and the date beyond a week', () => {
  const now = new Date(2026, 10, 30, 15, 0, 0).getTime();
  const at = (day: number, hour: number): string => new Date(2026, 10, day, hour, 2, 17).toISOString();
  expect(words.clockTime(at(30, 14), now)).toBe('14:02:17');
  expect(words.clockTime(at(30, 0), now)).toBe('00:02:17');
  expect(words.clockTime(at(29, 23), now)).toBe('Sun 23:02');
  expect(words.clockTime(at(24, 0), now)).toBe('Tue 00:02');
  expect(words.clockTime(at(23, 23), now)).toBe('23 Nov 23:02');
  // Tomorrow by a skewed clock must not read like last week.
  expect(words.clockTime(new Date(2026, 11, 1, 9, 5, 0).toISOString(), now)).toBe('1 Dec 09:05');
});

test('a sentence begins with a capital', () => {
  expect(words.capitalised('its owner is alive')).toBe('Its owner is alive');
  expect(words.capitalised('')).toBe('');
  expect(words.capitalised('PID 4')).toBe('PID 4');
});

test('paths keep their tail and shorten only the person’s own home', () => {
  expect(words.shortenPath('/home/ada', '/home/ada')).toBe('~');
  expect(words.shortenPath('/home/ada/src/atlas', '/home/ada/')).toBe('~/src/atlas');
  expect(words.shortenPath('/home/adam/src', '/home/ada')).toBe('/home/adam/src');
  expect(words.shortenPath('/srv', '/')).toBe('/srv');
  expect(words.shortenPath('/srv', '')).toBe('/srv');
  for (const [path, head, tail] of [
    ['~/src/atlas', '~/src/', 'atlas'],
    ['~', '', '~'],
    ['/', '', '/'],
    ['/srv', '/', 'srv'],
    ['/srv/a/', '/srv/', 'a/'],
    ['C:\\work\\atlas', 'C:\\work\\', 'atlas'],
    ['/srv/odd\\name', '/srv/', 'odd\\name'],
  ] as const) {
    expect([words.pathHead(path), words.pathTail(path)]).toEqual([head, tail]);
  }
});

test('servers are named as their rows are', () => {
  const server = {
    kind: 'opencode',
    host: 'local',
    transport: 'tcp',
    duplicates: 1,
    listening: [{ address: '127.0.0.1', port: 34801 }],
  } as const;
  expect(words.rowName({ ...server, listening: [...server.listening] })).toBe('opencode :34801 on local');
  expect(words.serverLabel({ kind: 'codex', transport: 'stdio', listening: [], duplicates: 1 })).toBe('codex stdio');
  expect(words.serverLabel({ kind: 'codex', transport: 'socket', listening: [], duplicates: 1 })).toBe('codex socket');
  expect(words.serverLabel({ kind: 't3', transport: 'tcp', listening: [], duplicates: 1 })).toBe('t3');
  expect(words.serverLabel({ kind: 'claude', transport: 'stdio', listening: [], duplicates: 12 })).toBe('claude ×12');
});

test('counts and lists read as English', () => {
  expect(words.plural(1, 'server')).toBe('1 server');
  expect(words.plural(0, 'process', 'processes')).toBe('0 processes');
  expect(words.listed([])).toBe('');
  expect(words.listed(['a', 'b', 'c'])).toBe('a, b and c');
  expect(words.formatCpu(null)).toBe('–');
  expect(words.formatCpu(18.24)).toBe('18.2');
});

describe('what is leaked', () => {
  test('the words for a button, an alert and the tray agree on number and gain', () => {
    const totals = { servers: 3, leftovers: 0, memoryBytes: 4_311_000_000, ids: [], outOfReach: 0 };
    expect(words.reapLabel(totals)).toBe('Reap 3 servers');
    expect(words.reapLabelWithGain(totals)).toBe('Reap 3 leaked servers, frees 4.31 GB');
    expect(words.leakSentence(totals)).toBe('3 leaked servers hold 4.31 GB');
    const mixed = { ...totals, servers: 1, leftovers: 2 };
    expect(words.reapLabel(mixed)).toBe('Reap 1 server and 2 leftovers');
    expect(words.leakSentence({ ...totals, servers: 1, memoryBytes: 131e6 })).toBe('1 leaked server holds 131 MB');
    expect(words.leakSentence({ ...totals, servers: 0, leftovers: 1, memoryBytes: 32e6 })).toBe(
      '1 leftover holds 32 MB',
    );
  });
});
