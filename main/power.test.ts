import { EventEmitter } from 'node:events';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { networkNow, SleepGap, watchNetwork, watchResume } from './power.ts';

let wall = 0;
let monotonic = 0;
const clocks = { wall: () => wall, monotonic: () => monotonic };
const run = (ms: number): void => {
  wall += ms;
  monotonic += ms;
};

beforeEach(() => {
  wall = 1_000_000;
  monotonic = 0;
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

test('E11 wall time that ran on alone is a sleep; a busy or slow machine is not', () => {
  const gap = new SleepGap(clocks);
  run(60_000);
  expect(gap.check()).toBe(false);
  wall += 3_600_000;
  run(5_000);
  expect(gap.check()).toBe(true);
  run(5_000);
  expect(gap.check()).toBe(false);
});

test('E11 a wake-up is told once, whichever notices it first, and the end of the watch ends it', () => {
  const monitor = new EventEmitter();
  let told = 0;
  const stop = watchResume(
    monitor,
    () => {
      told += 1;
    },
    clocks,
  );
  wall += 600_000;
  run(5_000);
  vi.advanceTimersByTime(5_000);
  expect(told).toBe(1);
  run(2_000);
  monitor.emit('resume');
  expect(told).toBe(1);
  run(60_000);
  vi.advanceTimersByTime(5_000);
  monitor.emit('resume');
  expect(told).toBe(2);
  stop();
  run(60_000);
  monitor.emit('resume');
  expect(told).toBe(2);
});

test('another address is a change of network, told once; the same ones are none', () => {
  let addresses = '10.0.0.2/24';
  let told = 0;
  const stop = watchNetwork(
    () => {
      told += 1;
    },
    () => addresses,
  );
  vi.advanceTimersByTime(15_000);
  expect(told).toBe(0);
  addresses = '10.0.0.2/24 192.168.7.3/24';
  vi.advanceTimersByTime(15_000);
  expect(told).toBe(1);
  stop();
  addresses = '';
  vi.advanceTimersByTime(15_000);
  expect(told).toBe(1);
  expect(networkNow()).toContain('127.0.0.1/8');
});
