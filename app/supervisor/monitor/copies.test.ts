import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { fakeServer } from '../../control/fake-core.testing.ts';
import type { ProcessInfo } from '../../hosts/host.ts';
import { STANDINGS, type Standing } from '../../roll/schema.ts';
import type { JudgedServer } from '../judged-server.ts';
import { leakedTargets, planOf, serverTarget } from '../terminate/targets.ts';
import { collapseCopies } from './copies.ts';
import { NOTHING_YET } from './server-history.ts';

function info(pid: number): ProcessInfo {
  const { identity } = fakeServer(pid, 'leaked');
  return {
    identity,
    pid,
    ppid: 1,
    pgrp: pid,
    session: pid,
    tty: 0,
    tpgid: -1,
    state: 'S',
    threads: 1,
    startTime: `linux:${pid}`,
    startedAt: pid,
    ageMs: 1,
    comm: 'claude',
    argv: ['claude'],
    argvHash: null,
    executable: null,
    cwd: '/',
    uid: 1000,
    rssBytes: 1,
    pssBytes: null,
    cpuPercent: null,
    ignoresHangup: false,
    cgroup: null,
    ownPidNamespace: null,
    marks: {},
  };
}

/** A copy of a session; its PID is also its start in ticks. */
function copy(pid: number, standing: Standing, session: string | null = 'ses-1', change = {}): JudgedServer {
  const row = fakeServer(pid, standing, { kind: 'claude', transport: 'stdio', listening: [], ...change });
  const leader = info(pid);
  return {
    row,
    key: String(pid),
    history: NOTHING_YET,
    roots: [leader],
    leader,
    owner: null,
    kind: null,
    endpoint: null,
    record: null,
    session,
    surplus: [],
  };
}

const rows = (servers: readonly JudgedServer[]) =>
  collapseCopies(servers).map(({ row }) => `${row.kind} ×${row.duplicates} ${row.standing} keeps ${row.keeps?.pid}`);

describe('B3 copies of one session', () => {
  test('are one row with their number, all their processes and their memory together', () => {
    const copies = [11, 12, 13].map((pid) => copy(pid, 'owned'));
    const [only, ...others] = collapseCopies([copy(5, 'leaked', null), ...copies, copy(20, 'owned', 'ses-2')]).slice(1);
    expect(others.map(({ row }) => row.pid)).toEqual([20]);
    expect(only?.row).toMatchObject({
      pid: 13,
      pids: [11, 12, 13],
      duplicates: 3,
      keeps: { pid: 13, memoryBytes: 131_000_000 },
      memoryBytes: 393_000_000,
      standing: 'owned',
    });
    expect(only?.row.processes.map(({ pid }) => pid)).toEqual([11, 12, 13]);
    expect(only?.row.reasons.at(-1)).toBe(
      '3 processes carry the session ses-1; PID 13 is kept when the rest are reaped',
    );
  });

  test('other sessions, other users and servers without a session stay apart', () => {
    const other = copy(12, 'leaked');
    const ofRoot = { ...other, leader: { ...other.leader, uid: 0 } };
    expect(rows([copy(11, 'leaked'), ofRoot, copy(13, 'leaked', 'ses-2'), copy(14, 'leaked', null)])).toHaveLength(4);
  });

  test('under a living owner nothing of them is in "reap all", whatever the others are', () => {
    const all = collapseCopies([copy(11, 'leaked'), copy(12, 'owned'), copy(13, 'leaked')]);
    expect(all.map(({ row }) => [row.standing, row.reap.allowed, row.keeps?.pid])).toEqual([['owned', 'force', 12]]);
    expect(leakedTargets({ servers: all, leftovers: [] })).toEqual([]);
  });

  test('ownerless and idle, all but the newest are planned, and the plan says so', () => {
    const all = collapseCopies([13, 11, 12].map((pid) => copy(pid, 'leaked')));
    const targets = leakedTargets({ servers: all, leftovers: [] });
    const plan = planOf(targets);
    expect(targets.map(({ label }) => label)).toEqual(['claude ×2 on local']);
    expect(plan.rows[0]?.steps.map(({ pid }) => pid)).toEqual([11, 12]);
    expect(plan.rows[0]?.consequences).toContain('PID 13, the newest copy of the session, stays');
    expect(plan).toMatchObject({ freesBytes: 262_000_000, processes: 2 });
  });

  test('one that is busy or not decided yet holds the row back', () => {
    const busy = copy(11, 'suspect', 'ses-1', { busy: 'busy', busySign: 'a tool runs' });
    const [row] = collapseCopies([busy, copy(12, 'leaked'), copy(13, 'leaked')]);
    expect(row?.row).toMatchObject({ standing: 'suspect', busy: 'busy', reap: { allowed: 'force' } });
  });

  test('PIDs that have come round are no sign of age: the start decides', () => {
    const young = copy(7, 'leaked');
    const [row] = collapseCopies([
      { ...young, leader: { ...young.leader, startTime: 'linux:999' } },
      copy(900, 'leaked'),
    ]);
    expect(row?.row.keeps?.pid).toBe(7);
  });

  test('the newest is never planned, by any plan, and nothing is lost or shown twice', () => {
    const one = fc.record({
      standing: fc.constantFrom(...STANDINGS.filter((standing) => standing !== 'supervised')),
      session: fc.constantFrom('a', 'b', null),
    });
    fc.assert(
      fc.property(fc.array(one, { maxLength: 12 }), (wanted) => {
        const servers = wanted.map(({ standing, session }, index) => copy(100 + index, standing, session));
        const shown = collapseCopies(servers);
        const pids = shown.flatMap(({ row }) => row.pids).sort((a, b) => a - b);
        expect(pids).toEqual(servers.map(({ row }) => row.pid));
        for (const server of shown) {
          const steps = planOf([serverTarget(server)]).rows[0]?.steps.map(({ pid }) => pid) ?? [];
          expect(steps).not.toContain(server.row.keeps?.pid ?? null);
          expect(steps.length).toBe(server.row.duplicates > 1 ? server.row.duplicates - 1 : 1);
        }
      }),
    );
  });
});
