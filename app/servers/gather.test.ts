import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { gather } from './gather.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

test('the first news is told at once, and what follows together at the end of each time', () => {
  let told = 0;
  const gathered = gather(() => (told += 1), 100);
  for (let nth = 0; nth < 1000; nth += 1) gathered.news();
  expect(told).toBe(1);
  vi.advanceTimersByTime(100);
  expect(told).toBe(2);
  gathered.news();
  expect(told).toBe(2);
  vi.advanceTimersByTime(100);
  expect(told).toBe(3);
  vi.advanceTimersByTime(1000);
  expect(told).toBe(3);
  gathered.news();
  expect(told).toBe(4);
  gathered.news();
  gathered.stop();
  vi.advanceTimersByTime(1000);
  gathered.news();
  expect(told).toBe(4);
});
