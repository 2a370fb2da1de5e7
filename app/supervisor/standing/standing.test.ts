import { describe, expect, test } from 'vitest';
import { judgeStanding, type StandingFacts } from './standing.ts';

const NOW = Date.parse('2026-03-02T12:00:00Z');

/** A server that is leaked in every respect; each test changes what it is about. */
const LEAKED: StandingFacts = {
  supervised: false,
  service: { state: 'no', fact: 'no unit, no container, not registered as a daemon' },
  owner: {
    state: 'gone',
    label: 'node launcher.js',
    pid: 4711,
    endedAt: NOW - 900_000,
    fact: 'its owner node launcher.js, PID 4711, exited at 11:45:00',
  },
  detached: { state: 'no', fact: 'hangup is not ignored' },
  client: { state: 'none', fact: 'no client connected to :4096' },
  busy: { busy: false, sign: 'no tool child, event stream silent for 5 s' },
  aloneSince: NOW - 900_000,
  now: NOW,
  graceMs: 120_000,
  pid: 4096,
  unproved: null,
};

describe('the first rule that matches', () => {
  const everything: StandingFacts = {
    ...LEAKED,
    supervised: true,
    service: { state: 'yes', fact: 'it belongs to the unit opencode.service' },
    owner: { state: 'alive', label: 'VS Code', pid: 8812, fact: 'its owner VS Code, PID 8812, is alive' },
    detached: { state: 'yes', fact: 'it was started through nohup' },
    client: { state: 'some', count: 2, fact: 'node, PID 50112 is connected to :4096 (2 connections)' },
  };

  test.each([
    ['supervised', everything],
    ['service', { ...everything, supervised: false }],
    ['owned', { ...everything, supervised: false, service: LEAKED.service }],
    ['detached', { ...everything, supervised: false, service: LEAKED.service, owner: LEAKED.owner }],
    ['suspect', { ...LEAKED, client: everything.client }],
    ['leaked', LEAKED],
  ] as const)('%s', (standing, facts) => {
    expect(judgeStanding(facts).standing).toBe(standing);
  });
});

describe('suspect instead of leaked', () => {
  test.each<[string, Partial<StandingFacts>, RegExp]>([
    ['a client', { client: { state: 'some', count: 1, fact: 'curl, PID 7 is connected' } }, /curl/u],
    [
      'clients that could not be read',
      { client: { state: 'unknown', why: 'its connections could not be read' } },
      /could not be read/u,
    ],
    ['a busy sign', { busy: { busy: true, sign: 'a tool runs: sleep, PID 9' } }, /a tool runs/u],
    ['busyness that could not be told', { busy: { busy: 'unknown', why: 'it does not answer' } }, /does not answer/u],
    ['the grace', { aloneSince: NOW - 60_000 }, /alone for 1 min; the grace is 2 min/u],
    ['an owner that could not be told', { owner: { state: 'unknown', why: 'its parent is outside' } }, /outside/u],
    ['an identity that is not proved', { unproved: 'its user could not be read' }, /user could not be read/u],
    [
      'a cgroup that could not be read',
      { service: { state: 'unknown', fact: 'its cgroup could not be read' } },
      /cgroup/u,
    ],
    [
      'signals that could not be read',
      { detached: { state: 'unknown', fact: 'its ignored signals could not be read' } },
      /ignored signals/u,
    ],
  ])('%s', (_, change, reason) => {
    const judged = judgeStanding({ ...LEAKED, ...change });
    expect(judged.standing).toBe('suspect');
    expect(judged.reasons.join('; ')).toMatch(reason);
  });
});

test('a check that could not run never counts as one that holds', () => {
  const judged = judgeStanding({ ...LEAKED, client: { state: 'unknown', why: 'no sockets' } });
  expect(judged.checks.find(({ check }) => check === 'client')?.result).toBe('could-not-run');
});

test('a kind without connections has no client check, and can be leaked without one', () => {
  const judged = judgeStanding({ ...LEAKED, client: { state: 'not-applicable' } });
  expect(judged.standing).toBe('leaked');
  expect(judged.checks.map(({ check }) => check)).not.toContain('client');
});

test('the grace counts to the millisecond', () => {
  expect(judgeStanding({ ...LEAKED, aloneSince: NOW - 119_999 }).standing).toBe('suspect');
  expect(judgeStanding({ ...LEAKED, aloneSince: NOW - 120_000 }).standing).toBe('leaked');
});

test('a leaked server names its owner, its missing clients and its silence', () => {
  const { reasons } = judgeStanding(LEAKED);
  expect(reasons[0]).toMatch(/node launcher\.js, PID 4711/u);
  expect(reasons).toContain('no client connected to :4096');
  expect(reasons).toContain('no tool child, event stream silent for 5 s');
});
