import { expect, test } from 'vitest';
import { EndReasons } from '../end-reasons.ts';
import { SessionTracker, type TrackerEvent } from '../session-tracker.ts';
import { judgeClaude, parseClaude } from './claude.ts';
import { ABSENT, claudeFile, claudeProcess, OTHER, PID, PLACE, running, SESSION } from './fixtures.testing.ts';
import { ForeignReports } from './foreign-reports.ts';
import type { ForeignSession } from './session.ts';

const NO_ROW = () => null;

function session(over: Partial<ForeignSession> = {}, name = `${PID}.json`, text = claudeFile()): ForeignSession {
  const record = parseClaude(name, text);
  const judged = record === null ? null : judgeClaude(record, '/p', running(), PLACE);
  if (judged === null) throw new Error('it is none');
  return { ...judged, ...over };
}

const GONE = { state: 'ended', identity: null, at: null } as const;

test('W4 a proved session is told of by its process, and is the same object as long as nothing changes', () => {
  const reports = new ForeignReports();
  const one = session();
  const first = reports.of([one], NO_ROW);
  expect(first).toMatchObject([
    {
      carrier: {
        identity: claudeProcess().identity,
        kind: 'claude',
        row: null,
        label: `claude, PID ${PID}`,
        proved: true,
      },
      reading: { why: null, truncated: false },
    },
  ]);
  const fact = first[0]?.reading?.sessions.get(SESSION);
  expect(fact).toMatchObject({ title: 'mend the basket', state: 'busy', directory: '/home/ann/shop' });
  expect(fact?.heardAt).not.toBeNull();
  expect(reports.of([one], NO_ROW)[0]).toBe(first[0]);
  const idle = reports.of([session({ state: 'idle' })], NO_ROW);
  expect(idle[0]?.reading?.sessions.get(SESSION)?.state).toBe('idle');
  expect(idle[0]?.carrier).toBe(first[0]?.carrier);
});

test('a session on a listed server has its row', () => {
  const [telling] = new ForeignReports().of([session()], () => ({ row: 'a'.repeat(16), label: 'claude helper' }));
  expect(telling?.carrier).toMatchObject({ row: 'a'.repeat(16), label: 'claude helper' });
});

test('W4 one whose process is gone is told of by nobody; one that its tool ended is deleted there', () => {
  const reports = new ForeignReports();
  reports.of([session()], NO_ROW);
  const [left] = reports.of([session({ ...GONE, endedBy: 'tool' }), session({ id: OTHER })], NO_ROW);
  expect([...(left?.reading?.deleted ?? [])]).toEqual([SESSION]);
  expect([...(left?.reading?.sessions.keys() ?? [])]).toEqual([OTHER]);
  expect(reports.of([session({ ...GONE, endedBy: 'carrier' })], NO_ROW)).toEqual([]);
  // Ended before anybody saw it alive: history.
  expect(new ForeignReports().of([session({ ...GONE, endedBy: 'tool' })], NO_ROW)).toEqual([]);
});

test('a process that cannot be read for a moment carries its session on; one that was never known carries none', () => {
  const unread = { state: 'unknown', identity: null, at: null } as const;
  const reports = new ForeignReports();
  const [before] = reports.of([session()], NO_ROW);
  const [now] = reports.of([session(unread)], NO_ROW);
  expect(now?.carrier).toBe(before?.carrier);
  expect(now?.reading?.sessions.get(SESSION)?.state).toBe('unknown');
  expect(new ForeignReports().of([session(unread)], NO_ROW)).toEqual([]);
});

test('W1 an old file is told of by what stands at its PID, which is not proved', () => {
  const legacy = session({}, `pid-${PID}.json`, JSON.stringify({ session_id: SESSION, cwd: '/home/ann/shop' }));
  const [telling] = new ForeignReports().of([legacy], NO_ROW);
  expect(telling?.carrier).toMatchObject({ proved: false, identity: { pid: PID } });
});

test('W4 the book lists it, ends it with its process or by its tool, and never by a pause', () => {
  const events: TrackerEvent[] = [];
  const book = new SessionTracker({
    host: 'local',
    ledger: null,
    causes: new EndReasons(),
    onEvents: (some) => void events.push(...some),
  });
  const reports = new ForeignReports();
  const { hostId, bootId } = claudeProcess().identity;
  const observe = (...sessions: ForeignSession[]) =>
    book.observe({ hostId, bootId, reports: reports.of(sessions, NO_ROW) });
  observe(session());
  expect(book.rows).toMatchObject([{ id: SESSION, kind: 'claude', state: 'busy', carrier: `claude, PID ${PID}` }]);
  expect(book.rows[0]?.abort).toMatchObject({ allowed: 'no' });
  observe(session({ state: 'unknown', identity: null, at: null }));
  expect(book.rows).toMatchObject([{ state: 'unknown' }]);
  observe(session({ ...GONE, endedBy: 'tool' }), session({ id: OTHER }));
  expect(book.rows).toMatchObject([
    { id: OTHER, state: 'busy' },
    { id: SESSION, state: 'ended' },
  ]);
  // The first one is still listed as ended.
  const missing = observe(session({ ...GONE, endedBy: 'tool' }), session({ id: OTHER, ...GONE, endedBy: 'carrier' }));
  expect(missing).toEqual([claudeProcess().identity]);
  for (const identity of missing) book.gone(identity);
  expect(book.rows.every(({ state }) => state === 'ended')).toBe(true);
  expect(events.map(({ type, life }) => [type, life.id])).toEqual([
    ['started', SESSION],
    ['started', OTHER],
    ['ended', SESSION],
    ['ended', OTHER],
  ]);
});

test('W4 a process that is not there ends what its file says, whoever asks first', () => {
  const record = parseClaude(`${PID}.json`, claudeFile());
  const ended = record === null ? null : judgeClaude(record, '/p', ABSENT, PLACE);
  expect(ended === null ? null : new ForeignReports().of([ended], NO_ROW)).toEqual([]);
});
