/** Looks at a remote machine: the local machine's own collector over a `/proc` that was fetched. */
import { messageOf } from '../../../util/errors.ts';
import { type Look, LookFailed, type LookRequest, MARK_NAMES, type ProcessInfo, ReadFailed } from '../../host.ts';
import type { Recognise } from '../../local/look/candidates.ts';
import { Collector, type Wanted } from '../../local/look/collect.ts';
import { parseTcpTable } from '../../local/procfs/sockets.ts';
import lookScript from '../remote/look.sh';
import type { Parameters } from './frame.ts';
import { placeOf } from './observing.ts';
import type { RemotePlatform } from './platform.ts';
import type { RemoteShell } from './shell.ts';
import { Snapshot } from './snapshot.ts';

const DEADLINE_MS = 20_000;
/** Proportional memory is fetched anew after this long, in milliseconds; the kernel walks every page for it. */
const PSS_LIFETIME_MS = 10_000;

interface Fetch {
  readonly bulk?: boolean;
  readonly pids?: Iterable<number>;
  /** Of these, nothing but the program. */
  readonly programs?: Iterable<number>;
  readonly sockets?: Iterable<number>;
  readonly networks?: Iterable<number>;
  readonly everyone?: boolean;
  readonly tables?: boolean;
  /** Files of the machine as a whole; a listing has them in any case. */
  readonly machine?: boolean;
}

interface Pss {
  readonly startTicks: string;
  readonly at: number;
  readonly bytes: Buffer;
}

/** A whole number as one of ours; what is none would become part of a command. */
const isPid = (pid: number): boolean => Number.isInteger(pid) && pid > 0;

export class RemoteLooker {
  readonly #shell: RemoteShell;
  readonly #contact: RemotePlatform;
  readonly #snapshot: Snapshot;
  readonly #collector: Collector;
  #line: Promise<unknown> = Promise.resolve();
  /** What the look before read in detail: most likely, the next one wants the same. */
  #ofInterest: ReadonlySet<number> = new Set();
  /** Those whose programs alone it wanted. */
  #programs: ReadonlySet<number> = new Set();
  #peers: ReadonlySet<number> = new Set();
  #networks: ReadonlySet<number> = new Set();
  readonly #pss = new Map<number, Pss>();
  /** Round trips that the last look took. */
  trips = 0;

