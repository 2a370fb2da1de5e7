import type { Evidence, Observer, ProcessIdentity } from '../../../identity/identity.ts';
import type { Libc } from '../../../util/libc.ts';
import type { ProcessInfo } from '../../host.ts';
import { isFinished } from '../../process-info.ts';
import { namespaceId } from '../process/observer.ts';
import { openPidfd } from '../process/pidfd.ts';
import { hashArgv } from '../procfs/argv.ts';
import { leafCgroup } from '../procfs/cgroup.ts';
import type { ProcSource } from '../procfs/read.ts';
import type { ProcStat } from '../procfs/stat.ts';
import { parsePss, parseStatus } from '../procfs/status.ts';
import { livePath, type ProcessTable, type TableEntry, TICKS_PER_SECOND } from './process-table.ts';

/**
 * PSS makes the kernel walk every page of the process, so it is read anew only after this long, in seconds; of a young
 * process, which still grows, after as long as it had lived when it was read.
 */
const PSS_LIFETIME = 10;

/**
 * CPU is told over at least this long, in seconds. The kernel counts in ticks of 10 ms: over a tenth of a second, one of
 * them would read as a process that takes a tenth of a core.
 */
const CPU_SPAN = 1;

interface Remembered {
  readonly startTicks: string;
  readonly startedAt: number;
  /** Where the span that is measured now began. */
  readonly cpuTicks: number;
  readonly cpuAt: number;
  /** Of the last whole span; null before there was one. */
  readonly cpuPercent: number | null;
  /** `until` is an uptime in seconds, which no setting of the clock changes. */
  readonly pss: { readonly bytes: number | null; readonly until: number } | null;
}

export interface Detail {
  readonly info: ProcessInfo;
  /** What of it could not be read; null when everything was. */
  readonly gap: string | null;
}

/** Reads everything of one process that a look tells, and remembers what the next look needs for differences. */
export class DetailReader {
  readonly #reader: ProcSource;
  readonly #observer: Observer;
  readonly #libc: Libc | null;
  #remembered = new Map<number, Remembered>();
  #pidfdIds = new Map<number, string>();

  constructor(reader: ProcSource, observer: Observer, libc: Libc | null) {
    this.#reader = reader;
    this.#observer = observer;
    this.#libc = libc;
  }

  /**
   * Details of a process of the table; null when it has vanished meanwhile.
   *
   * The pidfd is opened first and the table's entry read again after it, so that identity and details are of the
   * process behind that pidfd even if its number has come round within one tick.
   */
  read(
    pid: number,
    table: ProcessTable,
    clock: { readonly now: number; readonly uptime: number },
    wantPss: boolean,
  ): Detail | null {
    const opened = this.#libc === null ? null : openPidfd(this.#libc, pid);
    // The kernel shows a thread's number in /proc, too, with what looks like a process of its own; nobody has that PID.
    if (opened?.opened === false && opened.reason !== 'failed') return null;
    const pidfd = opened?.opened === true ? opened.pidfd : null;
    try {
      const pidfdId = pidfd?.id() ?? null;
      if (pidfdId !== null && this.#pidfdIds.get(pid) !== pidfdId) {
        // Another process, or the first sight of it: nothing known under this number may be kept.
        table.forget(pid);
        this.#remembered.delete(pid);
        this.#pidfdIds.set(pid, pidfdId);
      }
      table.reread(pid);
      const entry = table.entries.get(pid);
      if (entry === undefined) return null;
      if (opened?.opened !== true && this.#isThread(pid)) return null;
      const detail = this.#describe(entry, pidfdId, clock, wantPss);
      if (pidfd?.hasExited() === true && !isFinished(entry.stat)) return null;
      return detail;
    } finally {
      pidfd?.close();
    }
  }

  /** Where no kernel handle tells. */
  #isThread(pid: number): boolean {
    const status = this.#reader.text(pid, 'status');
    const tgid = status.ok ? parseStatus(status.value)?.tgid : undefined;
    return tgid !== undefined && tgid !== pid;
  }

