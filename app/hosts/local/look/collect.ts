import { uptime } from 'node:os';
import { performance } from 'node:perf_hooks';
import type { Observer } from '../../../identity/identity.ts';
import type { CustomKind, Recognisable } from '../../../servers/kind.ts';
import type { Libc } from '../../../util/libc.ts';
import {
  type Gap,
  type Look,
  type LookRequest,
  type ProcessInfo,
  ReadFailed,
  type UnprovedProcess,
} from '../../host.ts';
import { isFinished } from '../../process-info.ts';
import { isContainerCgroup, leafCgroup } from '../procfs/cgroup.ts';
import type { ProcSource } from '../procfs/read.ts';
import { type Recognise, recogniseAll } from './candidates.ts';
import { ConnectionReader, type SocketHolder, type SocketsWanted } from './connections.ts';
import { DetailReader } from './details.ts';
import { livePath, ProcessTable, type TableEntry } from './process-table.ts';
import { isReaper } from './reapers.ts';
import { besideServers, relevant } from './relevance.ts';

export interface CollectorOptions {
  readonly recognise: Recognise;
  readonly observer: Observer;
  readonly source: ProcSource;
  /** Null where pidfds cannot be had, or the table is not this kernel's own. */
  readonly libc: Libc | null;
  readonly ownUid: number;
  /** What keeps programs from being read, where one is not known. */
  readonly unreadable?: UnprovedProcess['why'];
}

/** What a look is about to read; who reads from afar fetches it before going on. */
export type Wanted =
  | { readonly wanted: 'details'; readonly of: readonly number[] }
  /** What these run: without it nothing is recognised. */
  | { readonly wanted: 'programs'; readonly of: readonly number[] }
  | SocketsWanted;

/** A parent may exit between two reads, so what belongs to the look is worked out again, this often at most. */
const SETTLING_ROUNDS = 4;

/** Takes looks at the process table of this machine, keeping between them what need not be read again. */
export class Collector {
  readonly #options: CollectorOptions;
  readonly #reader: ProcSource;
  readonly #table: ProcessTable;
  readonly #details: DetailReader;
  readonly #connections: ConnectionReader;
  /** Processes whose program was known when they were recognised, and whether they may be servers. */
  readonly #decided = new Map<number, { readonly revision: number; readonly isServer: boolean }>();
  #customKinds = '';
  #ofInterest: ReadonlySet<number> = new Set();

  constructor(options: CollectorOptions) {
    this.#options = options;
    this.#reader = options.source;
    this.#table = new ProcessTable(this.#reader, options.ownUid);
    this.#details = new DetailReader(this.#reader, options.observer, options.libc);
    this.#connections = new ConnectionReader(this.#reader);
  }

  /**
   * One look. Throws only when the process table itself cannot be listed.
   *
   * @param skip PIDs whose reading is known to block; they are reported as gaps
   */
  look(request: LookRequest, skip: ReadonlySet<number> = new Set()): Look {
    const steps = this.steps(request, skip);
    for (;;) {
      const step = steps.next();
      if (step.done === true) return step.value;
    }
  }

