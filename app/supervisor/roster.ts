/** From a look to rows: groups, owners, clients, busyness and standings of every server on one host. */
import type { Look, ProcessInfo } from '../hosts/host.ts';
import { identityKey } from '../identity/identity.ts';
import { type LiveRecord, nonceOf } from '../records/judge.ts';
import type { Server } from '../roll/schema.ts';
import { groupServers, type ServerGroup } from '../servers/group.ts';
import type { Busyness, Endpoint, Health, Kind } from '../servers/kind.ts';
import { redactArgv } from '../servers/redact.ts';
import { judgeBusyness } from './busyness.ts';
import { clientFact, clientsOf } from './clients.ts';
import { idOf } from './ids.ts';
import { memoryOf } from './members.ts';
import type { Memory } from './memory.ts';
import { findOwner, type OwnerSearch } from './owner.ts';
import { programName } from './owner-label.ts';
import { type PermissionFacts, reapPermission, stopPermission } from './permissions.ts';
import type { Probes } from './probes.ts';
import { processRows } from './process-rows.ts';
import { serviceFact } from './service.ts';
import { judgeStanding, type OwnerFact, type StandingFacts } from './standing.ts';
import { childrenOf, type TreeNode, treeBelow } from './tree.ts';

export interface RosterInput {
  readonly host: string;
  readonly look: Look;
  readonly live: readonly LiveRecord[];
  readonly memory: Memory;
  readonly probes: Probes;
  readonly kindOf: (name: string) => Kind | null;
  /** Our own uid; null where there are none. */
  readonly uid: number | null;
  readonly graceMs: number;
  /** Milliseconds since the epoch; later than the look when only readings have changed since. */
  readonly now: number;
}

/** A server with what acting on it needs; the row is what people see. */
export interface JudgedServer {
  readonly row: Server;
  readonly key: string;
  /** Wrappers first, the leader last. */
  readonly roots: readonly ProcessInfo[];
  readonly leader: ProcessInfo;
  readonly owner: ProcessInfo | null;
  readonly kind: Kind | null;
  readonly endpoint: Endpoint | null;
  readonly record: LiveRecord | null;
}

const LOOPBACK = new Set(['127.0.0.1', '::1']);
const WILDCARD: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '::1' };

/** Where to ask a server: a literal loopback address, never a name. Null when it listens only elsewhere. */
function endpointOf(look: Look, own: readonly ProcessInfo[]): Endpoint | null {
  for (const { pid, address, port } of look.listening) {
    const info = own.find((candidate) => candidate.pid === pid);
    if (info === undefined) continue;
    const loopback = WILDCARD[address] ?? (LOOPBACK.has(address) || address.startsWith('127.') ? address : null);
    if (loopback !== null) return { identity: info.identity, address: loopback, port, credentials: null };
  }
  return null;
}

/** PIDs whose process is the leader of a listed server: where other trees end. */
export function nestedLeaders(groups: readonly ServerGroup[]): ReadonlySet<number> {
  return new Set(groups.flatMap(({ pids }) => pids));
}

/** Servers that a record of ours verifies although nothing recognises them any more (a custom kind was removed). */
function recordedGroups(input: RosterInput, groups: readonly ServerGroup[]): ServerGroup[] {
  const known = nestedLeaders(groups);
  return input.live.flatMap(({ ref, record }) => {
    const { pid } = ref.identity;
    const info = input.look.processes.get(pid);
    if (known.has(pid) || info === undefined || identityKey(info.identity) !== identityKey(ref.identity)) return [];
    const recognition = {
      kind: record.kind,
      role: 'server',
      declaredPort: record.port,
      transport: 'tcp',
      registeredService: false,
      subject: null,
      helper: false,
    } as const;
    return [{ leader: pid, pids: [pid], recognition, within: null, helpers: [] }];
  });
}

/** Judges every server of a look. Updates the memory; asks nothing of the network. */
export function buildRoster(input: RosterInput): JudgedServer[] {
  const found = groupServers(input.look);
  const groups = [...found, ...recordedGroups(input, found)];
  const nested = nestedLeaders(groups);
  const children = childrenOf(input.look);
  const portOf = (group: ServerGroup): string => {
    const port =
      input.look.listening.find(({ pid }) => group.pids.includes(pid))?.port ?? group.recognition.declaredPort;
    return port === null || port === undefined ? group.recognition.kind : `${group.recognition.kind} :${port}`;
  };
  const labels = new Map(groups.flatMap((group) => group.pids.map((pid) => [pid, portOf(group)] as const)));
  const servers: JudgedServer[] = [];
  for (const group of groups) {
    const own = new Set(group.pids);
    const tree = treeBelow(input.look, group.pids, (info) => !own.has(info.pid) && nested.has(info.pid), children);
    const leader = input.look.processes.get(group.leader);
    if (leader !== undefined) servers.push(judgeServer(input, group, leader, tree, groups, labels));
  }
  return servers;
}