  /** Drops what is remembered of processes that are no longer of interest. */
  keepOnly(pids: ReadonlySet<number>): void {
    for (const pid of this.#remembered.keys()) if (!pids.has(pid)) this.#remembered.delete(pid);
    for (const pid of this.#pidfdIds.keys()) if (!pids.has(pid)) this.#pidfdIds.delete(pid);
  }

  #describe(
    entry: TableEntry,
    pidfdId: string | null,
    clock: { readonly now: number; readonly uptime: number },
    wantPss: boolean,
  ): Detail {
    const { stat } = entry;
    const path = livePath(this.#reader, stat);
    const gaps: string[] = [];
    const status = this.#reader.text(stat.pid, 'status');
    const parsed = status.ok ? parseStatus(status.value) : null;
    const executable = this.#reader.executable(stat.pid, path);
    const cwd = this.#reader.link(stat.pid, `${path}cwd`);
    const cgroup = this.#reader.text(stat.pid, 'cgroup');
    const namespace = this.#reader.link(stat.pid, 'ns/pid');
    for (const read of [status, executable, cwd, cgroup]) {
      if (!read.ok && read.reason !== 'vanished') gaps.push(read.why);
    }
    if (entry.rawArgv === null && !stat.kernelThread) gaps.push('its arguments could not be read');
    const remembered = this.#remember(stat, clock, wantPss);
    const { startTicks } = stat;
    const identity: ProcessIdentity = {
      ...this.#observer,
      pid: stat.pid,
      startTime: `linux:${startTicks}`,
      ...(pidfdId === null ? {} : { pidfdId }),
    };
    const evidence: Evidence = {
      executable: executable.ok ? executable.value : null,
      argvHash: entry.rawArgv === null ? null : hashArgv(entry.rawArgv),
    };
    const info: ProcessInfo = {
      identity,
      pid: stat.pid,
      ppid: stat.ppid,
      pgrp: stat.pgrp,
      session: stat.session,
      tty: stat.tty,
      tpgid: stat.tpgid,
      state: stat.state,
      threads: stat.threads,
      startTime: identity.startTime,
      startedAt: remembered.startedAt,
      ageMs: remembered.ageMs,
      comm: stat.comm,
      argv: entry.argv,
      argvHash: evidence.argvHash,
      executable: evidence.executable,
      cwd: cwd.ok ? cwd.value : null,
      uid: parsed?.realUid ?? null,
      rssBytes: parsed?.rssBytes ?? 0,
      pssBytes: remembered.pss?.bytes ?? null,
      cpuPercent: remembered.cpuPercent,
      ignoresHangup: parsed?.ignoresHangup ?? null,
      cgroup: cgroup.ok ? leafCgroup(cgroup.value) : null,
      ownPidNamespace: namespace.ok ? namespaceId(namespace.value) : null,
      marks: entry.marks,
    };
    return { info, gap: gaps.length === 0 ? null : gaps.join('; ') };
  }

  #remember(
    stat: ProcStat,
    clock: { readonly now: number; readonly uptime: number },
    wantPss: boolean,
  ): Remembered & { readonly ageMs: number } {
    const known = this.#remembered.get(stat.pid);
    const before = known?.startTicks === stat.startTicks ? known : undefined;
    let pss = before?.pss ?? null;
    const age = clock.uptime - Number(stat.startTicks) / TICKS_PER_SECOND;
    if (wantPss && (pss === null || clock.uptime >= pss.until)) {
      const rollup = this.#reader.text(stat.pid, 'smaps_rollup');
      const until = clock.uptime + Math.min(PSS_LIFETIME, age);
      pss = { bytes: rollup.ok ? parsePss(rollup.value) : null, until };
    }
    const remembered: Remembered = {
      startTicks: stat.startTicks,
      // Worked out once: a clock that is set must not make a process look younger or older from look to look.
      startedAt: before?.startedAt ?? Math.round(clock.now - age * 1000),
      ...cpuOf(stat, before, clock.uptime),
      pss,
    };
    this.#remembered.set(stat.pid, remembered);
    return { ...remembered, ageMs: Math.max(0, Math.round(age * 1000)) };
  }
}

/** A span that is long enough is told and the next one begun; a shorter one goes on. */
function cpuOf(
  { cpuTicks }: ProcStat,
  before: Remembered | undefined,
  uptime: number,
): Pick<Remembered, 'cpuTicks' | 'cpuAt' | 'cpuPercent'> {
  if (before === undefined) return { cpuTicks, cpuAt: uptime, cpuPercent: null };
  const span = uptime - before.cpuAt;
  if (span < CPU_SPAN) {
    return { cpuTicks: before.cpuTicks, cpuAt: before.cpuAt, cpuPercent: before.cpuPercent };
  }
  const cpuPercent = (100 * (cpuTicks - before.cpuTicks)) / (span * TICKS_PER_SECOND);
  return { cpuTicks, cpuAt: uptime, cpuPercent };
}
