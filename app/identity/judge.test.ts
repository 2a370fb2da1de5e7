import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  type Evidence,
  identityKey,
  isSameProcess,
  type Observation,
  type Observer,
  type ProcessRef,
} from './identity.ts';
import { judge } from './judge.ts';

const observer: Observer = { hostId: 'host', bootId: 'boot', pidNamespace: '4026531836' };
const evidence: Evidence = { executable: { path: '/bin/server', device: '1', inode: '2' }, argvHash: 'aa' };
const name = { pid: 4711, name: 'postgres', startedAt: 0 };

function recorded(change: Partial<ProcessRef['identity']> = {}, seen: Evidence = evidence): ProcessRef {
  return { identity: { ...observer, pid: 4711, startTime: 'linux:100', pidfdId: '7', ...change }, evidence: seen };
}

function found(
  change: Partial<ProcessRef['identity']> = {},
  rest: Partial<Extract<Observation, { found: 'process' }>> = {},
): Observation {
  return { found: 'process', ...recorded(change), name, finished: false, ...rest };
}

/** The recorded form without a pidfd inode, as on a kernel before 6.9. */
function old(change: Partial<ProcessRef['identity']> = {}, seen: Evidence = evidence): ProcessRef {
  const { pidfdId: _, ...identity } = recorded(change).identity;
  return { identity, evidence: seen };
}

function foundOld(rest: Partial<Extract<Observation, { found: 'process' }>> = {}): Observation {
  return { found: 'process', ...old(), name, finished: false, ...rest };
}

const otherProgram: Evidence = { ...evidence, executable: { path: '/bin/server', device: '1', inode: '3' } };
const otherDevice: Evidence = { ...evidence, executable: { path: '/bin/server', device: '9', inode: '2' } };
const otherArguments: Evidence = { ...evidence, argvHash: 'bb' };
const unreadable: Evidence = { executable: null, argvHash: null };

