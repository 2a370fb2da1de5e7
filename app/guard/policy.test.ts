import { describe, expect, test } from 'vitest';
import { someRecord, someRef } from '../records/fixtures.testing.ts';
import type { Supervised } from '../supervisor/core.ts';
import { decide, type PolicyInput, RETRY_MS, UNKNOWN_MS } from './policy.ts';

const NONCE = someRecord().nonce;

function supervised(over: Partial<Supervised> = {}, record: Partial<Supervised['record']> = {}): Supervised {
  return { record: someRecord(record), path: '/records/x.json', busy: 'idle', label: 'opencode', id: 'aaaa', ...over };
}

function input(over: Partial<PolicyInput> = {}): PolicyInput {
  return {
    servers: [supervised()],
    mission: 'end-servers',
    inherited: new Set([NONCE]),
    stopLocalServers: true,
    graceOver: true,
    tried: new Map(),
    unknownSince: new Map(),
    now: 1_000_000,
    ...over,
  };
}

describe('a server that the app had', () => {
  test('is ended when the grace is over and it is idle', () => {
    expect(decide(input())).toMatchObject({ end: [{ force: false }], needed: true });
    expect(decide(input({ graceOver: false }))).toEqual({ end: [], needed: true });
    expect(decide(input({ servers: [supervised({ busy: 'busy' })] }))).toEqual({ end: [], needed: true });
  });

  test.each([
    ['kept running', { servers: [supervised({}, { keepRunning: true })] }],
    ['left by the settings', { stopLocalServers: false }],
    ['not the app’s', { inherited: new Set<string>() }],
    ['only watched for its owner’s sake', { mission: 'watch-owners' as const }],
  ])('that is %s needs nobody', (_, change) => {
    expect(decide(input(change))).toEqual({ end: [], needed: false });
  });

  test('of which nobody can tell whether it is busy is waited for, not for ever', () => {
    const servers = [supervised({ busy: 'unknown' })];
    const since = (ms: number) => new Map([[NONCE, 1_000_000 - ms]]);
    expect(decide(input({ servers, unknownSince: since(UNKNOWN_MS - 1) })).end).toEqual([]);
    expect(decide(input({ servers, unknownSince: since(UNKNOWN_MS) })).end).toMatchObject([{ force: true }]);
    expect(decide(input({ servers })).end).toEqual([]);
  });

  test('that did not end is tried again, with a pause', () => {
    const tried = (ms: number) => new Map([[NONCE, 1_000_000 - ms]]);
    expect(decide(input({ tried: tried(RETRY_MS - 1) }))).toEqual({ end: [], needed: true });
    expect(decide(input({ tried: tried(RETRY_MS) })).end).toHaveLength(1);
  });
});

test.each(['end-servers', 'watch-owners'] as const)(
  'one that is bound to a process is left to its owner and needs the guard (%s)',
  (mission) => {
    const bound = supervised({}, { owner: { label: 'bash', ref: someRef(900) } });
    expect(decide(input({ servers: [bound], mission }))).toEqual({ end: [], needed: true });
  },
);
