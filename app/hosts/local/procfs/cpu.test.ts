import { expect, test } from 'vitest';
import { cpuPercentBetween, parseCpuTimes } from './cpu.ts';

const TEXT = `cpu  100 20 30 800 50 1 2 7 60 0
cpu0 50 10 15 400 25 0 1 3 30 0
cpu1 50 10 15 400 25 1 1 4 30 0
intr 1 2 3
`;

test('parseCpuTimes counts waiting as idle and guests only once', () => {
  expect(parseCpuTimes(TEXT)).toEqual({ busy: 160, total: 1010, cores: 2 });
  expect(parseCpuTimes('intr 1 2 3\n')).toBeNull();
  expect(parseCpuTimes('')).toBeNull();
});

test.each([
  [{ busy: 0, total: 0 }, { busy: 25, total: 100 }, 25],
  [{ busy: 10, total: 100 }, { busy: 10, total: 100 }, null],
  [{ busy: 10, total: 100 }, { busy: 9, total: 101 }, 0],
])('from %j to %j it is %j percent', (before, now, percent) => {
  expect(cpuPercentBetween({ ...before, cores: 1 }, { ...now, cores: 1 })).toBe(percent);
});
