import { expect, test } from 'vitest';
import { patiently } from './patience.ts';

test('time in which the thread was busy hardly counts, and a cancelled one never ends', async () => {
  const begun = performance.now();
  let cancelled = true;
  patiently(50, () => {
    cancelled = false;
  })();
  const ended = new Promise<number>((resolve) => patiently(300, () => resolve(performance.now() - begun)));
  while (performance.now() - begun < 500) Math.random();
  expect(await ended).toBeGreaterThan(700);
  expect(cancelled).toBe(true);
});
