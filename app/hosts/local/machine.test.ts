import { cpus, hostname, totalmem } from 'node:os';
import { expect, test } from 'vitest';
import { machineReader } from './machine.ts';

test('the host line tells memory, load and cores, and two questions at once cost one reading', async () => {
  const read = machineReader();
  const first = read();
  expect(read()).toBe(first);
  const line = await first;
  expect(line).toMatchObject({ hostname: hostname(), cores: cpus().length });
  expect(Math.abs(line.memoryTotalBytes - totalmem())).toBeLessThan(totalmem() / 100);
  expect(line.memoryUsedBytes).toBeGreaterThan(0);
  expect(line.memoryUsedBytes).toBeLessThan(line.memoryTotalBytes);
  expect(line.load1).toBeGreaterThanOrEqual(0);
});
