import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { QuitReport } from '../app/supervisor/core.ts';
import { Lifecycle, type QuitDeps } from './lifecycle.ts';

const report: QuitReport = { stopped: 2, leftRunning: 0, failed: [] };

function life(over: Partial<QuitDeps> = {}) {
  const seen = { exits: [] as number[], said: [] as string[], closes: 0, left: 0, asked: 0 };
  const one = new Lifecycle({
    close: async () => {
      seen.closes += 1;
      return report;
    },
    mustAsk: () => false,
    ask: async () => {
      seen.asked += 1;
      return true;
    },
    leave: () => {
      seen.left += 1;
    },
    exit: (code) => seen.exits.push(code),
    say: (text) => seen.said.push(text),
    stopLimitMs: 50,
    ...over,
  });
  return { one, seen };
}

const never = () => new Promise<never>(() => undefined);
/** Time passes for what is tested, and only for that. */
const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
});
afterEach(() => {
  vi.useRealTimers();
});

test('E3 quitting stops servers first, exits 0 and says what it did; later quits do nothing', async () => {
  const { one, seen } = life();
  await one.quit('person');
  await one.quit('person');
  expect(seen).toMatchObject({ exits: [0], closes: 1, left: 1, said: ['Rollcall has quit: 2 servers stopped.'] });
  expect(one.leaving).toBe(true);
});

test('E3 a stop that hangs is given up after its limit, with exit code 1', async () => {
  const { one, seen } = life({ close: never });
  const quit = one.quit('system');
  await pass(1_549);
  expect(seen.exits).toEqual([]);
  await pass(1);
  await quit;
  expect(seen.exits).toEqual([1]);
  expect(seen.said[0]).toContain('had not stopped after');
});

test('E3 a second quit while the first is under way forces', async () => {
  const { one, seen } = life({ close: never });
  void one.quit('person');
  await pass(5);
  await one.quit('person');
  expect(seen.exits).toEqual([1]);
  await pass(1_700);
  expect(seen.exits).toEqual([1]);
});

test('E3 a signal that comes along with the first one is the same goodbye, a later one forces', async () => {
  const { one, seen } = life({ close: never, stopLimitMs: 5_000 });
  void one.quit('system');
  await pass(5);
  await one.quit('system');
  expect(seen.exits).toEqual([]);
  await pass(600);
  await one.quit('system');
  expect(seen.exits).toEqual([1]);
});

test('a question that cannot be shown interrupts nothing, and quitting again insists', async () => {
  const { one, seen } = life({
    mustAsk: () => seen.said.length === 0,
    ask: () => Promise.reject(new Error('no display')),
  });
  await one.quit('person');
  expect(seen).toMatchObject({ exits: [], closes: 0 });
  expect(seen.said[0]).toContain('no display');
  expect(one.leaving).toBe(false);
  await one.quit('person');
  expect(seen.exits).toEqual([0]);
});

test('windows that do not close in order keep no server from being stopped', async () => {
  const { one, seen } = life({
    leave: () => {
      throw new Error('window is gone');
    },
  });
  await one.quit('system');
  expect(seen).toMatchObject({ closes: 1, exits: [0] });
  expect(seen.said[0]).toContain('window is gone');
});

test('what could not be stopped is named, and the exit code says so', async () => {
  const { one, seen } = life({
    close: async () => ({ stopped: 1, leftRunning: 1, failed: ['opencode :4096: it ignores SIGKILL'] }),
  });
  await one.quit('system');
  expect(seen.exits).toEqual([1]);
  expect(seen.said).toEqual([
    'Rollcall has quit: 1 server stopped, 1 left running, not stopped: opencode :4096: it ignores SIGKILL.',
  ]);
});

test('a failing close still ends the app', async () => {
  const { one, seen } = life({ close: () => Promise.reject(new Error('disk full')) });
  await one.quit('person');
  expect(seen.exits).toEqual([1]);
  expect(seen.said[0]).toContain('disk full');
});

test('with something busy a person is asked, and may stay', async () => {
  const { one, seen } = life({ mustAsk: () => true, ask: async () => false });
  await one.quit('person');
  expect(one.leaving).toBe(false);
  expect(seen.exits).toEqual([]);
  expect(seen.left).toBe(0);
});

test('the system does not ask', async () => {
  const { one, seen } = life({ mustAsk: () => true });
  await one.quit('system');
  expect(seen).toMatchObject({ asked: 0, exits: [0] });
});

test('E7 a second quit while the question stands is a yes', async () => {
  const { one, seen } = life({ mustAsk: () => true, ask: never });
  void one.quit('person');
  await pass(5);
  await one.quit('person');
  expect(seen).toMatchObject({ exits: [0], closes: 1 });
});

test('what is left and nobody watches is said at the end, and is no success', async () => {
  const { one, seen } = life({
    close: async () => ({ ...report, leftRunning: 1, unwatched: 'It ended with code 3.' }),
  });
  await one.quit('system');
  expect(seen).toMatchObject({
    exits: [1],
    said: [
      'Rollcall has quit: 2 servers stopped, 1 left running. Nobody sees to what is left: the guard does not run. ' +
        'It ended with code 3. Start Rollcall again to have it looked after.',
    ],
  });
});
