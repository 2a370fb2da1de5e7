import { expect, test } from 'vitest';
import type { Alert, Roll } from '../app/roll/schema.ts';
import { host, idOf, roll, server } from '../e2e/support/fixture-roll.ts';
import { bodyText, NoticeDesk, reapNotice } from './notices.ts';

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

function told(desk: NoticeDesk, one: Roll) {
  return desk.take(one) ? desk.flush(one) : null;
}

test('one leak says which, why and how much, and leads to its row', () => {
  const one = roll({ servers: [leak(1, 2.34e9, 'build-01')], hosts: [host('local'), host('build-01')] });
  expect(told(new NoticeDesk(), one)).toEqual({
    title: 'opencode :4096 on build-01 leaked',
    body: 'Its shell ended; nobody is connected. It holds 2.34 GB.',
    show: { view: 'servers', server: idOf(1), dialog: 'none', kind: null },
  });
});

test('several become one', () => {
  const one = roll({ servers: [leak(1, 2e9), leak(2, 1e9), leak(3, 1.31e9, 'build-01')] });
  expect(told(new NoticeDesk(), one)).toMatchObject({
    title: '3 servers leaked',
    body: 'They hold 4.31 GB on local and build-01.',
  });
});

test('the same leak is never told again, a new one is told alone', () => {
  const desk = new NoticeDesk();
  const first = roll({ servers: [leak(1, 1e9)] });
  expect(told(desk, first)).not.toBeNull();
  expect(told(desk, first)).toBeNull();
  expect(told(desk, roll({ servers: [] }))).toBeNull();
  expect(told(desk, first)).toBeNull();
  expect(told(desk, roll({ servers: [leak(1, 1e9), leak(2, 1e9)] }))?.title).toBe('opencode :4096 on local leaked');
});

test('what has passed before it was told is not told, but is when it comes back', () => {
  const desk = new NoticeDesk();
  const one = roll({ servers: [leak(1, 1e9)] });
  expect(desk.take(one)).toBe(true);
  expect(desk.flush(roll())).toBeNull();
  expect(told(desk, one)).not.toBeNull();
});

test('a fault is told once, by its id', () => {
  const desk = new NoticeDesk();
  const one = roll({ alerts: [fault('guard', 'The guard does not run')] });
  expect(told(desk, one)).toMatchObject({ title: 'The guard does not run', body: 'Do this.' });
  expect(told(desk, one)).toBeNull();
  const notice = roll({ alerts: [{ ...fault('n', 'A notice'), level: 'notice' }] });
  expect(told(desk, notice)).toBeNull();
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
