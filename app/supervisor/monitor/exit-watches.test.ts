import { expect, test } from 'vitest';
import type { ExitStatus } from '../../hosts/host.ts';
import type { ProcessRef, Verdict } from '../../identity/identity.ts';
import { someRef } from '../../records/fixtures.testing.ts';
import { ExitWatches } from './exit-watches.ts';

/** A host whose processes exit when they are told to. */
function host() {
  const watched = new Map<number, (status: ExitStatus | null) => void>();
  const gone = new Set<number>();
  return {
    watched,
    gone,
    verify: async ({ identity }: ProcessRef): Promise<Verdict> =>
      gone.has(identity.pid) ? { verdict: 'gone', why: 'no process has its PID' } : { verdict: 'same' },
    watchExit: ({ identity }: ProcessRef, onExit: (status: ExitStatus | null) => void) => {
      watched.set(identity.pid, onExit);
      return () => void watched.delete(identity.pid);
    },
  };
}

const turn = (): Promise<void> => new Promise((done) => setImmediate(done));

test('an exit that comes after the look that misses the process is told', async () => {
  const machine = host();
  const told: number[] = [];
  const watches = new ExitWatches(machine, ({ identity }) => told.push(identity.pid));
  watches.set([someRef(1), someRef(2)]);
  machine.gone.add(1);
  watches.set([someRef(2)]);
  await turn();
  machine.watched.get(1)?.({ code: 0, signal: null });
  expect(told).toEqual([1]);
  expect([...machine.watched.keys()]).toContain(2);
});

test('one that lives and is wanted no longer is watched no longer, unless it is wanted again by then', async () => {
  const machine = host();
  const watches = new ExitWatches(machine, () => undefined);
  watches.set([someRef(1), someRef(2)]);
  watches.set([]);
  watches.set([someRef(2)]);
  await turn();
  expect([...machine.watched.keys()]).toEqual([2]);
  watches.close();
  expect(machine.watched.size).toBe(0);
});
