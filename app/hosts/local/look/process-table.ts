import { MARK_NAMES, type Marks } from '../../host.ts';
import { isFinished } from '../../process-info.ts';
import { decodeArgv, pickVariables } from '../procfs/argv.ts';
import type { ProcSource } from '../procfs/read.ts';
import { type ProcStat, parseStat } from '../procfs/stat.ts';
import { isReaper } from './reapers.ts';

/** A process as the table keeps it between looks. */
export class TableEntry {
  readonly stat: ProcStat;
  /** Raw argv bytes; null where they could not be read. */
  readonly rawArgv: Buffer | null;
  /** Null while they have not been read, or could not be. */
  readonly marks: Marks | null;
  /** Changes whenever something was read that recognition depends on. */
  readonly revision: number;
  #argv: readonly string[] | null = null;

  constructor(stat: ProcStat, rawArgv: Buffer | null, marks: Marks | null, revision: number) {
    this.stat = stat;
    this.rawArgv = rawArgv;
    this.marks = marks;
    this.revision = revision;
  }

  /** Decoded when first asked for: of most processes nobody asks. */
  get argv(): readonly string[] {
    this.#argv ??= this.rawArgv === null ? [] : decodeArgv(this.rawArgv);
    return this.#argv;
  }

  /** The same with what has changed meanwhile. */
  with(stat: ProcStat, marks: Marks | null = this.marks): TableEntry {
    const next = new TableEntry(stat, this.rawArgv, marks, this.revision);
    next.#argv = this.#argv;
    return next;
  }

  /** Carries a mark that a server leaves in its children; the other variables only describe. */
  get marked(): boolean {
    const { marks } = this;
    return marks !== null && SERVER_MARKS.some((mark) => marks[mark] !== undefined);
  }
}

export interface TableGap {
  readonly pid: number;
  readonly why: string;
}

/** A process younger than this is read again each time: fork and exec are two steps, and exec keeps the identity. */
const YOUNG_SECONDS = 10;
/** Each look reads one part in this many of the processes nobody asked about. */
const ROTATION = 24;
/** USER_HZ, the unit of `/proc`'s times, is 100 on every architecture that Node runs on. */
export const TICKS_PER_SECOND = 100;

/**
 * Environments that a look reads although nothing speaks for a mark in them (see `#likely`). On most machines these
 * are all there are; in a crowd the others follow in the next looks.
 */
const UNLIKELY_ENVIRONMENTS = 400;

const SERVER_MARKS = ['OPENCODE_PID', 'KILO_PID', 'ROLLCALL_NONCE'] as const;

/**
 * Where the files of a process can be read: its own folder, or, when its main thread has left and others live on,
 * that of another thread, since the main thread's memory and files are gone by then.
 */
export function livePath(reader: ProcSource, stat: ProcStat): string {
  if (stat.state !== 'Z' && stat.state !== 'X') return '';
  if (isFinished(stat)) return '';
  const tid = reader.threads(stat.pid).find((thread) => thread !== stat.pid);
  return tid === undefined ? '' : `task/${tid}/`;
}

/**
 * The process table, kept between looks so that a later look reads only what is new, young, of interest or due.
 * An entry is dropped as soon as its PID is not listed, or another start time stands there.
 */
export class ProcessTable {
  readonly #reader: ProcSource;
  readonly #ownUid: number;
  readonly #entries = new Map<number, TableEntry>();
  /** PIDs whose environment is still to be read. */
  readonly #owed = new Set<number>();
  #turn = 0;
  #youngSince = 0;
  #revision = 0;

  constructor(reader: ProcSource, ownUid: number) {
    this.#reader = reader;
    this.#ownUid = ownUid;
  }

  get entries(): ReadonlyMap<number, TableEntry> {
    return this.#entries;
  }

