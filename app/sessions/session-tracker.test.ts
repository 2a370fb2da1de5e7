/** Which sessions are alive, on what, and how they end: told by carriers that tests make up, kept in a real ledger. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { someRef } from '../records/fixtures.testing.ts';
import type { SessionFact, SessionReading } from '../servers/kind.ts';
import { EndReasons } from './end-reasons.ts';
import { type SessionReport, type SessionSource, sessionKey } from './session-source.ts';
import { SessionTracker, type TrackerEvent } from './session-tracker.ts';
import { SessionLedger } from './store/ledger.ts';

const NOW = Date.UTC(2026, 4, 1, 12);
const HOUR = 3_600_000;
const { hostId, bootId } = someRef(1).identity;

let folder: string;
let ledger: SessionLedger;
let events: TrackerEvent[];
let causes: EndReasons;
let now: number;
let ticks: number;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'rollcall-book-'));
  ledger = SessionLedger.open(join(folder, 'sessions.jsonl'));
  events = [];
  causes = new EndReasons();
  now = NOW;
  ticks = 0;
});
afterEach(() => {
  ledger.close();
  rmSync(folder, { recursive: true, force: true });
});

function newBook(): SessionTracker {
  return new SessionTracker({
    host: 'local',
    ledger: {
      open: () => ledger.open(),
      begin: (lives) => ledger.begin(lives),
      carry: (lives) => ledger.carry(lives),
      end: (ends) => void ledger.end(ends.map(({ life, ending }) => ({ key: life.key, ending, hooks: [] }))),
      recentlyEnded: () => ledger.recentlyEnded(),
    },
    causes,
    onEvents: (all) => events.push(...all),
    now: () => now,
    ticks: () => ticks,
  });
}

function carrier(pid: number, over: Partial<SessionSource> = {}): SessionSource {
  return {
    identity: someRef(pid).identity,
    kind: 'opencode',
    row: pid.toString(16).padStart(16, '0'),
    label: `opencode :${pid}`,
    directory: `/src/${pid}`,
    startedAt: NOW - HOUR,
    proved: true,
    acts: true,
    noActs: '',
    attach: (id) => ['opencode', 'attach', id],
    ...over,
  };
}

function fact(id: string, over: Partial<SessionFact> = {}): SessionFact {
  return {
    id,
    title: `Title of ${id}`,
    directory: '/src/4000',
    parent: null,
    state: 'idle',
    detail: null,
    createdAt: NOW - 2 * HOUR,
    updatedAt: NOW - 60_000,
    heardAt: null,
    ...over,
  };
}

function tells(by: SessionSource, facts: readonly SessionFact[], over: Partial<SessionReading> = {}): SessionReport {
  const sessions = new Map(facts.map((each) => [each.id, each]));
  return {
    carrier: by,
    reading: { why: null, sessions, deleted: new Set(), truncated: false, ...over },
    why: '',
    by: 'server',
  };
}

const view = (...reports: SessionReport[]) => ({ hostId, bootId, reports });
const states = (book: SessionTracker) => book.rows.map(({ id, state, carrier: on }) => `${id} ${state} ${on}`);

describe('alive', () => {
  test('is what was worked on since its server runs, or what the server tells of; what is only stored is history', () => {
    const book = newBook();
    book.observe(
      view(
        tells(carrier(4000), [
          fact('worked-on'),
          fact('stored', { updatedAt: NOW - 2 * HOUR }),
          fact('told-of', { updatedAt: NOW - 2 * HOUR, heardAt: 5 }),
          fact('timeless', { updatedAt: null, createdAt: null }),
        ]),
      ),
    );
    expect(states(book)).toEqual(['worked-on idle opencode :4000', 'told-of idle opencode :4000']);
    expect(book.countOf(carrier(4000).row ?? '')).toEqual({ live: 2, busy: 0 });
    expect([...ledger.open().values()].map(({ id }) => id)).toEqual(['worked-on', 'told-of']);
    expect(events.map(({ type }) => type)).toEqual(['started', 'started']);
  });

  test('servers of one home list the same: it is one row, on the server that runs it', () => {
    const book = newBook();
    const one = fact('shared', { directory: '/elsewhere' });
    const older = carrier(4000, { startedAt: NOW - 2 * HOUR });
    book.observe(view(tells(carrier(4001), [one]), tells(older, [one]), tells(carrier(4002), [one])));
    expect(states(book)).toEqual(['shared idle opencode :4000']);
    book.observe(view(tells(older, [one]), tells(carrier(4002), [fact('shared', { state: 'busy', heardAt: 7 })])));
    expect(states(book)).toEqual(['shared busy opencode :4002']);
    expect([...ledger.open().values()][0]?.carrier.label).toBe('opencode :4002');
    // Idle again, and told of by both: it stays where it last was told of.
    book.observe(
      view(
        tells(older, [fact('shared', { heardAt: 3 })]),
        tells(carrier(4002), [fact('shared', { heardAt: 8, updatedAt: NOW })]),
      ),
    );
    expect(states(book)).toEqual(['shared idle opencode :4002']);
    expect(events.map(({ type }) => type)).toEqual(['started']);
  });

  test('of servers that tell nothing of it, the one that was started in its folder carries it', () => {
    const book = newBook();
    const one = fact('shared', { directory: '/src/4001' });
    book.observe(view(tells(carrier(4000, { startedAt: NOW - 2 * HOUR }), [one]), tells(carrier(4001), [one])));
    expect(states(book)).toEqual(['shared idle opencode :4001']);
  });

  test('a reading that is lost leaves it alive and unknown, never as it was', () => {
    const book = newBook();
    const by = carrier(4000);
    book.observe(view(tells(by, [fact('a', { state: 'busy', heardAt: 1 })])));
    book.observe(view({ carrier: by, reading: null, why: 'it does not answer', by: 'server' }));
    expect(book.rows[0]).toMatchObject({ state: 'unknown', detail: 'it does not answer', server: by.row });
    expect(book.observe(view())).toEqual([by.identity]);
    expect(book.rows[0]?.state).toBe('unknown');
  });

  test('a child names its parent by key, and unchanged sessions keep their row', () => {
    const book = newBook();
    const by = carrier(4000);
    const kept = fact('kept');
    book.observe(view(tells(by, [kept, fact('child', { parent: 'kept' })])));
    const before = book.rows;
    expect(before[1]?.parent).toBe(sessionKey(hostId, 'opencode', 'kept'));
    book.observe(view(tells(by, [kept, fact('child', { parent: 'kept', title: 'New' })])));
    expect(book.rows[0]).toBe(before[0]);
    expect(book.rows[1]?.title).toBe('New');
    const rows = book.rows;
    book.observe(view(tells(by, [kept, fact('child', { parent: 'kept', title: 'New' })])));
    expect(book.rows).toBe(rows);
  });

  test('work that took a moment is no event; work that took longer ends with one', () => {
    const book = newBook();
    const by = carrier(4000);
    const at = (state: SessionFact['state']) => book.observe(view(tells(by, [fact('a', { state, heardAt: 1 })])));
    at('busy');
    now += 400;
    at('idle');
    now += 400;
    at('busy');
    now += 5000;
    at('waiting');
    now += 5000;
    at('idle');
    expect(events.map(({ type }) => type)).toEqual(['started', 'idle']);
    expect(book.rows[0]?.since).toBe(new Date(now).toISOString());
  });
});

describe('the end', () => {
  test.each([
    ['nobody saw how', () => undefined, 'server-gone', 'its server is gone'],
    [
      'a stop that was said before',
      (c: EndReasons) => c.note(someRef(4000).identity, { reason: 'server-stopped', text: 'its server was stopped' }),
      'server-stopped',
      'its server was stopped',
    ],
  ] as const)('comes with its carrier: %s', (_what, before, reason, text) => {
    const book = newBook();
    book.observe(view(tells(carrier(4000), [fact('a', { state: 'busy', heardAt: 1 })])));
    before(causes);
    book.gone(someRef(4000).identity);
    expect(book.rows).toMatchObject([{ id: 'a', state: 'ended', detail: text, server: null }]);
    expect(ledger.open().size).toBe(0);
    expect(ledger.recentlyEnded()[0]?.ending).toMatchObject({ reason, text });
    // Its server's end may be told more than once.
    book.gone(someRef(4000).identity);
    expect(events.filter(({ type }) => type === 'ended')).toHaveLength(1);
  });

  test('an ending that did not come about says nothing of a later one', () => {
    causes.note(someRef(4000).identity, { reason: 'server-stopped', text: 'stopped' });
    causes.withdraw(someRef(4000).identity);
    expect(causes.of(someRef(4000).identity, bootId).reason).toBe('server-gone');
    expect(causes.of({ ...someRef(4000).identity, bootId: 'another' }, bootId).reason).toBe('host-rebooted');
  });

  test('deleted, taken off its list by its tool, or ended by a person', () => {
    const book = newBook();
    const by = carrier(4000);
    const files = carrier(4001, { kind: 'claude', acts: false });
    const filed = { ...tells(files, [fact('filed')]), by: 'files' as const };
    book.observe(view(tells(by, [fact('deleted'), fact('person')]), filed));
    book.observe(
      view(tells(by, [fact('person')], { deleted: new Set(['deleted']) }), {
        ...tells(files, [], { deleted: new Set(['filed']) }),
        by: 'files',
      }),
    );
    expect(book.ended(sessionKey(hostId, 'opencode', 'person'))).toBe(true);
    expect(book.ended(sessionKey(hostId, 'opencode', 'person'))).toBe(false);
    expect(
      ledger
        .recentlyEnded()
        .map(({ life, ending }) => `${life.id} ${ending.reason}`)
        .sort(),
    ).toEqual(['deleted deleted', 'filed ended', 'person ended']);
  });

  test('one that a person ended lives again with its next prompt, not with the last breath of what was interrupted', () => {
    const book = newBook();
    const by = carrier(4000);
    book.observe(view(tells(by, [fact('a', { state: 'busy', heardAt: 1 })])));
    book.ended(sessionKey(hostId, 'opencode', 'a'));
    now += 500;
    book.observe(view(tells(by, [fact('a', { heardAt: 2, updatedAt: now })])));
    expect(book.rows.map(({ state }) => state)).toEqual(['ended']);
    now += 60_000;
    book.observe(view(tells(by, [fact('a', { state: 'busy', heardAt: 3, updatedAt: now })])));
    expect(book.rows.map(({ state }) => state)).toEqual(['busy']);
    expect(ledger.open().size).toBe(1);
  });

  test('a server that lists what another one had when it died does not bring it to life', () => {
    const book = newBook();
    const other = carrier(4001, { startedAt: NOW });
    const one = fact('a');
    book.observe(view(tells(carrier(4000), [one]), tells(other, [one])));
    expect(states(book)).toEqual(['a idle opencode :4000']);
    book.observe(view(tells(other, [one])));
    book.gone(someRef(4000).identity);
    book.observe(view(tells(other, [one])));
    expect(states(book)).toEqual(['a ended opencode :4000']);
    now += 1000;
    book.observe(view(tells(other, [fact('a', { updatedAt: now })])));
    expect(states(book)).toEqual(['a idle opencode :4001']);
  });

  test('what has ended stays so when it is not shown any more', () => {
    const book = newBook();
    const by = carrier(4000);
    const other = carrier(4001, { startedAt: NOW - 2 * HOUR });
    const all = () => view(tells(by, [fact('person')]), tells(other, [fact('person'), fact('crashed')]));
    book.observe(view(tells(by, [fact('person')]), tells(carrier(4002), [fact('crashed', { heardAt: 1 })])));
    book.ended(sessionKey(hostId, 'opencode', 'person'));
    book.gone(someRef(4002).identity);
    for (const _ of [1, 2, 3]) {
      book.observe(all());
      now += 2 * HOUR;
    }
    expect(book.rows).toEqual([]);
    // Nor does the next process bring it to life.
    const next = newBook();
    for (const _ of [1, 2]) next.observe(all());
    expect(next.rows).toEqual([]);
    expect(events.map(({ type }) => type)).toEqual(['started', 'started', 'ended', 'ended']);
  });

  test('a server that does not answer keeps its sessions, although others list them, and they end with it', () => {
    const book = newBook();
    const hung = carrier(4000);
    const other = carrier(4001, { startedAt: NOW - 2 * HOUR, directory: '/src/4000' });
    book.observe(view(tells(hung, [fact('a', { state: 'busy', heardAt: 9 })]), tells(other, [fact('a')])));
    book.observe(view({ ...tells(hung, []), reading: null, why: 'it does not answer' }, tells(other, [fact('a')])));
    expect(states(book)).toEqual(['a unknown opencode :4000']);
    expect(book.observe(view(tells(other, [fact('a')])))).toEqual([hung.identity]);
    book.gone(hung.identity);
    book.observe(view(tells(other, [fact('a')])));
    expect(states(book)).toEqual(['a ended opencode :4000']);
    // Somebody goes on with it there.
    book.observe(view(tells(other, [fact('a', { state: 'busy', heardAt: performance.now() + 1 })])));
    expect(states(book)).toEqual(['a busy opencode :4001']);
  });

  test('a server whose stream was opened anew keeps its session, although another one told of it long before', () => {
    const book = newBook();
    const by = carrier(4000);
    const once = tells(carrier(4001, { startedAt: NOW - 2 * HOUR }), [fact('a', { heardAt: 3 })]);
    book.observe(view(once, tells(by, [fact('a', { state: 'busy', heardAt: 9 })])));
    for (const _ of [1, 2]) {
      book.observe(view(once, tells(by, [fact('a', { state: 'unknown' })])));
      expect(states(book)).toEqual(['a unknown opencode :4000']);
    }
    book.observe(view(once, tells(by, [fact('a', { heardAt: 12 })])));
    expect(states(book)).toEqual(['a idle opencode :4000']);
  });

  test('one that was deleted while nobody watched ends once its server has long listed everything without it', () => {
    const by = carrier(4000);
    newBook().observe(view(tells(by, [fact('a'), fact('b')])));
    ticks = 0;
    const book = newBook();
    const without = (over: Partial<SessionReading> = {}) => book.observe(view(tells(by, [fact('b')], over)));
    without();
    ticks = 149_000;
    without({ truncated: true });
    ticks = 151_000;
    without();
    ticks = 300_000;
    without();
    expect(ledger.open().size).toBe(2);
    ticks = 301_000;
    without();
    expect(ledger.recentlyEnded()).toMatchObject([{ life: { id: 'a' }, ending: { reason: 'deleted' } }]);
  });

  test('a look that began before its server was gone does not bring it to life again', () => {
    const book = newBook();
    const before = view(tells(carrier(4000), [fact('a', { state: 'busy', heardAt: 1 })]));
    book.observe(before);
    book.gone(someRef(4000).identity);
    book.observe(before);
    expect(states(book)).toEqual(['a ended opencode :4000']);
    expect(ledger.open().size).toBe(0);
  });

  test('a process that was started for a session brings it to life, although the end of the one before was seen late', () => {
    const book = newBook();
    const started = (pid: number, startedAt: number) =>
      tells(carrier(pid, { startedAt }), [fact('a', { state: 'unknown', updatedAt: Math.floor(startedAt) })]);
    book.observe(view(started(4000, NOW - HOUR)));
    now += 10_000;
    book.gone(someRef(4000).identity);
    book.observe(view(started(4001, NOW + 5000.5)));
    expect(states(book)).toEqual(['a unknown opencode :4001']);
  });

  test('what is proved to be carried only later has a life from then on, and ends', () => {
    const book = newBook();
    book.observe(view(tells(carrier(4000, { proved: false }), [fact('a', { heardAt: 1 })])));
    expect(ledger.open().size).toBe(0);
    book.observe(view(tells(carrier(4000), [fact('a', { heardAt: 2 })])));
    expect([...ledger.open().values()].map(({ id }) => id)).toEqual(['a']);
    book.gone(someRef(4000).identity);
    expect(events.map(({ type }) => type)).toEqual(['started', 'ended']);
    expect(ledger.recentlyEnded()).toHaveLength(1);
  });

  test('what was never proved to be carried has no life: nothing ends, it is only not there any more', () => {
    const book = newBook();
    book.observe(view(tells(carrier(4000, { proved: false }), [fact('a', { heardAt: 1 })])));
    expect(book.rows).toHaveLength(1);
    expect(ledger.open().size).toBe(0);
    expect(book.observe(view())).toEqual([]);
    expect(book.rows).toEqual([]);
    expect(events).toEqual([]);
  });
});

test('what is only stored is looked at once, however often it is told: every server of a home lists it', () => {
  const read: string[] = [];
  const stored = new Proxy(fact('stored', { updatedAt: NOW - 2 * HOUR }), {
    get(of, name) {
      read.push(String(name));
      return Reflect.get(of, name);
    },
  });
  const by = tells(carrier(4000), [fact('alive')]);
  const listed = {
    ...by,
    reading: {
      ...by.reading,
      sessions: new Map([
        ['a', fact('alive')],
        ['b', stored],
      ]),
    },
  } as SessionReport;
  const book = newBook();
  book.observe(view(listed));
  expect(read).toEqual(['heardAt', 'updatedAt']);
  book.observe(view(listed));
  expect(read).toHaveLength(2);
  expect(states(book)).toEqual(['alive idle opencode :4000']);
});

describe('the next process', () => {
  test('takes up what was alive: it is unknown until its server tells, and ended when that is gone', () => {
    newBook().observe(view(tells(carrier(4000), [fact('a')]), tells(carrier(4001), [fact('b')])));
    ledger.close();
    ledger = SessionLedger.open(join(folder, 'sessions.jsonl'));
    events = [];
    const next = newBook();
    expect(next.observe(view(tells(carrier(4000), [fact('a', { state: 'busy', heardAt: 1 })])))).toEqual([
      someRef(4001).identity,
    ]);
    expect(states(next).sort()).toEqual(['a busy opencode :4000', 'b unknown opencode :4001']);
    next.gone(someRef(4001).identity);
    expect(states(next).sort()).toEqual(['a busy opencode :4000', 'b ended opencode :4001']);
    expect(events.map(({ type }) => type)).toEqual(['ended']);
    // And the one after that shows how it ended.
    const last = newBook();
    last.observe(view());
    expect(states(last)).toContain('b ended opencode :4001');
  });

  test('shows the latest of very many that have ended, and the last one first', () => {
    const book = newBook();
    const pids = [4000, 4001, 4002];
    book.observe(
      view(
        ...pids.map((pid) =>
          tells(
            carrier(pid),
            Array.from({ length: 100 }, (_, n) => fact(`s${pid}-${n}`)),
          ),
        ),
      ),
    );
    for (const pid of pids) {
      now += 1000;
      book.gone(someRef(pid).identity);
    }
    const next = newBook();
    next.observe(view());
    for (const one of [book, next]) {
      expect(one.rows.map(({ carrier: on }) => on)).toEqual([
        ...Array<string>(100).fill('opencode :4002'),
        ...Array<string>(100).fill('opencode :4001'),
      ]);
    }
  });

  test('leaves alone what is alive on another machine', () => {
    newBook().observe({ hostId, bootId, reports: [tells(carrier(4000), [fact('a')])] });
    const elsewhere = newBook();
    expect(elsewhere.observe({ hostId: 'another-host', bootId: 'b', reports: [] })).toEqual([]);
    expect(elsewhere.rows).toEqual([]);
    expect(ledger.open().size).toBe(1);
  });

  test('a number that is no time of this age is no time', () => {
    const book = newBook();
    book.observe(view(tells(carrier(4000), [fact('a', { updatedAt: 8.64e15, createdAt: Number.NaN })])));
    expect(book.rows[0]).toMatchObject({ lastActivityAt: null, startedAt: null });
  });
});