describe('judge', () => {
  test.each<[string, ProcessRef, Observation, string]>([
    ['another host is foreign, whatever stands there', recorded({ hostId: 'other' }), found(), 'foreign'],
    ['another host is foreign before another boot is gone', recorded({ hostId: 'o', bootId: 'o' }), found(), 'foreign'],
    ['another boot of this host is gone', recorded({ bootId: 'before' }), found(), 'gone'],
    ['another boot is gone also in another namespace', recorded({ bootId: 'b', pidNamespace: '1' }), found(), 'gone'],
    ['another PID namespace is foreign', recorded({ pidNamespace: '1' }), found(), 'foreign'],
    ['nothing at the number is gone', recorded(), { found: 'absent' }, 'gone'],
    ['no permission is unknown', recorded(), { found: 'denied', why: 'hidden' }, 'unknown'],
    ['a failing look is unknown, never gone', recorded(), { found: 'failed', why: 'broken' }, 'unknown'],
    ['a thread is a thread', recorded(), { found: 'thread', of: name }, 'thread'],
    [
      'the nonce of its record confirms a changed title where no pidfd inode is known',
      old({}, { ...evidence, nonce: 'n1' }),
      foundOld({ evidence: { ...otherArguments, nonce: 'n1' } }),
      'same',
    ],
    [
      'another nonce confirms nothing',
      old({}, { ...evidence, nonce: 'n1' }),
      foundOld({ evidence: { ...otherArguments, nonce: 'n2' } }),
      'unknown',
    ],
    ['a nonce that was not read confirms nothing', old({}, { ...unreadable, nonce: 'n1' }), foundOld(), 'unknown'],
    [
      'a nonce confirms no process of another start',
      old({ startTime: 'linux:99' }, { ...evidence, nonce: 'n1' }),
      foundOld({ evidence: { ...evidence, nonce: 'n1' } }),
      'reused',
    ],
    ['the same pidfd inode is the same', recorded(), found(), 'same'],
    ['the same pidfd inode with a new title is the same', recorded(), found({}, { evidence: otherArguments }), 'same'],
    [
      'the same pidfd inode with an upgraded program is the same',
      recorded(),
      found({}, { evidence: otherProgram }),
      'same',
    ],
    ['another start time is reused', recorded(), found({ startTime: 'linux:101', pidfdId: '8' }), 'reused'],
    ['without pidfd: another start time is reused', old(), found({ startTime: 'linux:101' }), 'reused'],
    ['a start time of another source is reused', old(), found({ startTime: 'win:100' }), 'reused'],
    ['another start time under the same handle is unknown', recorded(), found({ startTime: 'linux:9' }), 'unknown'],
    ['one tick, another pidfd inode is reused', recorded(), found({ pidfdId: '8' }), 'reused'],
    [
      'one tick, another pidfd inode, finished, is reused',
      recorded(),
      found({ pidfdId: '8' }, { finished: true }),
      'reused',
    ],
    ['finished is a zombie', recorded(), found({}, { finished: true }), 'zombie'],
    ['another number read by mistake is unknown', recorded(), found({ pid: 4712 }), 'unknown'],
    ['without pidfd: equal evidence is the same', old(), foundOld(), 'same'],
    ['without pidfd: another program is unknown, not reused', old(), foundOld({ evidence: otherProgram }), 'unknown'],
    ['without pidfd: another device is unknown', old(), foundOld({ evidence: otherDevice }), 'unknown'],
    ['without pidfd: other arguments are unknown', old(), foundOld({ evidence: otherArguments }), 'unknown'],
    ['without pidfd: unreadable evidence is unknown', old(), foundOld({ evidence: unreadable }), 'unknown'],
    ['without pidfd: no recorded evidence is unknown', old({}, unreadable), foundOld(), 'unknown'],
    ['without pidfd: finished needs no evidence', old(), foundOld({ evidence: unreadable, finished: true }), 'zombie'],
    ['recorded without pidfd, seen with one: evidence decides', old(), found(), 'same'],
    [
      'recorded with pidfd, seen without: evidence decides',
      recorded(),
      foundOld({ evidence: otherProgram }),
      'unknown',
    ],
  ])('%s', (_, ref, seen, verdict) => {
    expect(judge(ref, observer, seen).verdict).toBe(verdict);
  });

  test('reused names the process that has the number now', () => {
    expect(judge(recorded(), observer, found({ startTime: 'linux:9', pidfdId: '8' }))).toEqual({
      verdict: 'reused',
      by: name,
    });
  });

  test('C2 no clock takes part: a step of any size changes no verdict', () => {
    // Only `startedAt`, which is for people, comes from a clock; whatever it says must not matter.
    fc.assert(
      fc.property(fc.option(fc.integer()), fc.option(fc.integer()), fc.boolean(), (first, second, finished) => {
        const at = (startedAt: number | null): Observation => found({}, { name: { ...name, startedAt }, finished });
        expect(judge(recorded(), observer, at(first)).verdict).toBe(judge(recorded(), observer, at(second)).verdict);
      }),
    );
    expect(judge.toString()).not.toMatch(/Date|performance|hrtime/u);
  });

  test('only an identity equal in every part can be the same', () => {
    const part = fc.constantFrom('a', 'b');
    const identity = fc.record({
      hostId: part,
      bootId: part,
      pidNamespace: part,
      pid: fc.constantFrom(10, 11),
      startTime: fc.constantFrom<'linux:1' | 'linux:2'>('linux:1', 'linux:2'),
      pidfdId: part,
    });
    fc.assert(
      fc.property(identity, identity, (one, other) => {
        const seen: Observation = { found: 'process', identity: other, evidence, name, finished: false };
        const { verdict } = judge({ identity: one, evidence }, other, seen);
        expect(verdict === 'same').toBe(identityKey(one) === identityKey(other));
      }),
    );
  });
});

test('identityKey tells identities apart that differ in any part', () => {
  const base = recorded().identity;
  const others = [
    recorded({ hostId: 'x' }),
    recorded({ bootId: 'x' }),
    recorded({ pidNamespace: 'x' }),
    recorded({ pid: 1 }),
    recorded({ startTime: 'linux:1' }),
    recorded({ pidfdId: 'x' }),
    old(),
  ];
  expect(new Set([base, ...others.map(({ identity }) => identity)].map(identityKey)).size).toBe(8);
});

test.each<[string, ProcessRef['identity'], ProcessRef['identity'], boolean]>([
  ['the same', recorded().identity, recorded().identity, true],
  ['one of them without a pidfd inode', recorded().identity, old().identity, true],
  ['both without', old().identity, old().identity, true],
  ['another pidfd inode', recorded().identity, recorded({ pidfdId: '8' }).identity, false],
  ['another start', old().identity, old({ startTime: 'linux:101' }).identity, false],
  ['another number', old().identity, old({ pid: 4712 }).identity, false],
  ['another boot', old().identity, old({ bootId: 'other' }).identity, false],
  ['another host', old().identity, old({ hostId: 'other' }).identity, false],
  ['another namespace', old().identity, old({ pidNamespace: '1' }).identity, false],
])('isSameProcess: %s', (_, a, b, same) => {
  expect([isSameProcess(a, b), isSameProcess(b, a)]).toEqual([same, same]);
});
