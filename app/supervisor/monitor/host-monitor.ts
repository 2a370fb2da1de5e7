/**
 * Looking and judging: takes looks, keeps the probes and the memory, and turns a look into judged servers, leftovers
 * and records. It signals nothing and writes nothing.
 */
import type { Host, Look } from '../../hosts/host.ts';
import type { ProcessRef } from '../../identity/identity.ts';
import type { RecordFile } from '../../records/files.ts';
import { type JudgedRecords, judgeRecords, refOfRecord } from '../../records/judge.ts';
import type { RecordStore } from '../../records/store.ts';
import type { CustomKind, Kind, SessionReading } from '../../servers/kind.ts';
import type { SessionReport } from '../../sessions/session-source.ts';
import type { Judged, JudgedServer } from '../judged-server.ts';
import type { Spans } from '../spans.ts';
import { ServerCredentials } from './credentials.ts';
import { findLeftovers, holdersOf } from './leftovers.ts';
import { type Probed, Probes } from './probes.ts';
import { Proofs } from './proofs.ts';
import { buildRoster } from './roster.ts';
import type { ServerHistory } from './server-history.ts';
import { SessionReports } from './session-reports.ts';

export interface HostMonitorOptions {
  readonly host: Host;
  readonly store: RecordStore;
  readonly memory: ServerHistory;
  readonly kindOf: (name: string) => Kind | null;
  readonly customKinds: () => readonly CustomKind[];
  readonly graceMs: () => number;
  readonly spans: Spans;
  readonly uid: number | null;
  /** Nonces of starts under way in this process. */
  readonly pending: ReadonlySet<string>;
  /** This process, as records name their writer. */
  readonly writer: () => Promise<ProcessRef>;
  /** Streams are followed for every server, or only where a standing depends on it. */
  readonly followAll: boolean;
  /** A health or busy reading has changed since the last judgement. */
  readonly onReading: () => void;
  /** Only what is known of sessions has. */
  readonly onSessions: () => void;
}

export interface JudgedLook extends Judged {
  readonly look: Look;
  /** When the look came, in milliseconds on the monotonic clock. */
  readonly lookedAt: number;
  readonly records: JudgedRecords;
  readonly files: readonly RecordFile[];
}

export class HostMonitor {
  readonly #options: HostMonitorOptions;
  readonly #probes: Probes;
  readonly #reports = new SessionReports();
  readonly #credentials: ServerCredentials;
  readonly #proofs: Proofs;
  /** PIDs that must be in every look although no kind recognises them. */
  #include: readonly number[] = [];

  constructor(options: HostMonitorOptions) {
    this.#options = options;
    this.#proofs = new Proofs(options.host);
    this.#credentials = new ServerCredentials(options.host, options.onReading);
    this.#probes = new Probes(options.onReading, options.onSessions, options.spans.healthEveryMs);
  }

