import { expect, test } from 'vitest';
import type { Alert, Ended, HostEntry, Roll } from '../app/roll/schema.ts';
import { ended, endedAlert, host, idOf, question, roll, server, ssh } from '../e2e/support/fixture-roll.ts';
import { bodyText, NotificationCenter, reapNotice } from './notices.ts';

const leak = (pid: number, memoryBytes: number, hostName = 'local') =>
  server(pid, 'leaked', {
    memoryBytes,
    host: hostName,
    listening: [{ address: '127.0.0.1', port: 4096 }],
    reasons: ['its shell ended', 'nobody is connected'],
  });
const fault = (id: string, title: string): Alert => ({
  id,
  level: 'fault',
  title,
  detail: 'Do this.',
  act: 'none',
  servers: [],
});

function told(desk: NotificationCenter, one: Roll) {
  return desk.take(one) ? desk.flush(one) : null;
}

test('one leak says which, why and how much, and leads to its row', () => {
  const one = roll({ servers: [leak(1, 2.34e9, 'build-01')], hosts: [host('local'), host('build-01')] });
  expect(told(new NotificationCenter(), one)).toEqual({
    title: 'opencode :4096 on build-01 leaked',
    body: 'Its shell ended; nobody is connected. It holds 2.34 GB.',
    show: { view: 'servers', server: idOf(1), dialog: 'none', kind: null },
  });
});

test('several become one', () => {
  const one = roll({ servers: [leak(1, 2e9), leak(2, 1e9), leak(3, 1.31e9, 'build-01')] });
  expect(told(new NotificationCenter(), one)).toMatchObject({
    title: '3 servers leaked',
    body: 'They hold 4.31 GB on local and build-01.',
  });
});

test('the same leak is never told again, a new one is told alone', () => {
  const desk = new NotificationCenter();
  const first = roll({ servers: [leak(1, 1e9)] });
  expect(told(desk, first)).not.toBeNull();
  expect(told(desk, first)).toBeNull();
  expect(told(desk, roll({ servers: [] }))).toBeNull();
  expect(told(desk, first)).toBeNull();
  expect(told(desk, roll({ servers: [leak(1, 1e9), leak(2, 1e9)] }))?.title).toBe('opencode :4096 on local leaked');
});

test('what has passed before it was told is not told, but is when it comes back', () => {
  const desk = new NotificationCenter();
  const one = roll({ servers: [leak(1, 1e9)] });
  expect(desk.take(one)).toBe(true);
  expect(desk.flush(roll())).toBeNull();
  expect(told(desk, one)).not.toBeNull();
});

test('a fault is told once, by its id', () => {
  const desk = new NotificationCenter();
  const one = roll({ alerts: [fault('guard', 'The guard does not run')] });
  expect(told(desk, one)).toMatchObject({ title: 'The guard does not run', body: 'Do this.' });
  expect(told(desk, one)).toBeNull();
  const notice = roll({ alerts: [{ ...fault('n', 'A notice'), level: 'notice' }] });
  expect(told(desk, notice)).toBeNull();
});

const rollOf = (...list: readonly Ended[]): Roll => roll({ ended: [...list], alerts: list.map(endedAlert) });

test('a server that ended is told at once with what follows, and leads to its alert and its log', () => {
  const desk = new NotificationCenter();
  expect(desk.take(rollOf(ended(1)))).toBe(true);
  expect(desk.urgent).toBe(true);
  const { nonce } = ended(1);
  const place = { view: 'servers', server: null, kind: null, ended: nonce };
  expect(desk.flush(rollOf(ended(1)))).toEqual({
    title: 'opencode :4096 on local ended unexpectedly',
    body: 'It was ended by SIGKILL. Restarting, attempt 1 of 5.',
    show: { ...place, dialog: 'none' },
    button: { text: 'Show log', show: { ...place, dialog: 'log' } },
  });
  expect(desk.urgent).toBe(false);
  // The same end is never told again, whatever becomes of its restart.
  expect(told(desk, rollOf(ended(1, { attempt: 2 })))).toBeNull();
  expect(told(desk, rollOf(ended(1, { state: 'planned', retryAt: null })))).toBeNull();
});

