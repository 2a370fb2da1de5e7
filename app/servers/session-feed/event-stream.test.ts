import type { ServerResponse } from 'node:http';
import { afterEach, describe, expect, test, vi } from 'vitest';
import type { Endpoint } from '../kind.ts';
import { createBusyState } from './busy-state.ts';
import { type EventStream, followEvents } from './event-stream.ts';
import { type Fixture, fixture, until } from './hostile.testing.ts';

const open: { close(): unknown }[] = [];
afterEach(async () => {
  vi.restoreAllMocks();
  for (const thing of open.splice(0).reverse()) await thing.close();
});

const FAST = { silenceMs: 1500, retryMs: 20, retryMaxMs: 100, doubtMs: 400 };

function event(type: string, properties: unknown): string {
  return `data: ${JSON.stringify({ directory: '/p', payload: { id: 'e', type, properties } })}\n\n`;
}

interface Stream extends Fixture {
  readonly watch: EventStream;
  readonly changes: () => number;
  send(text: string): void;
  /** Ends the open stream from the server's side. */
  cut(): void;
}

async function stream(
  onOpen?: (res: ServerResponse, nth: number) => boolean,
  credentials: Endpoint['credentials'] = null,
): Promise<Stream> {
  const responses: ServerResponse[] = [];
  const server = await fixture((_, res) => {
    responses.push(res);
    if (onOpen?.(res, responses.length) === false) return;
    res.writeHead(200, { 'content-type': 'text/event-stream' });
    res.write(event('server.connected', {}));
  });
  let changes = 0;
  const watch = followEvents({ ...server.endpoint, credentials }, '/global/event', () => (changes += 1), FAST);
  open.push(server, watch);
  return {
    ...server,
    watch,
    changes: () => changes,
    send: (text) => responses.at(-1)?.write(text),
    cut: () => responses.at(-1)?.destroy(),
  };
}

/** Waits until another stream, which is refused, has been tried again several times, with growing waits. */
async function retriesOfAnother(): Promise<void> {
  const other = await stream((res) => {
    res.destroy();
    return false;
  });
  await until('another one is tried again', () => other.requests.length === 5);
  other.watch.close();
}

describe('a password', () => {
  test('goes to the listener that was proved, and not again to whoever listens there after the stream broke', async () => {
    let opened = 0;
    const count = (): boolean => {
      opened += 1;
      return true;
    };
    const s = await stream(count, { username: 'opencode', password: 'secret' });
    await until('open', () => s.watch.reading().busy === false);
    expect(s.watch.brokeAt()).toBeNull();
    s.cut();
    await until('broken', () => s.watch.brokeAt() !== null);
    await retriesOfAnother();
    expect(opened).toBe(1);
    expect(s.watch.reading()).toMatchObject({ busy: 'unknown' });
  });
});

