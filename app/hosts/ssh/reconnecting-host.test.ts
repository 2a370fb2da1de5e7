import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { ProcessRef, Verdict } from '../../identity/identity.ts';
import type { ExitStatus, Host, ProcessHandle, Spawned } from '../host.ts';
import { ReconnectingHost } from './reconnecting-host.ts';

const REF: ProcessRef = {
  identity: { hostId: 'h', bootId: 'b', pidNamespace: 'n', pid: 4711, startTime: 'linux:1' },
  evidence: { executable: null, argvHash: null },
};
const REQUEST = { argv: ['/bin/true'], cwd: '/', env: {}, logPath: '/log' } as const;

/** A connection: it answers waits with false when it is closed, as one over SSH does. */
class FakeConnection {
  readonly waits: number[] = [];
  readonly signals: string[] = [];
  held = 0;
  released = 0;
  #gone = false;
  readonly #answers = new Set<(exited: boolean) => void>();
  readonly #watches = new Set<(status: ExitStatus | null) => void>();

  readonly host: Host = {
    hold: async (ref: ProcessRef): Promise<ProcessHandle> => {
      this.held += 1;
      return {
        ref,
        verify: async (): Promise<Verdict> => (this.#gone ? { verdict: 'gone', why: 'exited' } : { verdict: 'same' }),
        signal: async (signal) => {
          this.signals.push(signal);
          return { sent: true };
        },
        exited: (timeoutMs) => this.#exited(timeoutMs),
        release: () => {
          this.released += 1;
        },
      };
    },
    watchExit: (_ref: ProcessRef, onExit: (status: ExitStatus | null) => void) => {
      if (this.#gone) setImmediate(() => onExit(null));
      this.#watches.add(onExit);
      return () => this.#watches.delete(onExit);
    },
    spawn: async (): Promise<Spawned> => ({
      ref: REF,
      exit: new Promise((resolve) => this.#watches.add((status) => resolve(status ?? { code: null, signal: null }))),
    }),
    close: async () => {
      this.#watches.clear();
      for (const answer of this.#answers) answer(false);
    },
  } as Partial<Host> as Host;

  #exited(timeoutMs: number): Promise<boolean> {
    this.waits.push(timeoutMs);
    if (this.#gone) return Promise.resolve(true);
    return new Promise((resolve) => {
      this.#answers.add(resolve);
      setTimeout(() => resolve(false), timeoutMs);
    });
  }

  exit(status: ExitStatus | null): void {
    this.#gone = true;
    for (const answer of this.#answers) answer(true);
    for (const tell of this.#watches) tell(status);
  }

  get watching(): number {
    return this.#watches.size;
  }
}

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

test('D2 a wait that a lost connection cuts off goes on over the next, for the rest of its time', async () => {
  const [first, second, third] = [new FakeConnection(), new FakeConnection(), new FakeConnection()];
  const steady = new ReconnectingHost(first.host);
  const held = await steady.hold(REF);
  const waiting = held.exited(400);
  await vi.advanceTimersByTimeAsync(100);
  await steady.renew(second.host);
  await vi.advanceTimersByTimeAsync(100);
  await steady.renew(third.host);
  await vi.advanceTimersByTimeAsync(200);
  expect(await waiting).toBe(false);
  expect([first.waits, second.waits, third.waits]).toEqual([[400], [300], [200]]);
});

test.each(['during', 'after'])('D2 an exit %s the loss is told to who waits', async (when) => {
  const [first, second] = [new FakeConnection(), new FakeConnection()];
  const steady = new ReconnectingHost(first.host);
  const waiting = (await steady.hold(REF)).exited(20_000);
  if (when === 'during') second.exit(null);
  await steady.renew(second.host);
  if (when === 'after') second.exit(null);
  expect(await waiting).toBe(true);
});

test('a process that is held is verified, signalled and let go of over the connection that stands', async () => {
  const [first, second] = [new FakeConnection(), new FakeConnection()];
  const steady = new ReconnectingHost(first.host);
  const held = await steady.hold(REF);
  await held.signal('SIGTERM');
  second.exit(null);
  await steady.renew(second.host);
  expect(await held.verify()).toMatchObject({ verdict: 'gone' });
  await held.signal('SIGKILL');
  held.release();
  await vi.advanceTimersByTimeAsync(0);
  expect([first.signals, second.signals]).toEqual([['SIGTERM'], ['SIGKILL']]);
  expect([first.held, first.released, second.held, second.released]).toEqual([1, 1, 1, 1]);
});

test('a host that is closed for good ends what waits', async () => {
  const first = new FakeConnection();
  const steady = new ReconnectingHost(first.host);
  const held = await steady.hold(REF);
  const waiting = held.exited(20_000);
  await vi.advanceTimersByTimeAsync(10);
  await steady.close();
  expect(await waiting).toBe(false);
});

test('the exit of what was started is told over a later connection, once', async () => {
  const [first, second] = [new FakeConnection(), new FakeConnection()];
  const steady = new ReconnectingHost(first.host);
  const { exit } = await steady.spawn(REQUEST);
  await steady.renew(second.host);
  expect(second.watching).toBe(1);
  second.exit(null);
  expect(await exit).toEqual({ code: null, signal: null });
});

test('the exit of what is started while the connection changes is told', async () => {
  const [first, second] = [new FakeConnection(), new FakeConnection()];
  const steady = new ReconnectingHost(first.host);
  const starting = steady.spawn(REQUEST);
  await steady.renew(second.host);
  const { exit } = await starting;
  second.exit(null);
  expect(await exit).toEqual({ code: null, signal: null });
});

test('without a loss the exit says how it ended, and nothing more is watched', async () => {
  const [first, second] = [new FakeConnection(), new FakeConnection()];
  const steady = new ReconnectingHost(first.host);
  const { exit } = await steady.spawn(REQUEST);
  first.exit({ code: 3, signal: null });
  expect(await exit).toEqual({ code: 3, signal: null });
  await steady.renew(second.host);
  expect(second.watching).toBe(0);
});