test('one that runs again before it was told is told anyway; one that was forgotten is not', () => {
  const desk = new NotificationCenter();
  desk.take(rollOf(ended(1)));
  const again = roll({ servers: [server(5, 'supervised', { directory: '/srv/shop' })] });
  expect(desk.flush(again)?.body).toBe('It was ended by SIGKILL. It runs again.');
  desk.take(rollOf(ended(2)));
  expect(desk.flush(roll())).toBeNull();
});

test('one that crashes again and again is told at its first crash and when it is given up', () => {
  const desk = new NotificationCenter();
  expect(told(desk, rollOf(ended(1, { attempt: 1 })))).not.toBeNull();
  for (const attempt of [2, 3, 4, 5]) expect(told(desk, rollOf(ended(attempt, { attempt })))).toBeNull();
  const given = rollOf(ended(6, { state: 'failed', attempt: 5, retryAt: null }));
  expect(told(desk, given)).toMatchObject({
    title: 'opencode :4101 on local ended unexpectedly',
    body: 'It was ended by SIGKILL. It was given up after 5 attempts; its log may tell why.',
    button: { text: 'Show log' },
  });
  expect(told(desk, given)).toBeNull();
});

test('one that is given up before its end was told is told once', () => {
  const desk = new NotificationCenter();
  desk.take(rollOf(ended(1)));
  const given = rollOf(ended(1, { state: 'failed', retryAt: null }));
  desk.take(given);
  expect(desk.flush(given)?.title).toBe('opencode :4096 on local ended unexpectedly');
  expect(told(desk, given)).toBeNull();
});

test('that a person’s own wish to start it again failed is their answer, and no news', () => {
  const desk = new NotificationCenter();
  const meant = ended(1, { attempt: 0, retryAt: null, logPath: null, why: 'it was ended by SIGTERM' });
  const notice = told(desk, rollOf(meant));
  expect(notice?.body).toBe('It was ended by SIGTERM. It is not started again by itself.');
  expect(notice).not.toHaveProperty('button');
  expect(told(desk, rollOf(ended(1, { attempt: 0, retryAt: null, state: 'failed' })))).toBeNull();
});

test('several that end together, and a leak with them, become one', () => {
  const all = [ended(1), ended(2)];
  const desk = new NotificationCenter();
  const one = { ...rollOf(...all), servers: [leak(1, 1e9)] };
  expect(told(desk, one)).toMatchObject({
    title: '2 servers ended unexpectedly; opencode :4096 on local leaked',
    body: 'opencode :4096 on local and opencode :4097 on local. Its shell ended; nobody is connected. It holds 1.00 GB.',
    show: { ended: ended(1).nonce },
  });
});

test('the result of a one-click reap', () => {
  const result = (pid: number, outcome: 'gone' | 'survived') => ({
    pid,
    id: idOf(pid),
    label: `opencode :${pid}`,
    outcome,
    verdict: 'same' as const,
    signals: [],
    message: `PID ${pid} survived.`,
    freedBytes: outcome === 'gone' ? 500e6 : 0,
  });
  expect(
    reapNotice({ ok: true, message: '', server: null, results: [result(1, 'gone'), result(2, 'gone')] }),
  ).toMatchObject({
    title: '2 reaped, 1.00 GB freed',
    body: 'opencode :1, opencode :2',
  });
  expect(
    reapNotice({ ok: true, message: '', server: null, results: [result(1, 'gone'), result(2, 'survived')] }),
  ).toMatchObject({
    title: '1 of 2 reaped, 500 MB freed',
    body: 'PID 2 survived.',
    show: { server: idOf(2) },
  });
  const failure = { code: 'none', message: 'Nothing is leaked now.', remedy: 'Look again.', detail: null };
  expect(reapNotice({ ok: false, failure, results: [] })).toMatchObject({
    title: 'Nothing was reaped',
    body: 'Nothing is leaked now. Look again.',
  });
});

