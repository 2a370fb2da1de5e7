/** Facts about one server for its standing, each from what was looked at and what is remembered. */
import type { Host, Look, ProcessInfo } from '../../hosts/host.ts';
import { isFinished } from '../../hosts/process-info.ts';
import { identityKey } from '../../identity/identity.ts';
import { type LiveRecord, nonceOf } from '../../records/judge.ts';
import { loopbackOf } from '../../servers/client/http.ts';
import type { Busyness, Endpoint, Health, Kind } from '../../servers/kind.ts';
import type { Spans } from '../spans.ts';
import { judgeBusyness } from '../standing/busyness.ts';
import { isDetached } from '../standing/detached.ts';
import type { OwnerSearch } from '../standing/owner.ts';
import type { OwnerFact, StandingFacts } from '../standing/standing.ts';
import type { Probes } from './probes.ts';
import { type Remembered, withOwner, withoutOwner } from './server-history.ts';

/**
 * Where to ask a server: a literal loopback address, never a name. Null when it listens only elsewhere, or there is no
 * way to it from here (yet).
 */
export function endpointOf(
  look: Look,
  own: readonly ProcessInfo[],
  reach: Host['at'],
  credentials: Endpoint['credentials'],
): Endpoint | null {
  for (const { pid, address, port } of look.listening) {
    const info = own.find((candidate) => candidate.pid === pid);
    const loopback = loopbackOf(address);
    if (info !== undefined && loopback !== null) {
      const { identity } = info;
      const at = reach({ identity, address: loopback, port });
      if (at !== null) return { identity, address: loopback, port, at, credentials };
    }
  }
  return null;
}

/** Ours by record; by the nonce alone, a start of Rollcall's whose supervisor has other folders and may live. */
export function ownerFact(
  search: OwnerSearch,
  leader: ProcessInfo,
  kind: string,
  record: LiveRecord | null,
): OwnerFact {
  if (record !== null) return { state: 'alive', label: 'Rollcall', pid: leader.ppid, fact: 'Rollcall supervises it' };
  if (search.fact.state !== 'gone') return search.fact;
  if (leader.marks === null) {
    return { state: 'unknown', why: 'its environment could not be read, and may say that another Rollcall started it' };
  }
  if (nonceOf(leader, kind) === null) return search.fact;
  return {
    state: 'unknown',
    why: 'a Rollcall started it, but no record here names it: its state folder may be another one',
  };
}

/** Whether somebody meant it to stay when its terminal closes. */
export function detachedFact(leader: ProcessInfo): StandingFacts['detached'] {
  if (leader.ignoresHangup === true) return { state: 'yes', fact: 'it ignores the hangup signal, as nohup makes it' };
  if (isDetached(leader, null)) return { state: 'yes', fact: 'it was started through nohup' };
  if (leader.ignoresHangup === null) return { state: 'unknown', fact: 'its ignored signals could not be read' };
  if (leader.marks === null) return { state: 'unknown', fact: 'its environment could not be read, and may name nohup' };
  return { state: 'no', fact: 'hangup is not ignored' };
}

/** What is remembered of a server with who owns it now, or that nobody does any more. @param today epoch milliseconds */
export function rememberOwner(before: Remembered, search: OwnerSearch, now: number, today: number): Remembered {
  if (search.fact.state === 'alive' && search.process !== null) {
    const { label, pid } = search.fact;
    return withOwner(before, { label, pid, key: identityKey(search.process.identity) }, now);
  }
  return search.fact.state === 'gone' ? withoutOwner(before, today) : before;
}

export interface BusyInput {
  readonly look: Look;
  readonly kind: Kind | null;
  readonly leader: ProcessInfo;
  /** The server's own processes. */
  readonly roots: readonly ProcessInfo[];
  readonly below: readonly ProcessInfo[];
  readonly health: Health | null;
  readonly probes: Probes;
  /** Since when its CPU has been low without a break, in monotonic milliseconds; null when it is not. */
  readonly lowCpuSince: number | null;
  readonly spans: Spans;
  /** Milliseconds on the monotonic clock. */
  readonly now: number;
}

export function busyFact(input: BusyInput): Busyness {
  const { leader, health, kind } = input;
  const locked = health?.state === 'locked';
  const stream = input.probes.stream(leader.identity);
  const hasStream = health !== null && (kind?.watch ?? null) !== null;
  return judgeBusyness({
    main: leader,
    children: input.below.filter((child) => !isFinished(child)),
    outgoing: input.look.outgoing.filter(({ pid }) => input.roots.some((root) => root.pid === pid)),
    stream,
    streamMissing:
      hasStream && !locked && stream === null
        ? health.state === 'ok'
          ? 'its event stream is not followed yet'
          : 'it does not answer, so its sessions cannot be seen'
        : null,
    streamWhy: locked ? 'it is locked behind a password' : null,
    lowCpuSince: input.lowCpuSince,
    spans: input.spans,
    now: input.now,
  });
}
