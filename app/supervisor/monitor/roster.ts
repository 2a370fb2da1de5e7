/** From a look to rows: groups, owners, clients, busyness and standings of every server on one host. */
import type { Host, Look, ProcessInfo } from '../../hosts/host.ts';
import { memoryOf } from '../../hosts/process-info.ts';
import { identityKey, isSameProcess } from '../../identity/identity.ts';
import { idOf } from '../../identity/ids.ts';
import { type LiveRecord, nonceOf } from '../../records/judge.ts';
import type { Server } from '../../roll/schema.ts';
import type { Credentials, Endpoint, Kind } from '../../servers/kind.ts';
import type { ServerGroup } from '../../servers/recognition/group.ts';
import { redactArgv } from '../../servers/redact.ts';
import type { JudgedServer } from '../judged-server.ts';
import type { Spans } from '../spans.ts';
import { clientFact, clientsOf } from '../standing/clients.ts';
import { findOwner } from '../standing/owner.ts';
import { type PermissionFacts, reapPermission, stopPermission } from '../standing/permissions.ts';
import { groupsOf, otherServers, serverTree } from '../standing/server-tree.ts';
import { serviceFact } from '../standing/service.ts';
import { judgeStanding } from '../standing/standing.ts';
import { carriedFact, collapseCopies } from './copies.ts';
import type { Probes } from './probes.ts';
import { processRows } from './process-rows.ts';
import { busyFact, detachedFact, endpointOf, ownerFact, rememberOwner } from './server-facts.ts';
import { growthOf, type Remembered, withActivity, withCpu, withSample } from './server-history.ts';
import { healthWords, ownerRow, sumOrNull } from './server-words.ts';

export interface RosterInput {
  readonly host: string;
  readonly look: Look;
  /** The way to a listener from here. */
  readonly reach: Host['at'];
  /** Where a browser of this machine finds it. */
  readonly page: Host['page'];
  /** What a server of ours wants to be asked with, by its key; null where nothing is known. */
  readonly credentialsOf: (key: string) => Credentials | null;
  readonly live: readonly LiveRecord[];
  /** Why the host cannot prove that a listed process is the one it has seen, by key; null where it can. */
  readonly unprovable: (key: string) => string | null;
  /** What is remembered of a server, by its key. */
  readonly remembered: (key: string) => Remembered;
  readonly probes: Probes;
  readonly kindOf: (name: string) => Kind | null;
  /** Our own uid; null where there are none. */
  readonly uid: number | null;
  readonly graceMs: number;
  readonly spans: Spans;
  /** When the look came, and when it is judged; later where only readings have changed. Monotonic milliseconds. */
  readonly lookedAt: number;
  readonly now: number;
  /** The same for people, in milliseconds since the epoch. */
  readonly today: number;
}