test('markup in a name is shown, not obeyed', () => {
  expect(bodyText('<img src=x> & co', 'linux')).toBe('&lt;img src=x&gt; &amp; co');
  expect(bodyText('<a> & b', 'darwin')).toBe('<a> & b');
});

const lost = (attempt: number, over: Partial<HostEntry> = {}): Roll =>
  roll({
    hosts: [host('local'), host('build-01', { state: 'reconnecting', ssh: ssh('build-01', { attempt }), ...over })],
  });
const back = roll({ hosts: [host('local'), host('build-01')] });

test('D4 a host that was lost is told once after some attempts, and again only after it was back', () => {
  const desk = new NotificationCenter();
  for (const attempt of [1, 2, 3]) expect(told(desk, lost(attempt))).toBeNull();
  expect(told(desk, lost(4))).toMatchObject({
    title: 'build-01 does not answer',
    show: { host: 'build-01', dialog: 'none' },
  });
  for (const attempt of [5, 6, 40]) expect(told(desk, lost(attempt))).toBeNull();
  expect(told(desk, back)).toBeNull();
  expect(told(desk, lost(4))?.title).toBe('build-01 does not answer');
});

test('D4 one that was back before it was told is not; one that never was connected is no loss', () => {
  const desk = new NotificationCenter();
  desk.take(lost(4));
  expect(desk.flush(back)).toBeNull();
  expect(told(desk, lost(9, { lookedAt: null }))).toBeNull();
});

test('D5 a lost host whose key has changed is told as that, and leads to the refusal', () => {
  const failure = { step: 'host-key', code: 'changed-host-key', message: 'It HAS CHANGED.', remedy: '', output: null };
  const one = lost(0, { state: 'failed', ssh: ssh('build-01', { failure }) });
  expect(told(new NotificationCenter(), one)).toMatchObject({
    title: 'The key of build-01 has changed',
    body: 'It HAS CHANGED.',
    show: { host: 'build-01', dialog: 'host-steps' },
  });
});

test('D5 a question is told soon and once while no window shows it, and not at all where one does', () => {
  const one = roll({ questions: [question('password')] });
  const desk = new NotificationCenter();
  expect(desk.take(one, false)).toBe(true);
  expect(desk.urgent).toBe(true);
  expect(desk.flush(one)).toMatchObject({ title: 'web-eu waits for a password', show: { host: 'web-eu' } });
  expect(told(desk, one)).toBeNull();
  const seen = new NotificationCenter();
  expect(seen.take(one, true)).toBe(false);
  // The window was closed without an answer: the person has seen it.
  expect(seen.take(one, false)).toBe(false);
  const gone = new NotificationCenter();
  gone.take(one, false);
  expect(gone.flush(roll())).toBeNull();
});

test('an idle stop is announced once, leads to its server, and is told anew when it is announced anew', () => {
  const idle = server(5, 'supervised', { listening: [{ address: '127.0.0.1', port: 4096 }] });
  const announced = (n: number): Alert => ({
    id: `idle-${n}`,
    level: 'notice',
    title: 'opencode :4096 on local stops at 14:52',
    detail: 'It has been idle for 29 min.',
    act: 'keep-awake',
    servers: [idle.id],
  });
  const desk = new NotificationCenter();
  const one = roll({ servers: [idle], alerts: [announced(1)] });
  expect(told(desk, one)).toEqual({
    title: 'opencode :4096 on local stops at 14:52',
    body: 'It has been idle for 29 min.',
    show: { view: 'servers', server: idle.id, dialog: 'none', kind: null },
  });
  expect(told(desk, one)).toBeNull();
  expect(told(desk, roll({ servers: [idle] }))).toBeNull();
  expect(told(desk, roll({ servers: [idle], alerts: [announced(1), announced(2)] }))).toMatchObject({
    title: '2 idle servers are about to be stopped',
    body: 'opencode :4096 on local.',
  });
});
