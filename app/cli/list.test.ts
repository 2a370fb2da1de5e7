import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { type FakeCore, fakeRoll, fakeServer } from '../control/fake-core.testing.ts';
import { list } from './list.ts';
import { runCommand } from './run-command.testing.ts';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
});
afterEach(() => {
  vi.useRealTimers();
});

test('list --watch prints what has changed, once, and nothing for a roll that says the same', async () => {
  const leaked = (cpuPercent: number) => [fakeServer(4711, 'leaked', { cpuPercent })];
  const interrupt = new AbortController();
  let core: FakeCore | null = null;
  const ran = runCommand(list, 'list --watch', fakeRoll(1, { servers: leaked(1) }), {
    ended: interrupt.signal,
    set: (made) => {
      core = made;
    },
  });
  // Its looks are two seconds apart.
  const look = (version: number, servers = leaked(77)) => {
    core?.push(fakeRoll(version, { servers }));
    return vi.advanceTimersByTimeAsync(2000);
  };
  await vi.advanceTimersByTimeAsync(2000);
  await look(2);
  await look(3);
  await look(4, []);
  await look(5, []);
  interrupt.abort();
  const { code, out } = await ran;
  expect(code).toBe(0);
  expect(out.match(/^local, .*$/gmu)).toEqual([
    expect.stringContaining('1 server'),
    expect.not.stringContaining('1 server'),
  ]);
});