  constructor(shell: RemoteShell, contact: RemotePlatform, recognise: Recognise) {
    this.#shell = shell;
    this.#contact = contact;
    this.#snapshot = new Snapshot(contact.tools.has('ls-b'), contact.uid);
    this.#collector = new Collector({
      recognise,
      observer: contact.observer,
      source: this.#snapshot,
      libc: null,
      ownUid: contact.uid,
      unreadable: contact.tools.has('stat-c') ? 'denied' : 'no-stat',
    });
  }

  /** Rejects with `LookFailed`. Looks follow one another: each builds on what the one before knew. */
  look(request: LookRequest): Promise<Look> {
    return this.#next(async () => {
      const begun = performance.now();
      this.trips = 0;
      const include = request.include.filter(isPid);
      const sure = { ...request, include };
      await this.#fetch({
        bulk: true,
        pids: new Set([...this.#ofInterest, ...include, ...(request.trees ?? []).filter(isPid)]),
        programs: this.#programs,
        sockets: this.#peers,
        networks: this.#networks,
      });
      const wanted = {
        details: new Set(include),
        programs: new Set<number>(),
        peers: new Set<number>(),
        networks: new Set<number>(),
      };
      const ownPids = [
        ...new Set([...this.#contact.selfAndAncestors, ...this.#snapshot.selfAndAncestors, ...request.ownPids]),
      ];
      const steps = this.#collector.steps({ ...sure, ownPids });
      for (;;) {
        const step = steps.next();
        if (step.done === true) {
          this.#ofInterest = wanted.details;
          this.#programs = wanted.programs;
          this.#peers = wanted.peers;
          this.#networks = wanted.networks;
          return { ...step.value, tookMs: performance.now() - begun };
        }
        await this.#supply(step.value, wanted);
      }
    });
  }

  /** Fetches what the collector is about to read, as far as it is not there, and notes it for the next look. */
  async #supply(wanted: Wanted, noted: Readonly<Record<'details' | 'programs' | 'peers' | 'networks', Set<number>>>) {
    const { details, peers, networks } = noted;
    const snapshot = this.#snapshot;
    switch (wanted.wanted) {
      case 'programs': {
        for (const pid of wanted.of) noted.programs.add(pid);
        const programs = wanted.of.filter((pid) => !snapshot.hasProgram(pid));
        // Of these another thread's folder tells, which only the whole of their details looks for.
        const pids = snapshot.headless().filter((pid) => programs.includes(pid));
        if (programs.length > 0) await this.#fetch({ programs, pids });
        return;
      }
      case 'details': {
        for (const pid of wanted.of) details.add(pid);
        const pids = wanted.of.filter((pid) => !snapshot.hasDetails(pid));
        if (pids.length > 0) await this.#fetch({ pids });
        return;
      }
      case 'sockets': {
        for (const pid of wanted.of) peers.add(pid);
        const sockets = wanted.of.filter((pid) => isPid(pid) && !snapshot.hasSockets(pid));
        if (sockets.length > 0) await this.#fetch({ sockets });
        return;
      }
      case 'tables': {
        const others = wanted.networks.filter((name) => name !== '');
        for (const name of others) networks.add(Number.parseInt(name, 10));
        const missing = wanted.networks.filter((name) => !snapshot.hasTable(name));
        // A look without any process of interest has fetched no tables at all.
        if (missing.length > 0) await this.#fetch({ tables: true, networks });
        return;
      }
      case 'everyone':
        await this.#fetch({ everyone: true });
    }
  }

  /** One process now; null when it is not there. Rejects with `ReadFailed`. */
  inspect(pid: number): Promise<ProcessInfo | null> {
    return this.#next(() => this.#inspect(pid));
  }

  async #inspect(pid: number): Promise<ProcessInfo | null> {
    if (!isPid(pid)) return null;
    try {
      await this.#fetch({ pids: [pid] });
    } catch (error) {
      throw new ReadFailed(pid, messageOf(error));
    }
    return this.#collector.inspect(pid);
  }

  /** Who listens on a TCP port of the machine; null for nobody. Rejects with `LookFailed`. */
  portHolder(port: number): Promise<ProcessInfo | 'unreadable' | null> {
    return this.#next(async () => {
      await this.#fetch({ tables: true });
      if (this.#listeners(port).size === 0) return null;
      await this.#fetch({ bulk: true, everyone: true });
      const inodes = this.#listeners(port);
      for (const pid of this.#snapshot.pids()) {
        const held = this.#snapshot.socketInodes(pid);
        if (held.ok && [...inodes].some((inode) => held.value.has(inode))) return this.#inspect(pid);
      }
      return inodes.size === 0 ? null : 'unreadable';
    });
  }

  #listeners(port: number): Set<string> {
    const tables = ['net/tcp', 'net/tcp6'].map((name) => this.#snapshot.global(name));
    if (tables[0]?.ok !== true)
      throw new LookFailed('the table of sockets could not be read', undefined, this.#shell.host);
    const sockets = tables.flatMap((table) => (table.ok ? parseTcpTable(table.value) : []));
    return new Set(
      sockets.filter(({ state, localPort }) => state === 'listen' && localPort === port).map(({ inode }) => inode),
    );
  }

  /** Start of a process of the last listing, as identities have it; null when it was not there, or had exited. */
  runningSince(pid: number): string | null {
    const ticks = this.#snapshot.runningSince(pid);
    return ticks === null ? null : `linux:${ticks}`;
  }

  /** Reads the files of the machine as a whole. Rejects with `LookFailed`. */
  readMachine(): Promise<void> {
    return this.#next(() => this.#fetch({ machine: true }));
  }

  /** A file of the last listing that belongs to no process: `loadavg`, `meminfo`, `stat`. */
  global(name: string): string | null {
    return this.#snapshot.raw(name)?.toString('utf8') ?? null;
  }

  async #fetch(what: Fetch): Promise<void> {
    const pids = [...(what.pids ?? [])].filter(isPid);
    await this.#fetchOnce(what, pids);
    // Known only now: the files of these are found with another thread.
    const headless = this.#snapshot.headless().filter((pid) => pids.includes(pid));
    if (headless.some((pid) => this.#snapshot.threads(pid).length === 0)) await this.#fetchOnce({}, headless);
  }

  async #fetchOnce(what: Fetch, pids: readonly number[]): Promise<void> {
    // Of a link that is listed twice, nothing would be believed.
    const programs = [...(what.programs ?? [])].filter((pid) => isPid(pid) && !pids.includes(pid));
    const parameters: Parameters = {
      bulk: what.bulk === true ? 1 : 0,
      machine: what.bulk === true || what.machine === true ? 1 : 0,
      pids: pids.join(' '),
      programs: programs.join(' '),
      pss: this.#pssDue(pids).join(' '),
      sockets: [...(what.sockets ?? [])].filter(isPid).join(' '),
      everyone: what.everyone === true ? 1 : 0,
      tables: what.tables === true ? 1 : 0,
      networks: [...(what.networks ?? [])].join(' '),
      tasks: this.#snapshot
        .headless()
        .filter((pid) => pids.includes(pid))
        .join(' '),
      marks: MARK_NAMES.join('|'),
      ls: this.#contact.tools.has('ls-b') ? 'b' : '',
      root: this.#contact.uid === 0 ? 1 : 0,
    };
    this.trips += 1;
    let answer: Awaited<ReturnType<RemoteShell['run']>>;
    try {
      answer = await this.#shell.run(lookScript, parameters, DEADLINE_MS);
    } catch (error) {
      throw new LookFailed(messageOf(error), error, this.#shell.host);
    }
    // Reached again after a boot, or in another container: identities made here would be of the wrong place.
    const { bootId, pidNamespace } = placeOf(answer, this.#contact);
    const { observer } = this.#contact;
    if (bootId !== observer.bootId || pidNamespace !== observer.pidNamespace) {
      throw new LookFailed('it has booted since it was connected to', undefined, this.#shell.host);
    }
    if (what.bulk === true) this.#snapshot.clear();
    try {
      this.#snapshot.add(answer, pids, programs);
    } catch (error) {
      throw new LookFailed(messageOf(error), error, this.#shell.host);
    }
    if (what.bulk === true && this.#snapshot.pids().length === 0) {
      throw new LookFailed('its /proc listed no process', undefined, this.#shell.host);
    }
    this.#keepPss(pids);
  }

  #pssDue(pids: readonly number[]): number[] {
    const now = performance.now();
    return pids.filter((pid) => now - (this.#pss.get(pid)?.at ?? Number.NEGATIVE_INFINITY) >= PSS_LIFETIME_MS);
  }

  /** What was not fetched anew is told again, of the same process only. */
  #keepPss(pids: readonly number[]): void {
    for (const pid of pids) {
      const startTicks = this.#snapshot.startOf(pid);
      const bytes = this.#snapshot.raw(`${pid}/smaps_rollup`);
      const known = this.#pss.get(pid);
      if (startTicks === null) this.#pss.delete(pid);
      else if (bytes !== null) this.#pss.set(pid, { startTicks, at: performance.now(), bytes });
      else if (known?.startTicks === startTicks) this.#snapshot.keep(`${pid}/smaps_rollup`, known.bytes);
    }
  }

  #next<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#line.then(work, work);
    this.#line = turn.catch(() => undefined);
    return turn;
  }
}
