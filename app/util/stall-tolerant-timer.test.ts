import { expect, test } from 'vitest';
import { stallTolerantTimer } from './stall-tolerant-timer.ts';

test('time in which the thread was busy hardly counts, and a cancelled one never ends', async () => {
  const begun = performance.now();
  let cancelled = true;
  stallTolerantTimer(50, () => {
    cancelled = false;
  })();
  let over = false;
  const ended = new Promise<void>((resolve) =>
    stallTolerantTimer(300, () => {
      over = true;
      resolve();
    }),
  );
  const plain = new Promise<boolean>((resolve) => setTimeout(() => resolve(over), 300));
  while (performance.now() - begun < 500) Math.random();
  // A plain timer of the same time ends as soon as the thread comes round.
  expect(await plain).toBe(false);
  await ended;
  expect(cancelled).toBe(true);
});
