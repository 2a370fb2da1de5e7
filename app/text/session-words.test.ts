import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { server, session } from '../../e2e/support/fixture-roll.ts';
import type { SessionState } from '../roll/schema.ts';
import {
  busyByServer,
  interruptions,
  liveSessionsOn,
  sessionConsequences,
  sessionCounts,
  sessionTitles,
  shellCommand,
} from './session-words.ts';

const ours = server(1, 'supervised');
const of = (state: SessionState, title: string, on = ours) => ({ ...session(on, 'idle', 1), state, title });

test('busy and idle are counted also where there are none, other states only where there are some', () => {
  expect(sessionCounts([])).toBe('0 busy, 0 idle');
  expect(sessionCounts([of('error', ''), of('busy', ''), of('ended', '')])).toBe(
    '1 busy, 1 with an error, 0 idle, 1 ended',
  );
});

test('what is cut off is named by its title; four titles are told, of five three', () => {
  expect(interruptions([of('idle', 'A'), of('ended', 'B'), of('error', 'C')])).toEqual([]);
  expect(interruptions([of('busy', 'A'), of('waiting', 'B'), of('retrying', 'C')])).toEqual([
    '2 busy sessions are interrupted: “A”, “C”',
    '1 waiting session is interrupted: “B”',
  ]);
  const many = ['A', 'B', 'C', 'D', 'E'].map((title) => ({ title }));
  expect(sessionTitles(many.slice(0, 4))).toBe('“A”, “B”, “C”, “D”');
  expect(sessionTitles(many)).toBe('“A”, “B”, “C” and 2 more');
  expect(sessionTitles([{ title: ' ' }])).toBe('“Untitled session”');
  expect(sessionTitles([{ title: 'x'.repeat(200) }])).toHaveLength(62);
});

test('the consequences of an end count the calm ones too, and say that hooks run only where there are some', () => {
  expect(sessionConsequences([], 2)).toEqual([]);
  expect(sessionConsequences([of('ended', 'A')], 2)).toEqual([]);
  expect(sessionConsequences([of('idle', 'A')], 1)).toEqual([
    '0 busy sessions are interrupted',
    '1 idle session ends, “A”; its history is kept',
    'Its session-end hook runs',
  ]);
  expect(sessionConsequences([of('busy', 'A'), of('idle', 'B'), of('unknown', 'C')], 0)).toEqual([
    '1 busy session is interrupted: “A”',
    '2 other sessions end, their history is kept',
  ]);
});

test('sessions belong to the row of their server; one that no server carries belongs to none', () => {
  const other = server(2, 'owned');
  const all = [of('busy', 'A'), of('busy', 'B', other), { ...of('busy', 'C'), server: null }, of('waiting', 'D')];
  expect(liveSessionsOn([...all, of('ended', 'E')], [ours]).map(({ title }) => title)).toEqual(['A', 'D']);
  expect([...busyByServer(all)]).toEqual([
    [ours.id, 1],
    [other.id, 1],
  ]);
});

test('a copied command means the same words to a shell, whatever is in them', () => {
  const words = ['opencode', 'attach', 'http://127.0.0.1:4096/?a=1&b', "it's $HOME `id`", '', '"q" \\ *', '--x=é\nz'];
  const printed = execFileSync('/bin/sh', ['-c', `printf '%s\\0' ${shellCommand(words)}`], { encoding: 'utf8' });
  expect(printed.split('\0').slice(0, -1)).toEqual(words);
  expect(shellCommand(['opencode', 'attach', 'http://127.0.0.1:4096', '--session', 'ses_1'])).toBe(
    'opencode attach http://127.0.0.1:4096 --session ses_1',
  );
});
