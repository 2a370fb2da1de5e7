import { expect, onTestFinished, test } from 'vitest';
import { until } from '../../local/testing/processes.ts';
import { watchClocks } from './clock-watch.ts';

test('a sleep is noticed once, neither passing time nor a clock that is set back or corrected', async () => {
  let wall = 1_000_000;
  let monotonic = 0;
  let rounds = 0;
  let jumps = 0;
  const clocks = {
    wall: () => wall,
    monotonic: () => {
      rounds += 1;
      return monotonic;
    },
  };
  onTestFinished(watchClocks(() => (jumps += 1), clocks, 5));
  const pass = async (byWall: number, byMonotonic: number): Promise<void> => {
    wall += byWall;
    monotonic += byMonotonic;
    const after = rounds + 2;
    await until('the clocks are read', () => rounds >= after);
  };
  await pass(60_000, 60_000);
  await pass(-3_600_000, 10);
  await pass(2000, 10);
  expect(jumps).toBe(0);
  await pass(600_000, 10);
  await pass(10, 10);
  expect(jumps).toBe(1);
});