  /** A look with everything that is always wanted, and the given PIDs with their trees. */
  look(trees: readonly number[] = []): Promise<Look> {
    return this.#options.host.look({
      customKinds: this.#options.customKinds(),
      include: this.#include,
      trees,
      ownPids: this.#options.host.ownPids,
    });
  }

  /** A fresh look, judged. */
  async observe(): Promise<JudgedLook> {
    const { store, memory, host, writer } = this.#options;
    // Before the files are read: a start that ends meanwhile counts as under way for this one look.
    const pending = new Set(this.#options.pending);
    const files = await store.list();
    const recorded = files.flatMap(({ record }) => {
      const ref = record === null ? null : refOfRecord(record);
      return ref === null ? [] : [ref.identity.pid];
    });
    this.#include = [...new Set([...recorded, ...memory.ownerPids()])];
    const look = await this.look();
    const candidates = look.candidates.flatMap(({ pid }) => look.processes.get(pid) ?? []);
    const [records] = await Promise.all([
      judgeRecords(files, host, pending, await writer().catch(() => null)),
      this.#proofs.update(candidates.filter(({ uid }) => host.uid === null || uid === host.uid)),
    ]);
    return this.#judge(look, performance.now(), records, files);
  }

  /** The same look and records, judged with the readings of now. */
  async rejudge(sight: JudgedLook): Promise<JudgedLook> {
    return this.#judge(sight.look, sight.lookedAt, sight.records, sight.files);
  }

  async #judge(
    look: Look,
    lookedAt: number,
    records: JudgedRecords,
    files: readonly RecordFile[],
  ): Promise<JudgedLook> {
    const { host, memory, kindOf, uid } = this.#options;
    const now = performance.now();
    const servers = buildRoster({
      host: host.name,
      look,
      reach: (listener) => host.at(listener),
      page: (listener) => host.page(listener),
      credentialsOf: (key) => this.#credentials.of(key),
      live: records.live,
      unprovable: (key) => this.#proofs.whyNot(key),
      remembered: (key) => memory.of(key),
      probes: this.#probes,
      kindOf,
      uid,
      graceMs: this.#options.graceMs(),
      spans: this.#options.spans,
      lookedAt,
      now,
      today: Date.now(),
    });
    for (const { key, history } of servers.flatMap((server) => [server, ...server.surplus])) memory.keep(key, history);
    this.#credentials.update(servers);
    this.#probes.update(
      servers.flatMap((server) => {
        const { kind, endpoint, key } = server;
        return kind === null || endpoint === null ? [] : [{ key, kind, endpoint, follow: this.#follow(server) }];
      }),
      now,
      lookedAt,
    );
    for (const server of servers) {
      const folders = workedIn(server, look, this.#probes.sessions(server.leader.identity));
      if (folders.length > 0) this.#probes.worksIn(server.leader.identity, folders);
    }
    const inServers = new Set(servers.flatMap(({ row }) => row.processes.map(({ pid }) => pid)));
    const leftovers = findLeftovers(look, host.name, await holdersOf(look, host), inServers, uid);
    return { look, lookedAt, records, files, servers, leftovers };
  }

  /** What the servers of a sight tell of their sessions now. @param told ids of those that are told of by other means */
  reports({ servers }: JudgedLook, told: ReadonlySet<string>): SessionReport[] {
    return this.#reports.of(servers, this.#probes, told);
  }

  /** A standing hangs on the stream of a server without an owner; of others it only tells what they do. */
  #follow({ row }: JudgedServer): Probed['follow'] {
    if (!row.ownUid) return 'no';
    if (row.standing === 'suspect' || row.standing === 'leaked') return 'must';
    return this.#options.followAll ? 'may' : 'no';
  }

  /** Whether every server of a sight that can has told of its sessions, or why it does not. */
  sessionsReady({ servers }: JudgedLook): boolean {
    // The way to a listener of another host opens some time after the look that has shown it.
    return this.#probes.allTold && !servers.some(lacksWay);
  }

  /** Resolves when no question to a server is under way. */
  answered(): Promise<void> {
    return this.#probes.settled();
  }

  close(): void {
    this.#probes.close();
  }
}

function lacksWay({ row, kind, endpoint }: JudgedServer): boolean {
  return row.ownUid && kind !== null && kind.watch !== null && row.listening.length > 0 && endpoint === null;
}

/** Its standing hangs only on a busyness that more watching will tell. */
export function isUndecided({ row }: JudgedServer): boolean {
  if (row.standing !== 'suspect' || row.busy !== 'unknown' || row.health === 'unresponsive') return false;
  return row.checks.every(({ check, result }) => result === 'holds' || check === 'busy');
}

/** The clock of a server may be this much behind the kernel's idea of its start, in milliseconds. */
const SLACK_MS = 2000;

/**
 * Folders in which a tool of the server runs and one of its sessions was at work since it started: it has an instance for
 * each of them. A folder that only a tool is in may be one that a session went down into, and to ask about it would load it.
 */
function workedIn({ row, leader }: JudgedServer, look: Look, reading: SessionReading | null): string[] {
  if (reading === null || row.busy !== 'busy') return [];
  const tools = row.processes.flatMap(({ pid, role }) => {
    const info = role === 'child' ? look.processes.get(pid) : undefined;
    return info === undefined || info.session === leader.session || info.cwd === null ? [] : [info.cwd];
  });
  if (tools.length === 0) return [];
  const since = leader.startedAt - SLACK_MS;
  const homes = new Set(
    [...reading.sessions.values()].flatMap(({ directory, updatedAt }) =>
      directory === null || updatedAt === null || updatedAt < since ? [] : [directory],
    ),
  );
  return [...new Set(tools)].filter((folder) => homes.has(folder));
}
