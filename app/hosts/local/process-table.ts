import { MARK_NAMES, type MarkName } from '../host.ts';
import { decodeArgv, pickVariables } from './procfs/argv.ts';
import type { ProcReader, Read } from './procfs/read.ts';
import { isFinished, type ProcStat, parseStat } from './procfs/stat.ts';

export type Marks = Readonly<Partial<Record<MarkName, string>>>;

/** A process as the table keeps it between looks. */
export interface Entry {
  readonly stat: ProcStat;
  /** Raw argv bytes; null where they could not be read. */
  readonly rawArgv: Buffer | null;
  readonly argv: readonly string[];
  readonly marks: Marks;
  /** Changes whenever something was read that recognition depends on. */
  readonly revision: number;
}

export interface TableGap {
  readonly pid: number;
  readonly why: string;
}

/** A process younger than this is read again each time: fork and exec are two steps, and exec keeps the identity. */
const YOUNG_SECONDS = 30;
/** Each look reads one part in this many of the processes nobody asked about. */
const ROTATION = 24;
/** USER_HZ, the unit of `/proc`'s times, is 100 on every architecture that Node runs on. */
export const TICKS_PER_SECOND = 100;

const NO_MARKS: Marks = {};

/**
 * Where the files of a process can be read: its own folder, or, when its main thread has left and others live on,
 * that of another thread, since the main thread's memory and files are gone by then.
 */
export function livePath(reader: ProcReader, stat: ProcStat): string {
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
  readonly #reader: ProcReader;
  readonly #ownUid: number;
  readonly #entries = new Map<number, Entry>();
  #turn = 0;
  #youngSince = 0;
  #revision = 0;

  constructor(reader: ProcReader, ownUid: number) {
    this.#reader = reader;
    this.#ownUid = ownUid;
  }

  get entries(): ReadonlyMap<number, Entry> {
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
    for (const pid of this.#entries.keys()) if (!listed.has(pid)) this.#entries.delete(pid);
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
      const why = skip.has(pid) ? 'reading it does not return' : this.reread(pid);
      if (why !== null) gaps.push({ pid, why });
    }
    return gaps;
  }

  /** Reads one process again. Returns why it could not be read, or null when it was read or is not there. */
  reread(pid: number): string | null {
    const read = this.#reader.bytes(pid, 'stat');
    if (!read.ok) {
      this.#entries.delete(pid);
      return read.reason === 'vanished' ? null : read.why;
    }
    const stat = parseStat(read.value);
    if (stat === null) {
      this.#entries.delete(pid);
      return 'its stat line could not be understood';
    }
    const before = this.#entries.get(pid);
    const known = before?.stat.startTicks === stat.startTicks ? before : undefined;
    if (stat.kernelThread) {
      this.#entries.set(pid, known ? { ...known, stat } : this.#entry(stat, null, NO_MARKS));
      return null;
    }
    const path = livePath(this.#reader, stat);
    const cmdline = this.#reader.bytes(pid, `${path}cmdline`);
    if (!cmdline.ok) {
      if (cmdline.reason === 'vanished') {
        this.#entries.delete(pid);
        return null;
      }
      this.#entries.set(pid, this.#entry(stat, null, NO_MARKS));
      return cmdline.why;
    }
    const unchanged = known?.rawArgv?.equals(cmdline.value) === true && known.stat.comm === stat.comm;
    if (known !== undefined && unchanged && Number(stat.startTicks) < this.#youngSince) {
      this.#entries.set(pid, { ...known, stat });
      return null;
    }
    const rawArgv = unchanged && known !== undefined ? known.rawArgv : Buffer.from(cmdline.value);
    const marks = this.#marks(pid, path, known);
    const same = unchanged && known !== undefined && JSON.stringify(marks) === JSON.stringify(known.marks);
    this.#entries.set(pid, same ? { ...known, stat } : this.#entry(stat, rawArgv, marks));
    return null;
  }

  forget(pid: number): void {
    this.#entries.delete(pid);
  }

  #entry(stat: ProcStat, rawArgv: Buffer | null, marks: Marks): Entry {
    this.#revision += 1;
    return { stat, rawArgv, argv: rawArgv === null ? [] : decodeArgv(rawArgv), marks, revision: this.#revision };
  }

  /** Marks of our own user's processes; the environments of others are none of our business, also as root. */
  #marks(pid: number, path: string, known: Entry | undefined): Marks {
    if (this.#ownUid === 0) {
      const owner = this.#reader.folderUid(pid);
      if (!owner.ok || owner.value !== 0) return NO_MARKS;
    }
    const environ: Read<Buffer> = this.#reader.bytes(pid, `${path}environ`);
    if (!environ.ok) return known?.marks ?? NO_MARKS;
    return pickVariables(environ.value, MARK_NAMES);
  }
}
