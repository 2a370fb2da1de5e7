import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { AtMost } from './at-most.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

test('the first is applied at once, then at most one per interval, and the last one never gets lost', () => {
  const seen: number[] = [];
  const limited = new AtMost<number>(1_000, (value) => seen.push(value));
  for (let n = 1; n <= 5; n += 1) limited.push(n);
  expect(seen).toEqual([1]);
  vi.advanceTimersByTime(999);
  expect(seen).toEqual([1]);
  vi.advanceTimersByTime(1);
  expect(seen).toEqual([1, 5]);
  vi.advanceTimersByTime(5_000);
  limited.push(6);
  expect(seen).toEqual([1, 5, 6]);
  limited.push(7);
  limited.stop();
  vi.advanceTimersByTime(5_000);
  expect(seen).toEqual([1, 5, 6]);
});
