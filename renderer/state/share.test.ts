import { describe, expect, test } from 'vitest';
import { share } from '../../app/roll/share.ts';
import { exampleRoll } from '../preview/rolls.ts';

describe('structural sharing', () => {
  test('an equal roll is the same object', () => {
    const before = exampleRoll();
    expect(share(before, structuredClone(before))).toBe(before);
  });

  test('one server’s change gives one new server; all others, and its own unchanged parts, stay', () => {
    const before = exampleRoll();
    const next = structuredClone(before);
    const changed = next.servers[3];
    if (changed === undefined) throw new Error('the example has too few servers');
    changed.cpuPercent = 99.9;
    next.version += 1;
    const shared = share(before, next);
    expect(
      shared.servers.filter((server, index) => server !== before.servers[index]).map((server) => server.id),
    ).toEqual([changed.id]);
    expect(shared.servers[3]?.cpuPercent).toBe(99.9);
    expect(shared.servers[3]?.checks).toBe(before.servers[3]?.checks);
    expect(shared.hosts).toBe(before.hosts);
    expect(shared).toEqual(next);
    expect(before).toEqual(exampleRoll());
  });

  test('a row that moves keeps its object, and one that goes or comes changes no other', () => {
    const before = exampleRoll();
    const next = structuredClone(before);
    next.servers.reverse();
    const dropped = next.servers.shift();
    const shared = share(before, next);
    for (const server of shared.servers) {
      expect(before.servers).toContain(server);
    }
    expect(shared.servers.map((server) => server.id)).not.toContain(dropped?.id);
    expect(shared).toEqual(next);
  });

  test('a key that goes or turns undefined is a change', () => {
    const before: { a: number; b?: number | undefined } = { a: 1, b: 2 };
    expect(share(before, { a: 1 })).toEqual({ a: 1 });
    expect(share<{ a: number; b?: number | undefined }>({ a: 1 }, { a: 1, b: undefined })).toHaveProperty('b');
    expect(share<readonly number[]>([1, 2], [1])).toEqual([1]);
  });

  test('of a thousand servers, the one that changed is the only new object', () => {
    const roll = exampleRoll();
    const first = roll.servers[0];
    if (first === undefined) throw new Error('the example has no server');
    roll.servers = Array.from({ length: 1000 }, (_, index) => ({
      ...structuredClone(first),
      id: index.toString(16).padStart(16, '0'),
    }));
    const next = structuredClone(roll);
    next.servers[500] = { ...first, id: (500).toString(16).padStart(16, '0'), busySign: 'another one' };
    const shared = share(roll, next);
    expect(shared.servers.flatMap((server, index) => (server === roll.servers[index] ? [] : [index]))).toEqual([500]);
  });
});
