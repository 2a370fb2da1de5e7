import { expect, test } from 'vitest';
import { spread } from './spread.mjs';

const seconds: Readonly<Record<string, number>> = { long: 50, middle: 30, short: 20, other: 20 };
const spreadNames = (names: readonly string[], parts: number) =>
  spread(
    names,
    parts,
    (name) => name,
    (name) => seconds[name] ?? 8,
  );

test('parts end together, and no file is lost or run twice', () => {
  expect(spreadNames(['short', 'long', 'other', 'middle'], 2)).toEqual([
    ['long', 'short'],
    ['middle', 'other'],
  ]);
  const many = Array.from({ length: 23 }, (_, n) => `file-${n}`);
  expect(spreadNames(many, 4).flat().sort()).toEqual([...many].sort());
});

test('the order in which files are found changes nothing', () => {
  const names = ['a', 'b', 'c', 'long', 'd'];
  expect(spreadNames([...names].reverse(), 3)).toEqual(spreadNames(names, 3));
});

test('more parts than files leave some with nothing', () => {
  expect(spreadNames(['long'], 3)).toEqual([['long'], [], []]);
});
