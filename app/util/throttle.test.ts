import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { throttle } from './throttle.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

test('the first value is acted on immediately, then the latest at the end of each time, and none gets lost', () => {
  const seen: number[] = [];
  const throttled = throttle((value: number) => seen.push(value), 1000);
  for (let n = 1; n <= 5; n += 1) throttled(n);
  expect(seen).toEqual([1]);
  vi.advanceTimersByTime(999);
  expect(seen).toEqual([1]);
  vi.advanceTimersByTime(1);
  expect(seen).toEqual([1, 5]);
  throttled(6);
  expect(seen).toEqual([1, 5]);
  vi.advanceTimersByTime(1000);
  expect(seen).toEqual([1, 5, 6]);
  vi.advanceTimersByTime(5000);
  throttled(7);
  expect(seen).toEqual([1, 5, 6, 7]);
  throttled(8);
  throttled.stop();
  vi.advanceTimersByTime(5000);
  throttled(9);
  expect(seen).toEqual([1, 5, 6, 7]);
});

test('without a leading act, calls are gathered until the end of the time', () => {
  let acts = 0;
  const throttled = throttle(() => (acts += 1), 100, { leading: false });
  throttled();
  throttled();
  expect(acts).toBe(0);
  vi.advanceTimersByTime(100);
  expect(acts).toBe(1);
  throttled();
  vi.advanceTimersByTime(99);
  expect(acts).toBe(1);
  vi.advanceTimersByTime(1);
  expect(acts).toBe(2);
  throttled();
  throttled.stop();
  vi.advanceTimersByTime(1000);
  expect(acts).toBe(2);
});