describe('busy by its event stream', () => {
  test('unknown until open, then busy and idle by the sessions’ own words', async () => {
    const s = await stream();
    expect(s.watch.reading()).toEqual({ busy: 'unknown', why: 'its event stream is not open yet' });
    expect(s.watch.lastSign()).toBeNull();
    await until('open', () => s.watch.reading().busy === false);
    expect(s.watch.reading()).toEqual({
      busy: false,
      sign: expect.stringMatching(/^no session became busy in the \d+ s watched$/u),
    });
    const openedAt = s.watch.lastSign();
    expect(openedAt).toBeTypeOf('number');
    s.send(event('session.updated', { sessionID: 'ses_1', info: { id: 'ses_1', title: 'Port\nimages' } }));
    s.send(event('session.status', { sessionID: 'ses_1', status: { type: 'busy' } }));
    await until('busy', () => s.watch.reading().busy === true);
    expect(s.watch.reading()).toEqual({ busy: true, sign: 'session “Port images” is busy' });
    expect(s.changes()).toBe(2);
    s.send(event('session.status', { sessionID: 'ses_2', status: { type: 'retry' } }));
    await until('two', () => s.changes() === 3);
    s.send(event('session.idle', { sessionID: 'ses_1' }) + event('session.deleted', { sessionID: 'ses_2', info: {} }));
    await until('idle', () => s.watch.reading().busy === false);
    expect(s.watch.reading()).toEqual({
      busy: false,
      sign: expect.stringMatching(/^event stream silent for \d s$/u),
    });
    expect(s.requests[0]).toBe('GET /global/event - close');
  });

  test('garbage and an endless event do not break it', async () => {
    const s = await stream();
    await until('open', () => s.watch.reading().busy === false);
    s.send('data: {not json\n\n\u0000\u0001\u0002\ndata: null\n\ndata: [1]\n\ndata: {"payload":7}\n\nretry: x\n\n');
    s.send(`data: ${'x'.repeat(1_500_000)}`);
    s.send(`${'y'.repeat(100_000)}\n\n`);
    s.send(event('session.status', { sessionID: 'ses_9', status: { type: 'busy' } }));
    await until('busy', () => s.watch.reading().busy === true);
    expect(s.requests.length).toBe(1);
  });

  test('a half-open connection is noticed, and a new one starts from nothing', async () => {
    const s = await stream();
    await until('open', () => s.watch.reading().busy === false);
    s.send(event('session.status', { sessionID: 'ses_1', status: { type: 'busy' } }));
    await until('busy', () => s.watch.reading().busy === true);
    await until('down', () => s.watch.reading().busy === 'unknown');
    expect(s.watch.reading()).toEqual({ busy: 'unknown', why: 'its event stream fell silent' });
    await until('again', () => s.requests.length === 2 && s.watch.lastSign() !== null);
    const changes = s.changes();
    expect(s.watch.reading()).toEqual({
      busy: 'unknown',
      why: 'session “ses_1” was busy before its event stream broke, and is silent since',
    });
    await until('no longer in doubt', () => s.watch.reading().busy === false);
    expect(s.requests.length).toBe(2);
    await until('somebody was told', () => s.changes() > changes);
  });

  test('after a reconnect silence counts from the new opening, and there is no last sign while it is down', async () => {
    let refuse = false;
    const s = await stream((res) => {
      if (refuse) res.destroy();
      return !refuse;
    });
    await until('open', () => s.watch.reading().busy === false);
    s.send(event('session.idle', { sessionID: 'ses_1' }));
    await until('a sign', () => JSON.stringify(s.watch.reading()).includes('silent for'));
    const before = s.watch.lastSign() ?? 0;
    refuse = true;
    s.cut();
    await until('down', () => s.watch.reading().busy === 'unknown');
    expect(s.watch.lastSign()).toBeNull();
    refuse = false;
    const resumed = performance.now();
    await until('open again', () => s.watch.reading().busy === false);
    expect(before).toBeLessThan(resumed);
    expect(s.watch.lastSign()).toBeGreaterThan(resumed);
    expect(s.watch.reading()).toEqual({ busy: false, sign: expect.stringMatching(/^no session became busy/u) });
  });

  test.each([
    ['session.status', { sessionID: 'ses_1', status: { type: 'busy' } }, true],
    ['session.status', { sessionID: 'ses_1', status: { type: 'idle' } }, false],
    ['session.idle', { sessionID: 'ses_1' }, false],
    ['session.deleted', { sessionID: 'ses_1', info: { id: 'ses_1' } }, false],
    ['message.part.updated', { part: { sessionID: 'ses_1' } }, true],
    ['session.updated', { info: { id: 'ses_1', title: 'ses_1' } }, 'unknown'],
    ['session.status', { sessionID: 'ses_2', status: { type: 'idle' } }, 'unknown'],
  ])('what was busy before a break is in doubt until %s %j says otherwise', (type, properties, expected) => {
    const state = createBusyState();
    state.take({ type: 'session.status', properties: { sessionID: 'ses_1', status: { type: 'busy' } } }, 0);
    state.forget();
    expect(state.doubtful()).toEqual(['ses_1']);
    state.take({ type, properties }, 1);
    expect(state.doubtful()).toEqual(expected === 'unknown' ? ['ses_1'] : []);
    expect(state.busy(1)).toEqual(expected === true ? ['ses_1'] : []);
    // A second break changes nothing about what is still in doubt.
    if (expected === 'unknown') state.forget();
    expect(state.doubtful().length).toBe(expected === 'unknown' ? 1 : 0);
  });

  test.each([[8], [-1]])(
    'a wall clock that jumps by %d h changes no silence, no busy sign and no reconnect',
    async (hours) => {
      const s = await stream();
      await until('open', () => s.watch.reading().busy === false);
      const began = performance.now();
      const real = Date.now;
      vi.spyOn(Date, 'now').mockImplementation(() => real() + hours * 3_600_000);
      const opened = s.watch.lastSign() ?? Number.NaN;
      // Not an hour away from it.
      expect(Math.abs(opened - began)).toBeLessThan(1_800_000);
      expect(s.watch.reading()).toEqual({ busy: false, sign: expect.stringMatching(/in the \d{1,3} s watched$/u) });
      s.send(event('message.part.updated', { part: { sessionID: 'ses_1' } }));
      await until('busy', () => s.watch.reading().busy === true);
      vi.restoreAllMocks();
      expect(s.watch.reading()).toMatchObject({ busy: true });
      vi.spyOn(Date, 'now').mockImplementation(() => real() + 2 * hours * 3_600_000);
      expect(s.watch.reading()).toMatchObject({ busy: true });
      s.send(event('session.idle', { sessionID: 'ses_1' }));
      await until('idle', () => s.watch.reading().busy === false);
      expect(s.watch.reading()).toEqual({
        busy: false,
        sign: expect.stringMatching(/^event stream silent for \d\d? s$/u),
      });
      s.cut();
      await until('down', () => s.watch.reading().busy === 'unknown');
      await until('open again', () => s.watch.reading().busy === false);
    },
  );

  test('it reconnects after an end, with growing waits, and stops when closed', async () => {
    const s = await stream((res, nth) => {
      if (nth < 4) res.destroy();
      return nth >= 4;
    });
    await until('open', () => s.watch.reading().busy === false);
    expect(s.requests.length).toBe(4);
    s.watch.close();
    await until('closed', () => s.connections() === 0);
    const { length } = s.requests;
    await retriesOfAnother();
    expect(s.requests.length).toBe(length);
  });

  test('A22 a locked stream is unknown, not idle', async () => {
    const s = await stream((res) => {
      res.writeHead(401).end();
      return false;
    });
    await until('down', () => JSON.stringify(s.watch.reading()).includes('password'));
    expect(s.watch.reading()).toMatchObject({ busy: 'unknown' });
  });

  test('a page that is no stream is unknown', async () => {
    const s = await stream((res) => {
      res.writeHead(200, { 'content-type': 'text/html' }).end('<html>');
      return false;
    });
    await until('down', () => JSON.stringify(s.watch.reading()).includes('no event stream'));
  });
});

test('a part of a message is a sign for ten seconds, and idle ends it at once', () => {
  const state = createBusyState();
  const part = { type: 'message.part.updated', properties: { part: { sessionID: 'ses_1', text: 'x' } } };
  expect(state.take(part, 1000)).toBe(true);
  expect(state.busy(10_000)).toEqual(['ses_1']);
  expect(state.busy(11_001)).toEqual([]);
  state.take(part, 20_000);
  state.take({ payload: { type: 'session.idle', properties: { sessionID: 'ses_1' } } }, 20_001);
  expect(state.busy(20_002)).toEqual([]);
  expect(state.take({ payload: { type: 'server.heartbeat', properties: {} } }, 1)).toBe(false);
});

test('an event that is too long is passed over, and what follows is read', async () => {
  const s = await stream();
  await until('open', () => s.watch.reading().busy === false);
  s.send(`data: ${'x'.repeat(3_000_000)}`);
  s.send(`${'y'.repeat(100_000)}\ndata: z\n\n`);
  s.send(event('session.status', { sessionID: 'ses_1', status: { type: 'busy' } }));
  await until('busy', () => s.watch.reading().busy === true);
});
