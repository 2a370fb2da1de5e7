import { describe, expect, test } from 'vitest';
import { fakeLeftover, fakeServer } from '../../control/fake-core.testing.ts';
import { SshFailed } from '../../hosts/ssh-failed.ts';
import type { HostEntry } from '../../roll/schema.ts';
import type { HostSnapshot } from '../snapshot.ts';
import { type HostFacts, hostPartOf } from './host-words.ts';

const LOST = new SshFailed('box', 'link', 'lost', 'box was lost.', 'Wait.');
const QUESTION = { id: 'q', alias: 'box', type: 'password', text: 'Password:', attempt: 1 } as const;
const seen: HostEntry = {
  id: 'box',
  name: 'box',
  state: 'connected',
  hostname: 'box.example.org',
  detail: null,
  lookedAt: '2026-01-02T03:04:05.000Z',
  counted: 80,
  partial: null,
  signalling: { method: 'verify-then-kill', note: '' },
  cpuPercent: 1,
  memoryTotalBytes: 1,
  memoryUsedBytes: 1,
  load1: 0,
  ssh: null,
};
const part: HostSnapshot = {
  host: seen,
  servers: [
    fakeServer(4711, 'supervised', { host: 'box', stop: { allowed: 'yes' }, restart: { allowed: 'yes' } }),
    fakeServer(4712, 'leaked', { host: 'box' }),
  ],
  leftovers: [fakeLeftover(4713, { host: 'box' })],
  sessions: [],
  ended: [],
  records: [],
  tasks: [],
  faults: [],
  takenAt: 1,
};
const facts: HostFacts = {
  name: 'box',
  alias: 'box',
  saved: true,
  connect: 'when-asked',
  sharedWith: null,
  target: 'me@box',
  steps: [],
  link: { status: 'connected' },
  contacting: false,
  failure: null,
  part,
};

describe('rows of a host that there is no way to now', () => {
  test.each<[string, Partial<HostFacts>]>([
    ['disconnected', { link: { status: 'disconnected' } }],
    ['reconnecting', { link: { status: 'reconnecting', attempt: 1, retryAt: { monotonic: 0, wall: 0 }, why: LOST } }],
    ['connecting', { link: { status: 'connecting', step: 'name', text: 'Connecting', attempt: 1 } }],
    ['authenticating', { link: { status: 'authenticating', question: QUESTION, attempt: 1 } }],
    ['connecting', { contacting: true }],
    ['failed', { link: { status: 'failed', error: LOST } }],
    ['failed', { failure: LOST }],
  ])('%s: nothing may be done to them, and no address of theirs is offered', (state, over) => {
    const { host, servers, leftovers } = hostPartOf({ ...facts, ...over });
    expect(host.state).toBe(state);
    const why = 'There is no connection to box, and without one Rollcall cannot prove which process is which.';
    const no = { allowed: 'no', why };
    expect(servers.map(({ pid }) => pid)).toEqual([4711, 4712]);
    for (const row of servers) expect(row).toMatchObject({ url: null, reap: no, stop: no, restart: no });
    expect(leftovers).toMatchObject([{ pid: 4713, reap: no }]);
  });

  test('connected, they are as its supervisor has them', () => {
    const { servers, leftovers } = hostPartOf(facts);
    expect(servers).toBe(part.servers);
    expect(leftovers).toBe(part.leftovers);
  });
});
