/** Assembles the roll from what was looked at and judged on every host. Pure. */
import { basename } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { Host, Look, MachineLine } from '../hosts/host.ts';
import type { ServerRecord } from '../records/schema.ts';
import type {
  Alert,
  AuditEntry,
  Ended,
  HostEntry,
  LifeState,
  RecordEntry,
  Roll,
  Server,
  Session,
  Task,
} from '../roll/schema.ts';
import { plural } from '../text/words.ts';
import { alertsOf } from './alerts.ts';
import type { Judged } from './judged-server.ts';

/** What is known of one host, as it goes into the roll. */
export interface HostSnapshot extends Pick<Roll, 'servers' | 'leftovers' | 'ended' | 'records' | 'tasks'> {
  readonly sessions: readonly Session[];
  readonly host: HostEntry;
  /** What keeps Rollcall from its work there. */
  readonly faults: readonly Alert[];
  /** When the last look came, in milliseconds since the epoch; null before the first. */
  readonly takenAt: number | null;
}

/** What is known of a server of ours beyond the last look. */
export interface LifeFacts extends Pick<NonNullable<Server['supervised']>, 'outdated' | 'idleMinutes' | 'idleStopAt'> {
  readonly state: LifeState | null;
}

export interface PartInput {
  readonly host: Host;
  /** Null before the first look has succeeded. */
  readonly look: Look | null;
  /** Why the last look failed; null when it did not. */
  readonly problem: string | null;
  readonly machine: MachineLine | null;
  readonly judged: Judged;
  readonly sessions: readonly Session[];
  readonly withSessions: (row: Server) => Server;
  readonly ended: readonly Ended[];
  /** PIDs of servers whose remains are being ended: those are no leftovers that anybody has to see to. */
  readonly swept: ReadonlySet<number>;
  /** What is known of a server of ours beyond the last look. */
  readonly lifeOf: (record: ServerRecord) => LifeFacts;
  readonly records: readonly RecordEntry[];
  readonly tasks: readonly Task[];
  readonly faults: readonly Alert[];
}

function partialSentence(look: Look | null): string | null {
  if (look === null || look.gaps.length === 0) return null;
  const [first] = look.gaps;
  const example = first === undefined ? '' : ` (PID ${first.pid}: ${first.why})`;
  return `${plural(look.gaps.length, 'process', 'processes')} could not be read in full${example}.`;
}

function hostEntry(input: PartInput): HostEntry {
  const { look, machine } = input;
  return {
    id: input.host.name,
    name: input.host.name,
    state: input.problem !== null ? 'failed' : look === null ? 'connecting' : 'connected',
    hostname: machine?.hostname ?? '',
    detail: input.problem,
    lookedAt: look === null ? null : new Date(look.takenAt).toISOString(),
    counted: look?.counted ?? 0,
    partial: partialSentence(look),
    signalling: input.host.signalling,
    cpuPercent: machine?.cpuPercent ?? null,
    memoryTotalBytes: machine?.memoryTotalBytes ?? null,
    memoryUsedBytes: machine?.memoryUsedBytes ?? null,
    load1: machine?.load1 ?? null,
    ssh: null,
  };
}

/** The row with the state of its life. */
function withLife({ row, record }: Judged['servers'][number], lifeOf: PartInput['lifeOf']): Server {
  if (record === null || row.supervised === null) return row;
  const { state, ...facts } = lifeOf(record.record);
  const supervised = { ...row.supervised, ...facts, state: state ?? row.supervised.state };
  return isDeepStrictEqual(supervised, row.supervised) ? row : { ...row, supervised };
}

/** What one supervisor knows of its host. */
export function snapshotHost(input: PartInput): HostSnapshot {
  const servers = input.judged.servers.map((server) => input.withSessions(withLife(server, input.lifeOf)));
  const leftovers = input.judged.leftovers.map(({ row }) => row).filter(({ ofPid }) => !input.swept.has(ofPid));
  // The record of a server that went away stands for its entry there; it is no finding of its own.
  const settled = new Set(input.ended.map(({ nonce }) => nonce));
  const records = input.records.filter(({ path }) => !settled.has(basename(path, '.json')));
  return {
    host: hostEntry(input),
    servers,
    leftovers,
    sessions: input.sessions,
    ended: [...input.ended],
    records,
    tasks: [...input.tasks],
    faults: input.faults,
    takenAt: input.look?.takenAt ?? null,
  };
}

export interface RollInput extends Pick<Roll, 'version' | 'startable' | 'settings' | 'questions' | 'offered'> {
  /** In the order in which hosts are shown; this machine first. */
  readonly parts: readonly HostSnapshot[];
  readonly timeline: readonly AuditEntry[];
  /** Faults that concern no single host. */
  readonly faults: readonly Alert[];
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/** Two accounts of one machine both see a server; it is listed once, for the account whose it is. */
function once(servers: readonly Server[]): Server[] {
  const found = new Map<string, Server>();
  for (const server of servers) if (found.get(server.id)?.ownUid !== true) found.set(server.id, server);
  return [...found.values()];
}

/** Everything as the one immutable snapshot. */
export function rollOf(input: RollInput): Roll {
  const { parts, version, startable, settings, questions, offered } = input;
  const hosts = parts.map(({ host }) => host);
  const servers = once(parts.flatMap((part) => part.servers));
  const leftovers = parts.flatMap((part) => part.leftovers);
  const ended = parts.flatMap((part) => part.ended);
  const records = parts.flatMap((part) => part.records);
  const faults = [...parts.flatMap((part) => part.faults), ...input.faults];
  return {
    version,
    takenAt: new Date(parts[0]?.takenAt ?? input.now).toISOString(),
    hosts,
    servers,
    leftovers,
    ended,
    records,
    sessions: parts.flatMap((part) => part.sessions),
    alerts: alertsOf({ servers, leftovers, ended, records, hosts, faults, now: input.now }),
    tasks: parts.flatMap((part) => part.tasks),
    timeline: [...input.timeline],
    startable,
    questions,
    offered,
    settings,
  };
}
