/** Another host that does not answer: nobody waits for it longer than a person would. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { fakeServer } from '../../control/fake-core.testing.ts';
import type { CommandResult, Plan } from '../../roll/commands.ts';
import { done } from '../failure.ts';
import type { SettingsSource } from '../settings.ts';
import { HostManager } from './host-manager.ts';
import type { HostSupervisor } from './host-supervisor.ts';
import { NO_REMOTE_HOSTS } from './remote-hosts.ts';

const PLAN: Plan = { rows: [], freesBytes: 1000, processes: 1, busy: 0 };

interface Answers {
  readonly plan: () => Promise<Plan>;
  readonly run: () => Promise<CommandResult>;
}

const QUICK: Answers = { plan: async () => PLAN, run: async () => done('Looked.') };
const SILENT: Answers = { plan: () => new Promise(() => undefined), run: () => new Promise(() => undefined) };
const BROKEN: Answers = { plan: () => Promise.reject(new Error('lost')), run: () => Promise.reject(new Error('lost')) };

function later(ms: number): Answers {
  const after = <T>(value: T): Promise<T> => new Promise((resolve) => setTimeout(() => resolve(value), ms));
  return { plan: () => after(PLAN), run: () => after(done('Looked.')) };
}

/** A host with something leaked, as far as the hostManager asks it. */
function host(name: string, answers: Answers): HostSupervisor {
  const part = {
    host: { id: name, name, state: 'connected', ssh: null },
    servers: [fakeServer(name.length, 'leaked', { host: name })],
    leftovers: [],
    ended: [],
    records: [],
    tasks: [],
    faults: [],
    sessions: [],
    takenAt: null,
  };
  return { part, startable: [], ...answers } as unknown as HostSupervisor;
}

function hostManager(...others: readonly HostSupervisor[]): HostManager {
  return new HostManager({
    local: () => host('local', QUICK),
    remote: () => ({ ...NO_REMOTE_HOSTS, supervisors: () => others, parts: () => others.map(({ part }) => part) }),
    settings: {
      config: { reap: {}, leak: {}, quit: {}, hooks: { sessionEnd: [] } },
      problem: null,
    } as unknown as SettingsSource,
    audit: { recent: [], problem: null } as never,
    paths: {} as never,
    lock: null,
    guard: null,
    keeping: null,
    sessionAlerts: () => [],
    hooksMs: 0,
  });
}

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

test('D2 a plan of what is leaked leaves a host out that does not answer within 5 s, and waits for one that does', async () => {
  let plan: Plan | null = null;
  void hostManager(host('far', SILENT), host('slow', later(4000)), host('broken', BROKEN))
    .plan('leaked')
    .then((made) => {
      plan = made;
    });
  await vi.advanceTimersByTimeAsync(4999);
  expect(plan).toBeNull();
  await vi.advanceTimersByTimeAsync(1);
  expect(plan).toEqual({ ...PLAN, freesBytes: 2000, processes: 2 });
});

test('D2 a look at every host is over without one that does not answer', async () => {
  let result: CommandResult | null = null;
  void hostManager(host('far', SILENT), host('broken', BROKEN))
    .run({ command: 'look' }, 'window')
    .then((made) => {
      result = made;
    });
  await vi.advanceTimersByTimeAsync(4999);
  expect(result).toBeNull();
  await vi.advanceTimersByTimeAsync(1);
  expect(result).toMatchObject({ ok: true, message: 'Looked at every host.' });
});

test('hosts that answer keep no timer', async () => {
  await hostManager(host('near', QUICK)).plan('leaked');
  expect(vi.getTimerCount()).toBe(0);
});
