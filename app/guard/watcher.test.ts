import fc from 'fast-check';
import { beforeEach, describe, expect, test } from 'vitest';
import { handed, hello } from './messages.testing.ts';
import { type FromGuard, GUARD_PROTOCOL, line, type ToGuard } from './protocol.ts';
import { Watcher } from './watcher.ts';

const LIMIT = 20_000;
const SERVERS = [handed()];

let watcher: Watcher;
let answers: FromGuard[];

beforeEach(() => {
  answers = [];
  watcher = new Watcher(77, (message) => answers.push(message), LIMIT);
});

const tell = (...messages: ToGuard[]): void => {
  for (const message of messages) watcher.take(line(message));
};
const refused = (): number => answers.filter(({ type }) => type === 'refused').length;

describe('what the guard is told', () => {
  test('each message is acknowledged by its number, and the last full state is kept', () => {
    tell(hello(), { type: 'state', seq: 1, servers: [] }, { type: 'ping', seq: 2 });
    tell({ type: 'state', seq: 3, servers: SERVERS }, { type: 'farewell', seq: 4, afterwards: 'watch-owners' });
    expect(answers).toEqual([
      { type: 'hello', protocol: GUARD_PROTOCOL, pid: 77 },
      { type: 'ack', seq: 1 },
      { type: 'ack', seq: 2 },
      { type: 'ack', seq: 3 },
      { type: 'ack', seq: 4 },
    ]);
    expect(watcher.kept).toEqual({ hello: hello(), servers: SERVERS, ssh: [], farewell: 'watch-owners' });
  });

  test('another protocol is refused with both numbers, and nothing is kept', () => {
    tell(hello({ protocol: GUARD_PROTOCOL + 1, version: '9.9.9' }));
    expect(answers).toEqual([{ type: 'refused', why: expect.stringContaining('9.9.9') }]);
    expect(watcher.kept).toBeNull();
  });

  test('nothing counts before the hello, and there is one hello', () => {
    tell({ type: 'state', seq: 1, servers: SERVERS });
    expect(refused()).toBe(1);
    tell(hello(), hello({ pid: 1234 }));
    expect(refused()).toBe(2);
    expect(watcher.kept).toMatchObject({ hello: { pid: 4000 }, servers: [] });
  });

  test('a number that was there before is refused, so an old state never replaces a newer one', () => {
    tell(hello(), { type: 'state', seq: 5, servers: SERVERS }, { type: 'state', seq: 5, servers: [] });
    tell({ type: 'state', seq: 4, servers: [] });
    expect(refused()).toBe(2);
    expect(watcher.kept?.servers).toEqual(SERVERS);
  });

  test.each([
    ['too long', Buffer.from(`{"type":"state","seq":2,"servers":["${'x'.repeat(2 * LIMIT)}"]}\n`)],
    ['no JSON', Buffer.from('{"type":"state","seq":2\n')],
    ['no UTF-8', Buffer.from([0xff, 0xfe, 0x0a])],
    ['of no known type', line({ type: 'forget', seq: 2 } as unknown as ToGuard)],
    ['a record that is none', line({ type: 'state', seq: 2, servers: [{ ...handed(), record: {} }] } as never)],
    ['a number that is none', line({ type: 'ping', seq: -1 })],
    ['with something more', line({ type: 'ping', seq: 2, more: 1 } as unknown as ToGuard)],
  ])('one that is %s is refused; what was kept stays, and the next good one counts', (_, bytes) => {
    tell(hello(), { type: 'state', seq: 1, servers: SERVERS });
    watcher.take(bytes);
    expect(refused()).toBe(1);
    expect(watcher.kept?.servers).toEqual(SERVERS);
    tell({ type: 'state', seq: 3, servers: [] });
    expect(answers.at(-1)).toEqual({ type: 'ack', seq: 3 });
    expect(watcher.kept?.servers).toEqual([]);
  });

  test('arbitrary bytes between good messages, cut anywhere, cost nothing of what is kept', () => {
    fc.assert(
      fc.property(
        fc.array(fc.uint8Array({ maxLength: 3 * LIMIT }), { maxLength: 4 }),
        fc.integer({ min: 1, max: 5000 }),
        (junk, size) => {
          const seen: FromGuard[] = [];
          const one = new Watcher(77, (message) => seen.push(message), LIMIT);
          const parts = junk.flatMap((bytes, index) => [
            bytes,
            Buffer.from('\n'),
            line({ type: 'state', seq: index + 2, servers: SERVERS }),
          ]);
          const bytes = Buffer.concat([line(hello()), line({ type: 'state', seq: 1, servers: SERVERS }), ...parts]);
          for (let from = 0; from < bytes.length; from += size) one.take(bytes.subarray(from, from + size));
          expect(one.kept?.servers).toEqual(SERVERS);
          expect(seen.filter(({ type }) => type === 'ack')).toHaveLength(junk.length + 1);
        },
      ),
      { numRuns: 40 },
    );
  });

  test('megabytes without a newline do not make it grow', () => {
    tell(hello(), { type: 'state', seq: 1, servers: SERVERS });
    const chunk = Buffer.alloc(65_536, 0x78);
    global.gc?.();
    const before = process.memoryUsage().arrayBuffers;
    for (let sent = 0; sent < 64 * 1024 * 1024; sent += chunk.length) watcher.take(chunk);
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(2 * 1024 * 1024);
    expect(refused()).toBe(1);
    expect(watcher.kept?.servers).toEqual(SERVERS);
  });
});