function judgeServer(
  input: RosterInput,
  group: ServerGroup,
  leader: ProcessInfo,
  tree: readonly TreeNode[],
  groups: readonly ServerGroup[],
  labels: ReadonlyMap<number, string>,
): JudgedServer {
  const { look, memory, now } = input;
  const key = identityKey(leader.identity);
  const roots = group.pids.map((pid) => look.processes.get(pid)).filter((info) => info !== undefined);
  const own = new Set(group.pids);
  const below = tree.map(({ info }) => info).filter(({ pid }) => !own.has(pid));
  const treePids = new Set(tree.map(({ info }) => info.pid));
  const record =
    input.live.find(({ ref }) => roots.some(({ identity }) => identityKey(identity) === identityKey(ref.identity))) ??
    null;
  const kind = input.kindOf(group.recognition.kind);
  const endpoint = endpointOf(look, roots);
  const listening = look.listening.filter(({ pid }) => own.has(pid)).map(({ address, port }) => ({ address, port }));
  const ports = [...new Set(listening.map(({ port }) => port))];

  const search = findOwner(group.pids[0] ?? leader.pid, look, memory.of(key).owner, (pid) => labels.get(pid) ?? null);
  noteOwner(memory, key, search, now);
  const clients = clientsOf(look, ports, treePids);
  const health = endpoint === null ? null : input.probes.health(leader.identity);
  memory.cpu(key, leader.cpuPercent, look.takenAt);
  const busy = busyOf(input, group.recognition.kind, leader, below, roots, health);
  if (clients !== null && clients.length > 0) memory.of(key).lastClientAt = now;
  if (busy.busy === true) memory.of(key).lastBusyAt = now;
  const memoryBytes = tree.reduce((sum, { info }) => sum + memoryOf(info), 0);
  memory.sample(key, memoryBytes, below.length, now);

  const { lastOwnerAt, lastClientAt, lastBusyAt, owner } = memory.of(key);
  const signs = [lastOwnerAt, owner?.endedAt ?? null, lastClientAt, lastBusyAt].filter((at) => at !== null);
  const ownUid = input.uid === null || leader.uid === input.uid;
  const service = serviceFact(leader, look, group.recognition.registeredService);
  const judgement = judgeStanding({
    supervised: record !== null,
    service,
    owner: ownerFact(search, leader, record),
    detached: detachedFact(leader),
    client: clientFact(clients, ports, group.recognition.transport),
    busy,
    aloneSince: signs.length > 0 ? Math.max(...signs) : leader.startedAt,
    now,
    graceMs: input.graceMs,
    pid: leader.pid,
    unproved: leader.uid === null ? 'its user could not be read' : null,
  });
  const busyWord = busy.busy === 'unknown' ? 'unknown' : busy.busy ? 'busy' : 'idle';
  const busySign = busy.busy === 'unknown' ? busy.why : busy.sign;
  const permission: PermissionFacts = {
    standing: judgement.standing,
    busy: busyWord,
    busySign,
    uid: leader.uid,
    ownUid,
    reason: judgement.reasons[0] ?? '',
  };
  const row: Server = {
    id: idOf(leader.identity),
    host: input.host,
    kind: group.recognition.kind,
    pid: leader.pid,
    pids: [...group.pids],
    identity: leader.identity,
    standing: judgement.standing,
    reasons: [...judgement.reasons],
    checks: [...judgement.checks],
    ...healthWords(health, record, listening.length > 0),
    listening,
    transport: group.recognition.transport,
    url: endpoint === null ? null : (kind?.pageUrl(endpoint.address, endpoint.port) ?? null),
    clients,
    busy: busyWord,
    busySign,
    owner: ownerRow(search, record, service.state === 'yes' ? service.unit : null),
    processes: processRows(tree, leader.pid, own),
    rssBytes: tree.reduce((sum, { info }) => sum + info.rssBytes, 0),
    memoryBytes,
    cpuPercent: sumOrNull(tree.map(({ info }) => info.cpuPercent)),
    startedAt: new Date(leader.startedAt).toISOString(),
    directory: record?.record.directory ?? leader.cwd,
    command: [...redactArgv(leader.argv)],
    executable: leader.executable?.path ?? null,
    ownUid,
    duplicates: duplicatesOf(group, groups),
    growing: memory.growth(key, memoryBytes, below.length, now),
    supervised:
      record === null
        ? null
        : {
            recordPath: record.path,
            keepRunning: record.record.keepRunning,
            logPath: record.record.logPath,
            nonceSeen: roots.some((root) => nonceOf(root) === record.record.nonce),
          },
    reap: reapPermission(permission),
    stop: stopPermission(permission),
    restart: stopPermission(permission),
  };
  return { row, key, roots, leader, owner: search.process, kind, endpoint, record };
}

