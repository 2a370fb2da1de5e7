import { afterEach, expect, test, vi } from 'vitest';
import { Poller } from './poller.ts';

afterEach(() => void vi.useRealTimers());

/** Looks that end when the test says so. */
function looks() {
  const begun: { end: () => void; fail: (error: Error) => void }[] = [];
  const rounds = new Poller(
    () =>
      new Promise((resolve, reject) => {
        begun.push({ end: resolve, fail: reject });
      }),
  );
  return { begun, rounds };
}

test('who asks while a look is under way gets the next one, and several share it', async () => {
  const { begun, rounds } = looks();
  const first = rounds.ask();
  const [second, third] = [rounds.ask(), rounds.ask()];
  expect([begun.length, second === third, rounds.underWay]).toEqual([1, true, true]);
  begun[0]?.end();
  await first;
  await vi.waitFor(() => expect(begun).toHaveLength(2));
  begun[1]?.end();
  await Promise.all([second, third]);
  expect([begun.length, rounds.underWay]).toEqual([2, false]);
});

test('a look that fails is told to whoever waits for it, and does not stand in the way of the next', async () => {
  const { begun, rounds } = looks();
  const [first, second] = [rounds.ask(), rounds.ask()];
  begun[0]?.fail(new Error('no way there'));
  await expect(first).rejects.toThrow('no way there');
  await vi.waitFor(() => expect(begun).toHaveLength(2));
  begun[1]?.end();
  await second;
  await rounds.over();
});

test('a round comes after each pause, also after one that failed or was left out, until they end', async () => {
  vi.useFakeTimers();
  const outcomes = ['fails', 'ends', 'ends'];
  const begun: string[] = [];
  const rounds = new Poller(async () => {
    const outcome = outcomes[begun.length] ?? 'ends';
    begun.push(outcome);
    if (outcome === 'fails') throw new Error('it cannot be looked at');
  });
  let away = true;
  const told: string[] = [];
  rounds.begin(
    () => 1000,
    () => away,
    (round) =>
      void round.then(
        () => told.push('ended'),
        () => told.push('failed'),
      ),
  );
  await vi.advanceTimersByTimeAsync(2500);
  expect([begun, told]).toEqual([[], ['ended', 'ended']]);
  away = false;
  await vi.advanceTimersByTimeAsync(2000);
  expect([begun, told.slice(2)]).toEqual([
    ['fails', 'ends'],
    ['failed', 'ended'],
  ]);
  rounds.end();
  await vi.advanceTimersByTimeAsync(5000);
  expect(begun).toHaveLength(2);
  await rounds.ask();
  expect(begun).toHaveLength(3);
});

test('rounds that end during one do not begin again after it', async () => {
  vi.useFakeTimers();
  const { begun, rounds } = looks();
  rounds.begin(
    () => 10,
    () => false,
    () => undefined,
  );
  await vi.advanceTimersByTimeAsync(10);
  rounds.end();
  begun[0]?.end();
  await vi.advanceTimersByTimeAsync(1000);
  expect(begun).toHaveLength(1);
});
