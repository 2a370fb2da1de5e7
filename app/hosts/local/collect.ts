import { uptime } from 'node:os';
import { performance } from 'node:perf_hooks';
import type { Observer } from '../../identity/identity.ts';
import type { CustomKind, Recognisable, Recognition } from '../../servers/kind.ts';
import { type Candidate, type Gap, type Look, type LookRequest, type ProcessInfo, ReadFailed } from '../host.ts';
import { ConnectionReader, type Holder, type SocketsWanted } from './connections.ts';
import { DetailReader } from './details.ts';
import type { Libc } from './libc.ts';
import { type Entry, livePath, ProcessTable } from './process-table.ts';
import { isContainerCgroup, leafCgroup } from './procfs/cgroup.ts';
import type { ProcSource } from './procfs/read.ts';
import { isFinished } from './procfs/stat.ts';
import { isReaper } from './reapers.ts';
import { besideServers, relevant } from './relevance.ts';

/** Tells what a process is; `app/servers` supplies it. */
export type Recognise = (process: Recognisable, custom: readonly CustomKind[]) => Recognition | null;

export interface CollectorOptions {
  readonly recognise: Recognise;
  readonly observer: Observer;
  readonly source: ProcSource;
  /** Null where pidfds cannot be had, or the table is not this kernel's own. */
  readonly libc: Libc | null;
  readonly ownUid: number;
}

/** What a look is about to read; who reads from afar fetches it before going on. */
export type Wanted = { readonly wanted: 'details'; readonly of: readonly number[] } | SocketsWanted;

/** A parent may exit between two reads, so what belongs to the look is worked out again, this often at most. */
const SETTLING_ROUNDS = 4;

/** Takes looks at the process table of this machine, keeping between them what need not be read again. */
export class Collector {
  readonly #options: CollectorOptions;
  readonly #reader: ProcSource;
  readonly #table: ProcessTable;
  readonly #details: DetailReader;
  readonly #connections: ConnectionReader;
  readonly #recognised = new Map<number, { readonly revision: number; readonly recognition: Recognition | null }>();
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
    if (kinds !== this.#customKinds) this.#recognised.clear();
    this.#customKinds = kinds;

    let candidates: Candidate[] = [];
    let trees: ReadonlySet<number> = new Set();
    for (let round = 0; round < SETTLING_ROUNDS; round += 1) {
      candidates = this.#candidates(request.customKinds);
      const roots = [...candidates.map(({ pid }) => pid), ...(request.trees ?? [])];
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

    const holders: Holder[] = [];
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
      candidates: candidates.filter(({ pid }) => processes.has(pid)),
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

  #candidates(customKinds: readonly CustomKind[]): Candidate[] {
    const candidates: Candidate[] = [];
    for (const [pid, entry] of this.#table.entries) {
      if (entry.stat.kernelThread || isFinished(entry.stat)) continue;
      let known = this.#recognised.get(pid);
      if (known?.revision !== entry.revision) {
        const recognition = this.#options.recognise(this.#recognisable(entry), customKinds);
        known = { revision: entry.revision, recognition };
        this.#recognised.set(pid, known);
      }
      if (known.recognition !== null) candidates.push({ pid, recognition: known.recognition });
    }
    for (const pid of this.#recognised.keys()) if (!this.#table.entries.has(pid)) this.#recognised.delete(pid);
    return candidates;
  }

  /** Arguments are decoded, and the executable is read, only when recognition asks for them. */
  #recognisable(entry: Entry): Recognisable {
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