  /** One look as `look` takes it, which stops before each reading that a table fetched from afar may not hold yet. */
  *steps(request: LookRequest, skip: ReadonlySet<number> = new Set()): Generator<Wanted, Look> {
    const begun = performance.now();
    const clock = this.#clock();
    const gaps = new Map<number, string>();
    for (const gap of this.#table.refresh(clock.uptime, new Set([...this.#ofInterest, ...request.include]), skip)) {
      gaps.set(gap.pid, gap.why);
    }
    const processes = new Map<number, ProcessInfo>();
    const kinds = JSON.stringify(request.customKinds);
    if (kinds !== this.#customKinds) this.#decided.clear();
    this.#customKinds = kinds;

    let servers: readonly number[] = [];
    let trees: ReadonlySet<number> = new Set();
    for (let round = 0; round < SETTLING_ROUNDS; round += 1) {
      servers = yield* this.#likelyServers(request.customKinds);
      const roots = [...servers, ...(request.trees ?? [])];
      for (const [pid, entry] of this.#table.entries) if (entry.marked) roots.push(pid);
      const beside = besideServers(this.#table.entries, processes);
      const belonging = relevant(this.#table.entries, roots, [...request.include, ...beside]);
      trees = belonging.trees;
      this.#ofInterest = belonging.all;
      const fresh = [...belonging.all].filter((pid) => !processes.has(pid) && !skip.has(pid));
      if (fresh.length === 0) break;
      yield { wanted: 'details', of: fresh };
      for (const pid of fresh) {
        const detail = this.#details.read(pid, this.#table, clock, trees.has(pid));
        if (detail === null) {
          this.#table.forget(pid);
          continue;
        }
        processes.set(pid, detail.info);
        // An ancestor is shown by name only; that another user's cannot be read in full takes nothing away.
        const matters = trees.has(pid) || request.include.includes(pid);
        if (detail.gap !== null && matters) gaps.set(pid, detail.gap);
      }
    }
    for (const pid of processes.keys()) {
      if (!this.#ofInterest.has(pid) || !this.#table.entries.has(pid)) processes.delete(pid);
    }
    this.#details.keepOnly(this.#ofInterest);
    const claimants = servers.map((pid) => processes.get(pid)).filter((info) => info !== undefined);
    const { recognise, ownUid, unreadable } = this.#options;
    const { candidates, unproved } = recogniseAll(claimants, request.customKinds, recognise, ownUid, unreadable);

    const holders: SocketHolder[] = [];
    for (const pid of trees) {
      const entry = this.#table.entries.get(pid);
      if (entry === undefined || !processes.has(pid) || isFinished(entry.stat)) continue;
      holders.push({ pid, path: livePath(this.#reader, entry.stat) });
    }
    const sockets = yield* this.#connections.read(holders, request.ownPids, this.#table.entries.keys());
    for (const { pid, why } of sockets.gaps) gaps.set(pid, [gaps.get(pid), why].filter(Boolean).join('; '));
    // A client is shown by its name, so it belongs into the look as well.
    const peers = new Set<number>();
    for (const { peerPid } of sockets.clients) {
      if (peerPid !== null && !processes.has(peerPid) && !skip.has(peerPid)) peers.add(peerPid);
    }
    if (peers.size > 0) yield { wanted: 'details', of: [...peers] };
    for (const peerPid of peers) {
      const detail = this.#details.read(peerPid, this.#table, clock, false);
      if (detail !== null) processes.set(peerPid, detail.info);
    }

    return {
      observer: this.#options.observer,
      takenAt: clock.now,
      tookMs: performance.now() - begun,
      counted: this.#table.entries.size + [...skip].filter((pid) => !this.#table.entries.has(pid)).length,
      processes,
      candidates,
      unproved,
      listening: sockets.listening,
      clients: sockets.clients,
      outgoing: sockets.outgoing,
      unixSockets: sockets.unix,
      socketsReadable: sockets.readable,
      ownCgroupIsContainer: this.#inContainer(),
      ownPids: request.ownPids,
      reapers: [...processes.values()].filter(isReaper).map(({ pid }) => pid),
      gaps: [...gaps].map(([pid, why]): Gap => ({ pid, why })),
    };
  }

  /** One process, whatever it is; null when it is not there. Throws `ReadFailed`. */
  inspect(pid: number): ProcessInfo | null {
    const why = this.#table.reread(pid);
    if (why !== null) throw new ReadFailed(pid, why);
    return this.#details.read(pid, this.#table, this.#clock(), false)?.info ?? null;
  }

  /** Who listens on a TCP port of this network namespace; null for nobody. Throws when the sockets cannot be read. */
  portHolder(port: number): ProcessInfo | 'unreadable' | null {
    const pid = this.#connections.listener(port, this.#reader.pids());
    return typeof pid === 'number' ? this.inspect(pid) : pid;
  }

  #inContainer(): boolean {
    const cgroup = this.#reader.global('self/cgroup');
    return cgroup.ok && isContainerCgroup(leafCgroup(cgroup.value) ?? '/');
  }

  #clock(): { readonly now: number; readonly uptime: number } {
    const text = this.#reader.global('uptime');
    const seconds = text.ok ? Number.parseFloat(text.value) : Number.NaN;
    return { now: Date.now(), uptime: Number.isFinite(seconds) ? seconds : uptime() };
  }

  /**
   * Processes that are read in detail because they may be servers; what each is, those details decide. Only an answer
   * for which the program was known is kept.
   */
  *#likelyServers(customKinds: readonly CustomKind[]): Generator<Wanted, readonly number[]> {
    const likely: number[] = [];
    const unknown: TableEntry[] = [];
    for (const [pid, entry] of this.#table.entries) {
      if (entry.stat.kernelThread || isFinished(entry.stat)) continue;
      const known = this.#decided.get(pid);
      const found = known?.revision === entry.revision ? known.isServer : this.#decide(entry, customKinds);
      if (found === null) unknown.push(entry);
      else if (found) likely.push(pid);
    }
    if (unknown.length > 0) yield { wanted: 'programs', of: unknown.map(({ stat }) => stat.pid) };
    for (const entry of unknown) {
      const found = this.#decide(entry, customKinds);
      // What only claims to be one is read in detail, too: they say whose it is.
      if (found ?? this.#claims(entry, customKinds)) likely.push(entry.stat.pid);
    }
    for (const pid of this.#decided.keys()) if (!this.#table.entries.has(pid)) this.#decided.delete(pid);
    return likely;
  }

  /** Null where its program would decide and is not known. */
  #decide(entry: TableEntry, customKinds: readonly CustomKind[]): boolean | null {
    const { state } = this.#options.recognise(this.#recognisable(entry), customKinds);
    if (state === 'unproved') return null;
    const isServer = state === 'server';
    this.#decided.set(entry.stat.pid, { revision: entry.revision, isServer });
    return isServer;
  }

  #claims(entry: TableEntry, customKinds: readonly CustomKind[]): boolean {
    const found = this.#options.recognise(this.#recognisable(entry), customKinds);
    return found.state === 'unproved' && found.claims !== null;
  }

  /** Arguments are decoded, and the executable is read, only when recognition asks for them. */
  #recognisable(entry: TableEntry): Recognisable {
    const reader = this.#reader;
    let executable: string | null | undefined;
    return {
      comm: entry.stat.comm,
      rawArgv: entry.rawArgv,
      get argv() {
        return entry.argv;
      },
      get executablePath() {
        if (executable === undefined) {
          const path = reader.link(entry.stat.pid, `${livePath(reader, entry.stat)}exe`);
          executable = path.ok ? path.value : null;
        }
        return executable;
      },
    };
  }
}