  /**
   * Brings the table up to date. Processes that vanish meanwhile are simply not there.
   *
   * @param uptimeSeconds of the system, to know the young ones
   * @param ofInterest PIDs to read again in any case
   * @param skip PIDs that must not be read now because reading them blocks
   * @returns what exists but could not be read
   */
  refresh(uptimeSeconds: number, ofInterest: ReadonlySet<number>, skip: ReadonlySet<number>): TableGap[] {
    const gaps: TableGap[] = [];
    const listed = new Set(this.#reader.pids());
    for (const pid of this.#entries.keys()) if (!listed.has(pid)) this.forget(pid);
    this.#youngSince = (uptimeSeconds - YOUNG_SECONDS) * TICKS_PER_SECOND;
    this.#turn = (this.#turn + 1) % ROTATION;
    for (const pid of listed) {
      const known = this.#entries.get(pid);
      const due =
        known === undefined ||
        ofInterest.has(pid) ||
        pid % ROTATION === this.#turn ||
        Number(known.stat.startTicks) >= this.#youngSince;
      if (!due) continue;
      const why = skip.has(pid) ? 'reading it does not return' : this.#reread(pid);
      if (why !== null) gaps.push({ pid, why });
    }
    this.#readEnvironments(skip);
    return gaps;
  }

  /**
   * Reads one process again, its environment too, for a process may take another one and keep its arguments. Returns why
   * it could not be read; null when it was or is not there.
   */
  reread(pid: number): string | null {
    const why = this.#reread(pid);
    this.#readMarks(pid);
    return why;
  }

  forget(pid: number): void {
    this.#entries.delete(pid);
    this.#owed.delete(pid);
  }

  /** Reads what a process is; its environment is then owed where it may have changed. */
  #reread(pid: number): string | null {
    const read = this.#reader.bytes(pid, 'stat');
    if (!read.ok) {
      this.forget(pid);
      return read.reason === 'vanished' ? null : read.why;
    }
    const stat = parseStat(read.value);
    if (stat === null) {
      this.forget(pid);
      return 'its stat line could not be understood';
    }
    const before = this.#entries.get(pid);
    const known = before?.stat.startTicks === stat.startTicks ? before : undefined;
    if (stat.kernelThread) {
      this.#entries.set(pid, known?.with(stat) ?? this.#entry(stat, null, null));
      return null;
    }
    const cmdline = this.#reader.bytes(pid, `${livePath(this.#reader, stat)}cmdline`);
    if (!cmdline.ok) {
      this.forget(pid);
      if (cmdline.reason === 'vanished') return null;
      this.#entries.set(pid, this.#entry(stat, null, null));
      return cmdline.why;
    }
    const unchanged = known?.rawArgv?.equals(cmdline.value) === true && known.stat.comm === stat.comm;
    if (known !== undefined && unchanged) {
      this.#entries.set(pid, known.with(stat));
    } else {
      this.#entries.set(pid, this.#entry(stat, Buffer.from(cmdline.value), known?.marks ?? null));
    }
    // An exec with the same arguments can bring another environment, and is likely only while a process is young.
    if (!unchanged || Number(stat.startTicks) >= this.#youngSince) this.#owed.add(pid);
    return null;
  }

  #entry(stat: ProcStat, rawArgv: Buffer | null, marks: Marks | null): TableEntry {
    this.#revision += 1;
    return new TableEntry(stat, rawArgv, marks, this.#revision);
  }

  /** Reads the environments owed that may well hold a mark, and of the others as many as a look has time for. */
  #readEnvironments(skip: ReadonlySet<number>): void {
    const unlikely = new Set<number>();
    const decide = (pid: number): void => {
      if (!this.#owed.has(pid) || unlikely.has(pid) || skip.has(pid)) return;
      const entry = this.#entries.get(pid);
      if (entry === undefined) return;
      unlikely.add(pid); // also ends a circle, which a table read in the middle of changes might have
      // A parent is decided first, since its mark decides over its children.
      decide(entry.stat.ppid);
      if (!this.#likely(entry)) return;
      unlikely.delete(pid);
      this.#readMarks(pid);
    };
    for (const pid of [...this.#owed]) decide(pid);
    let left = UNLIKELY_ENVIRONMENTS;
    for (const pid of unlikely) {
      if (left === 0) break;
      left -= 1;
      this.#readMarks(pid);
    }
  }

  /**
   * Whether a process may well carry a mark. An environment is handed down: the child of a living parent that has no
   * mark has none either, unless that parent is a server, whose tree is read in any case, or has it by adoption. Who
   * was adopted is the child of a reaper, or stands in a session that is not its parent's.
   */
  #likely({ stat }: TableEntry): boolean {
    const parent = this.#entries.get(stat.ppid);
    if (parent === undefined || parent.marked || stat.session !== parent.stat.session) return true;
    return isReaper({ pid: parent.stat.pid, comm: parent.stat.comm, argv: parent.argv });
  }

  /** Marks of our own user's processes; the environments of others are none of our business, also as root. */
  #readMarks(pid: number): void {
    this.#owed.delete(pid);
    const entry = this.#entries.get(pid);
    if (entry === undefined || entry.stat.kernelThread) return;
    const environ = this.#reader.ownBytes(pid, `${livePath(this.#reader, entry.stat)}environ`, this.#ownUid);
    const marks = environ.ok ? pickVariables(environ.value, MARK_NAMES) : null;
    if (marks === entry.marks || (marks !== null && entry.marks !== null && sameMarks(marks, entry.marks))) return;
    this.#entries.set(pid, entry.with(entry.stat, marks));
  }
}

function sameMarks(one: Marks, other: Marks): boolean {
  return MARK_NAMES.every((name) => one[name] === other[name]);
}