/** Servers that a record of ours verifies although nothing recognises them any more (a custom kind was removed). */
function recordedGroups(input: RosterInput, groups: readonly ServerGroup[]): ServerGroup[] {
  const known = new Set(groups.flatMap(({ pids }) => pids));
  return input.live.flatMap(({ ref, record }) => {
    const { pid } = ref.identity;
    const info = input.look.processes.get(pid);
    if (known.has(pid) || info === undefined || !isSameProcess(info.identity, ref.identity)) return [];
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

/** Judges every server of a look. Pure: what is to be remembered of each is handed back. */
export function buildRoster(input: RosterInput): JudgedServer[] {
  const found = groupsOf(input.look);
  const groups = [...found, ...recordedGroups(input, found)];
  const labels = new Map(
    groups.flatMap((group) => group.pids.map((pid) => [pid, placeOf(input.look, group)] as const)),
  );
  const judged = groups.flatMap((group) => {
    const leader = input.look.processes.get(group.leader);
    return leader === undefined ? [] : [judgeServer(input, group, leader, groups, labels)];
  });
  return collapseCopies(judged);
}

function placeOf(look: Look, group: ServerGroup): string {
  const port = look.listening.find(({ pid }) => group.pids.includes(pid))?.port ?? group.recognition.declaredPort;
  return port === null ? group.recognition.kind : `${group.recognition.kind} :${port}`;
}

function judgeServer(
  input: RosterInput,
  group: ServerGroup,
  leader: ProcessInfo,
  groups: readonly ServerGroup[],
  labels: ReadonlyMap<number, string>,
): JudgedServer {
  const { look, now, spans, uid } = input;
  const key = identityKey(leader.identity);
  const roots = group.pids.map((pid) => look.processes.get(pid)).filter((info) => info !== undefined);
  const kind = input.kindOf(group.recognition.kind);
  const own = new Set(group.pids);
  const others = otherServers(groups, group.leader);
  const record =
    input.live.find(({ ref }) => roots.some(({ identity }) => isSameProcess(identity, ref.identity))) ?? null;
  const spawned = record?.record.spawned?.identity ?? null;
  const tree = serverTree({ look, roots, leader, mark: kind?.mark ?? null, spawned, others, uid });
  const below = tree.flatMap(({ info, respawner }) => (own.has(info.pid) || respawner === true ? [] : [info]));
  const treePids = new Set(tree.map(({ info }) => info.pid));
  const endpoint = endpointOf(look, roots, input.reach, record === null ? null : input.credentialsOf(key));
  const listening = look.listening.filter(({ pid }) => own.has(pid)).map(({ address, port }) => ({ address, port }));
  const ports = [...new Set(listening.map(({ port }) => port))];

  const before = input.remembered(key);
  const search = findOwner(group.pids[0] ?? leader.pid, look, before.owner, (pid) => labels.get(pid) ?? null);
  let history = rememberOwner(before, search, now, input.today);
  const clients = clientsOf(look, ports, treePids);
  const { transport } = group.recognition;
  const unix = look.unixSockets?.filter(({ pid }) => own.has(pid)) ?? null;
  const client =
    carriedFact(group.leader, groups) ?? clientFact({ clients, ports, transport, unix, gap: gapOf(look, group.pids) });
  const health = endpoint === null ? null : input.probes.health(leader.identity);
  history = withCpu(history, leader.cpuPercent, input.lookedAt);
  const { lowCpuSince } = history;
  const busy = busyFact({ look, kind, leader, roots, below, health, probes: input.probes, lowCpuSince, spans, now });
  if (client.state === 'some' || busy.busy === true) history = withActivity(history, now);
  const memoryBytes = tree.reduce((sum, { info }) => sum + memoryOf(info), 0);
  history = withSample(history, memoryBytes, below.length, now);

  const ownUid = input.uid === null || leader.uid === input.uid;
  const unproved = leader.uid === null ? 'its user could not be read' : input.unprovable(key);
  const service = serviceFact(leader, look, group.recognition.registeredService);
  const judgement = judgeStanding({
    supervised: record !== null,
    service,
    owner: ownerFact(search, leader, group.recognition.kind, record),
    detached: detachedFact(leader),
    client,
    busy,
    // A server that was never seen with anybody has been alone since its start, as far as can be told.
    aloneSince: history.lastSignAt ?? now - leader.ageMs,
    now,
    graceMs: input.graceMs,
    pid: leader.pid,
    unproved,
  });
  const busyWord = busy.busy === 'unknown' ? 'unknown' : busy.busy ? 'busy' : 'idle';
  const busySign = busy.busy === 'unknown' ? busy.why : busy.sign;
  const permission: PermissionFacts = {
    standing: judgement.standing,
    busy: busyWord,
    busySign,
    uid: leader.uid,
    ownUid,
    unproved: ownUid ? unproved : null,
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
    transport,
    url: pageUrlOf(input, kind, endpoint),
    clients,
    busy: busyWord,
    busySign,
    owner: ownerRow(search, record, service.state === 'yes' ? service.unit : null),
    processes: processRows(tree, leader.pid, own, group.pids.slice(group.pids.indexOf(group.leader) + 1)),
    rssBytes: tree.reduce((sum, { info }) => sum + info.rssBytes, 0),
    memoryBytes,
    cpuPercent: sumOrNull(tree.map(({ info }) => info.cpuPercent)),
    startedAt: new Date(leader.startedAt).toISOString(),
    directory: record?.record.directory ?? leader.cwd,
    command: [...redactArgv(leader.argv)],
    executable: leader.executable?.path ?? null,
    ownUid,
    duplicates: 1,
    keeps: null,
    growing: growthOf(history, memoryBytes, below.length, now),
    sessions: { known: false, why: 'it has not been asked yet' },
    supervised:
      record === null
        ? null
        : {
            recordPath: record.path,
            keepRunning: record.record.keepRunning,
            logPath: record.record.logPath,
            nonceSeen: roots.some((root) => nonceOf(root, record.record.kind) === record.record.nonce),
            // What is known beyond this one look is filled in with the snapshot.
            state: record.record.state === 'bound' ? 'ready' : 'starting',
            outdated: null,
            idleMinutes: record.record.idleMinutes ?? null,
            idleStopAt: null,
          },
    reap: reapPermission(permission),
    stop: stopPermission(permission),
    restart: stopPermission(permission),
  };
  const session = group.recognition.subject;
  return { row, key, history, roots, leader, owner: search.process, kind, endpoint, record, session, surplus: [] };
}

function pageUrlOf({ page }: RosterInput, kind: Kind | null, endpoint: Endpoint | null): string | null {
  const where = endpoint === null ? null : page(endpoint);
  return where === null ? null : (kind?.pageUrl(where.address, where.port) ?? null);
}

/** What could not be read of a server's own processes; null when all could. */
function gapOf(look: Look, pids: readonly number[]): string | null {
  return look.gaps.find(({ pid }) => pids.includes(pid))?.why ?? null;
}
