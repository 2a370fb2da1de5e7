import { expect, test } from 'vitest';
import { Semaphore } from './semaphore.ts';

test('no more than allowed at once, in order, and one that leaves takes no turn', async () => {
  const turns = new Semaphore(2);
  const never = new AbortController().signal;
  const [first, second] = [await turns.take(never), await turns.take(never)];
  const order: number[] = [];
  const leaving = new AbortController();
  const left = turns.take(leaving.signal).then((end) => end === null);
  const third = turns.take(never).then((end) => {
    order.push(3);
    return end;
  });
  const fourth = turns.take(never).then((end) => {
    order.push(4);
    return end;
  });
  await Promise.resolve();
  expect(order).toEqual([]);
  leaving.abort();
  expect(await left).toBe(true);
  first?.();
  first?.();
  (await third)?.();
  await fourth;
  expect(order).toEqual([3, 4]);
  second?.();
  expect(await turns.take(leaving.signal)).toBeNull();
  expect(await turns.take(never)).not.toBeNull();
});