/** Ours by record; by the nonce alone, a start of Rollcall's whose supervisor has other folders and may live. */
function ownerFact(search: OwnerSearch, leader: ProcessInfo, record: LiveRecord | null): OwnerFact {
  if (record !== null) return { state: 'alive', label: 'Rollcall', pid: leader.ppid, fact: 'Rollcall supervises it' };
  if (search.fact.state !== 'gone' || nonceOf(leader) === null) return search.fact;
  return {
    state: 'unknown',
    why: 'a Rollcall started it, but no record here names it: its state folder may be another one',
  };
}

/**
 * nohup makes a process ignore SIGHUP; node takes that back at its start, so the variable in which the shell names the
 * command it started is evidence as well.
 */
function detachedFact(leader: ProcessInfo): StandingFacts['detached'] {
  if (leader.ignoresHangup === true) return { state: 'yes', fact: 'it ignores the hangup signal, as nohup makes it' };
  if (programName(leader.marks._ ?? '') === 'nohup') return { state: 'yes', fact: 'it was started through nohup' };
  if (leader.ignoresHangup === null) return { state: 'unknown', fact: 'its ignored signals could not be read' };
  return { state: 'no', fact: 'hangup is not ignored' };
}

function noteOwner(memory: Memory, key: string, search: OwnerSearch, now: number): void {
  if (search.fact.state === 'alive' && search.process !== null) {
    const { label, pid } = search.fact;
    memory.ownerSeen(key, { label, pid, key: identityKey(search.process.identity) }, now);
  } else if (search.fact.state === 'gone') {
    memory.ownerGone(key, now);
  }
}

function busyOf(
  input: RosterInput,
  kindName: string,
  leader: ProcessInfo,
  below: readonly ProcessInfo[],
  roots: readonly ProcessInfo[],
  health: Health | null,
): Busyness {
  const locked = health?.state === 'locked';
  const answers = health === null || health.state === 'ok' || locked;
  const hasStream = (input.kindOf(kindName)?.watchBusy ?? null) !== null;
  return judgeBusyness({
    main: leader,
    children: below,
    outgoing: input.look.outgoing.filter(({ pid }) => roots.some((root) => root.pid === pid)),
    stream: input.probes.stream(leader.identity),
    streamWhy: locked ? 'it is locked behind a password' : null,
    unresponsive: hasStream && !answers,
    lowCpuSince: input.memory.of(identityKey(leader.identity)).lowCpuSince,
    now: input.now,
  });
}

function healthWords(
  health: Health | null,
  record: LiveRecord | null,
  listens: boolean,
): Pick<Server, 'health' | 'healthDetail' | 'version'> {
  if (record !== null && record.record.state !== 'bound') {
    return { health: 'starting', healthDetail: 'it has been started and does not answer yet', version: null };
  }
  if (health === null) {
    const healthDetail = listens ? 'it listens on no loopback address' : 'it opens no port to ask at';
    return { health: 'unknown', healthDetail, version: null };
  }
  switch (health.state) {
    case 'ok':
      return { health: 'ok', healthDetail: null, version: health.version };
    case 'locked':
      return { health: 'locked', healthDetail: 'it asks for a password that Rollcall does not have', version: null };
    case 'unresponsive':
      return { health: 'unresponsive', healthDetail: health.why, version: null };
    case 'unknown':
      return { health: 'unknown', healthDetail: health.why, version: null };
  }
}

function ownerRow(search: OwnerSearch, record: LiveRecord | null, unit: string | null): Server['owner'] {
  if (record !== null) {
    const bound = record.record.owner;
    if (bound !== null)
      return { label: `Rollcall, for ${bound.label}`, pid: bound.ref.identity.pid, alive: true, endedAt: null };
    return { label: 'Rollcall', pid: null, alive: true, endedAt: null };
  }
  if (unit !== null) return { label: unit, pid: null, alive: true, endedAt: null };
  const { fact } = search;
  if (fact.state === 'alive') return { label: fact.label, pid: fact.pid, alive: true, endedAt: null };
  if (fact.state === 'unknown' || fact.label === null) return null;
  const endedAt = fact.endedAt === null ? null : new Date(fact.endedAt).toISOString();
  return { label: fact.label, pid: fact.pid, alive: false, endedAt };
}

function duplicatesOf(group: ServerGroup, groups: readonly ServerGroup[]): number {
  const { kind, subject } = group.recognition;
  if (subject === null) return 1;
  return groups.filter(({ recognition }) => recognition.kind === kind && recognition.subject === subject).length;
}

function sumOrNull(values: readonly (number | null)[]): number | null {
  const known = values.filter((value) => value !== null);
  return known.length === 0 ? null : known.reduce((sum, value) => sum + value, 0);
}
