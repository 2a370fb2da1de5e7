import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type Placed, relevant } from './relevance.ts';

function table(...pairs: [pid: number, ppid: number][]): Map<number, Placed> {
  return new Map(pairs.map(([pid, ppid]) => [pid, { stat: { pid, ppid } }]));
}

test('the tree below a root, its ancestors, and nothing beside', () => {
  const family = table([1, 0], [10, 1], [20, 10], [30, 20], [31, 30], [21, 10], [99, 1]);
  const { trees, all } = relevant(family, [20], []);
  expect([...trees].sort()).toEqual([20, 30, 31]);
  expect([...all].sort((a, b) => a - b)).toEqual([1, 10, 20, 30, 31]);
});

test('what was asked for comes with its ancestors, but without its children', () => {
  const { trees, all } = relevant(table([1, 0], [10, 1], [20, 10], [30, 20]), [], [20]);
  expect(trees.size).toBe(0);
  expect([...all].sort((a, b) => a - b)).toEqual([1, 10, 20]);
});

test('what is not there is passed over', () => {
  expect(relevant(table([1, 0]), [7], [8]).all.size).toBe(0);
});

test('ends on any table, also one read while parents changed into a circle', () => {
  const pid = fc.integer({ min: 1, max: 12 });
  fc.assert(
    fc.property(fc.array(fc.tuple(pid, pid)), fc.array(pid), fc.array(pid), (pairs, roots, include) => {
      const { trees, all } = relevant(table(...pairs), roots, include);
      for (const tree of trees) expect(all.has(tree)).toBe(true);
    }),
  );
});
