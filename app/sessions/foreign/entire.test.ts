import { describe, expect, test } from 'vitest';
import {
  ENTIRE_TTL_MS,
  entireFolder,
  entireLiveFolder,
  isEntireFile,
  judgeEntire,
  judgePointer,
  parseEntire,
  parseEntirePointer,
} from './entire.ts';
import type { ProcessReading } from './find-process.ts';
import {
  ABSENT,
  claudeProcess,
  entireFile,
  PID,
  PLACE,
  pointerFile,
  running,
  SESSION,
  STARTED,
  TICKS,
} from './fixtures.testing.ts';
import type { ForeignSession } from './session.ts';

const NAME = `${SESSION}.json`;
const NOW = STARTED + 3_600_000;

function judged(text: string, seen: ProcessReading, now = NOW): ForeignSession | null {
  const record = parseEntire(NAME, text);
  if (record === null) throw new Error('it was not parsed');
  return judgeEntire(record, `/r/.git/entire-sessions/${NAME}`, seen, PLACE, now);
}

const OWNER = { pid: PID, start: String(TICKS), boot: 'a-boot', host: 'bench', name: 'claude' };

test('W4 a session whose owner verifies is what entire says', () => {
  const info = claudeProcess();
  expect(judged(entireFile(), running(info))).toEqual({
    tool: 'entire',
    id: SESSION,
    title: '',
    directory: '/home/ann/shop',
    state: 'busy',
    detail: null,
    pid: PID,
    carrier: 'claude',
    endedBy: null,
    identity: info.identity,
    at: info.identity,
    startedAt: Date.UTC(2026, 8, 12, 15, 7, 15, 123),
    updatedAt: Date.UTC(2026, 8, 12, 15, 9, 0, 500),
    path: `/r/.git/entire-sessions/${NAME}`,
  });
});

test.each([
  ['active_committed', 'busy'],
  ['idle', 'idle'],
  ['', 'idle'],
  [undefined, 'idle'],
  ['paused', 'unknown'],
])('W2 phase %s is %s', (phase, state) => {
  expect(judged(entireFile({ phase }), running())).toMatchObject({ state, pid: PID });
});

describe('W4 the owner decides, in this order', () => {
  test('on another host it is unknown, whatever has its PID here', () => {
    const text = entireFile({ owner: { ...OWNER, host: 'elsewhere', boot: 'another-boot' } });
    for (const seen of [running(), ABSENT]) {
      expect(judged(text, seen)).toMatchObject({
        state: 'unknown',
        detail: 'it runs on another machine, elsewhere',
        pid: null,
        identity: null,
      });
    }
  });

  test('of another boot it has ended, though its PID and ticks came round', () => {
    const text = entireFile({ owner: { ...OWNER, boot: 'another-boot' } });
    expect(judged(text, running())).toMatchObject({ state: 'ended', detail: 'the machine has booted since' });
  });

  test('with another start, or gone, it has ended', () => {
    const text = entireFile({ owner: { ...OWNER, start: String(TICKS - 1) } });
    expect(judged(text, running())).toMatchObject({ state: 'ended', identity: null });
    expect(judged(entireFile(), ABSENT)).toMatchObject({ state: 'ended', detail: `its process, PID ${PID}, is gone` });
  });

  test('not to be read just now it is unknown', () => {
    expect(judged(entireFile(), { found: 'failed', why: 'EIO' })).toMatchObject({ state: 'unknown', identity: null });
  });

  test('without a start it is never proved', () => {
    const text = entireFile({ owner: { pid: PID, host: 'bench' } });
    expect(judged(text, running())).toMatchObject({ state: 'unknown', identity: null });
  });

  test('macOS writes seconds and microseconds, of which ps tells the seconds', () => {
    const owner = { pid: PID, start: `${STARTED / 1000}.004211`, host: 'bench', name: 'claude' };
    const mac = (time: string) => running(claudeProcess({ startTime: `darwin:Sat Sep 12 ${time} 2026` }));
    expect(judged(entireFile({ owner }), mac('15:07:13'))).toMatchObject({ state: 'busy' });
    expect(judged(entireFile({ owner }), mac('15:07:14'))).toMatchObject({ state: 'ended' });
  });
});

test.each([
  ['phase', { phase: 'ended' }],
  ['time', { ended_at: '2026-09-12T15:20:00Z' }],
])('W4 an end that entire wrote down (%s) holds, though its owner lives on', (_what, rest) => {
  expect(judged(entireFile(rest), running())).toMatchObject({ state: 'ended', detail: 'entire wrote down its end' });
});

test.each([
  ['went to another repository', { adopted_into_worktree_path: '/home/ann/other' }],
  ['was imported', { kind: 'imported' }],
])('a session that %s is not of here', (_what, rest) => {
  expect(judged(entireFile(rest), running())).toBeNull();
});

test('W3 one that names no process is unknown for as long as entire itself takes it for live, and then history', () => {
  const text = entireFile({ owner: undefined });
  const last = Date.UTC(2026, 8, 12, 15, 9, 0, 500);
  expect(judged(text, ABSENT, last + ENTIRE_TTL_MS)).toMatchObject({ state: 'unknown', pid: null });
  expect(judged(text, ABSENT, last + ENTIRE_TTL_MS + 1)).toBeNull();
});

test('a pointer alone is unknown, and nothing once it is stale', () => {
  const pointer = parseEntirePointer(NAME, pointerFile());
  if (pointer === null) throw new Error('it was not parsed');
  expect(pointer.commonDir).toBe('/home/ann/shop/.git');
  const last = Date.UTC(2026, 8, 12, 15, 9);
  expect(judgePointer(pointer, '/p', last + ENTIRE_TTL_MS)).toMatchObject({
    id: SESSION,
    state: 'unknown',
    identity: null,
  });
  expect(judgePointer(pointer, '/p', last + ENTIRE_TTL_MS + 1)).toBeNull();
  expect(judgePointer({ ...pointer, updatedAt: null }, '/p', last)).toBeNull();
});

test.each([
  ['half written', entireFile().slice(0, 40)],
  ['of another session than its name says', entireFile({ session_id: 'another' })],
  ['with an id that would be a path', entireFile({ session_id: '../x' })],
])('a file that is %s is no session', (_what, text) => {
  expect(parseEntire(NAME, text)).toBeNull();
  expect(parseEntirePointer(NAME, text)).toBeNull();
});

test('its folders', () => {
  expect(entireFolder('/r/.git')).toBe('/r/.git/entire-sessions');
  expect(entireLiveFolder({}, '/home/ann')).toBe('/home/ann/.cache/entire/live-sessions');
  expect(entireLiveFolder({ XDG_CACHE_HOME: '/c' }, '/home/ann')).toBe('/c/entire/live-sessions');
  expect([NAME, `${NAME}.123.tmp`, `${SESSION}.files`, 'README.md', '-x.json'].filter(isEntireFile)).toEqual([NAME]);
});
