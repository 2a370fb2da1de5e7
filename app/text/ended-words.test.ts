import { expect, test } from 'vitest';
import type { Ended } from '../roll/schema.ts';
import { endedDetail, endedNext, endedSummary, endedTitle, startAgainLabel } from './ended-words.ts';

const NOW = Date.parse('2026-11-30T08:00:00.000Z');

const ended = (over: Partial<Ended> = {}): Ended => ({
  nonce: '0b9f7c1e-5d0c-4c55-8a57-6f1e2d3c4b5a',
  host: 'local',
  kind: 'opencode',
  label: 'opencode :4096 on local',
  directory: '/srv/shop',
  pid: 4711,
  state: 'lost',
  why: 'it was ended by SIGKILL',
  endedAt: '2026-11-30T07:59:58.000Z',
  attempt: 2,
  attempts: 5,
  retryAt: '2026-11-30T08:00:04.000Z',
  logPath: '/state/logs/a.log',
  ...over,
});

test('the countdown says the seconds that are left, and never less than none', () => {
  expect(endedNext(ended(), NOW)).toBe('It starts again in 4 s, attempt 2 of 5.');
  expect(endedNext(ended(), NOW + 1)).toBe('It starts again in 4 s, attempt 2 of 5.');
  expect(endedNext(ended(), NOW + 3999)).toBe('It starts again in 1 s, attempt 2 of 5.');
  expect(endedNext(ended(), NOW + 4000)).toBe('It is being started again, attempt 2 of 5.');
  expect(endedNext(ended(), NOW + 60_000)).toBe('It is being started again, attempt 2 of 5.');
});

test('what happened comes first, what follows second, and a restart under way is told once', () => {
  expect(endedDetail(ended(), NOW)).toBe('It was ended by SIGKILL. It starts again in 4 s, attempt 2 of 5.');
  expect(endedDetail(ended({ state: 'lost', attempt: 0, retryAt: null, why: 'it exited with code 0' }), NOW)).toBe(
    'It exited with code 0. It is not started again by itself.',
  );
  expect(endedDetail(ended({ state: 'failed', attempt: 5, retryAt: null }), NOW)).toBe(
    'It was ended by SIGKILL. It was given up after 5 attempts; its log may tell why.',
  );
  expect(endedDetail(ended({ state: 'failed', attempt: 1, retryAt: null, logPath: null }), NOW)).toBe(
    'It was ended by SIGKILL. It was given up after 1 attempt.',
  );
  // The reason of a start may be sentences of its own.
  const why = 'it could not be started again: Port 4096 is held by node, PID 6120. Choose another port.';
  expect(endedDetail(ended({ state: 'failed', attempt: 0, retryAt: null, why }), NOW)).toBe(
    'It could not be started again: Port 4096 is held by node, PID 6120. Choose another port. It is not tried again by itself.',
  );
  const planned = ended({ state: 'planned', why: 'it is being started again', retryAt: null, attempt: 0 });
  expect(endedDetail(planned, NOW)).toBe('It is being started again.');
});

test('a button starts it now while a restart is waited for, else again', () => {
  expect(startAgainLabel(ended())).toBe('Start now');
  expect(startAgainLabel(ended({ retryAt: null }))).toBe('Start again');
  expect(startAgainLabel(ended({ state: 'failed', retryAt: null }))).toBe('Start again');
});

test('several are one line with what becomes of each', () => {
  const all = [
    ended(),
    ended({ state: 'planned', retryAt: null }),
    ended({ state: 'failed', retryAt: null }),
    ended({ retryAt: null }),
    ended({ retryAt: null }),
  ];
  expect(endedTitle(all)).toBe('5 servers ended unexpectedly');
  expect(endedSummary(all)).toBe('2 are started again by themselves, 1 was given up, 2 wait for you.');
  expect(endedSummary(all.slice(0, 1))).toBe('1 is started again by itself.');
});
