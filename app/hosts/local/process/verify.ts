import type {
  Evidence,
  Observation,
  Observer,
  ProcessIdentity,
  ProcessRef,
  Verdict,
} from '../../../identity/identity.ts';
import { judge } from '../../../identity/judge.ts';
import { refusePid } from '../../../identity/refuse.ts';
import { codeOf } from '../../../util/errors.ts';
import type { Libc } from '../../../util/libc.ts';
import { isFinished } from '../../process-info.ts';
import { livePath, TICKS_PER_SECOND } from '../look/process-table.ts';
import { hashArgv } from '../procfs/argv.ts';
import { ProcReader } from '../procfs/read.ts';
import { type ProcStat, parseStat } from '../procfs/stat.ts';
import { parseStatus } from '../procfs/status.ts';
import { openPidfd, type Pidfd } from './pidfd.ts';

export interface VerifierOptions {
  readonly observer: Observer;
  readonly procRoot: string;
  readonly libc: Libc | null;
  readonly ownUid: number;
}

/** A process may exit while it is read; it is then read once more. */
const ATTEMPTS = 3;

/** The processes that are never a target: this one and every ancestor of it. */
export function selfAndAncestors(reader: ProcReader, pid = process.pid): ReadonlySet<number> {
  const line = new Set<number>();
  for (let next = pid; next > 0 && !line.has(next); ) {
    line.add(next);
    const stat = reader.bytes(next, 'stat');
    next = stat.ok ? (parseStat(stat.value)?.ppid ?? 0) : 0;
  }
  return line;
}

/** Gives verdicts on recorded processes from fresh reads of `/proc`. Reads are synchronous: nothing comes between. */
export class Verifier {
  readonly #options: VerifierOptions;
  readonly #reader: ProcReader;
  readonly #self: ReadonlySet<number>;

  constructor(options: VerifierOptions) {
    this.#options = options;
    this.#reader = new ProcReader(options.procRoot);
    this.#self = selfAndAncestors(this.#reader);
  }

  /** Why a number may not be a target at all, or null. */
  refuse(pid: number): string | null {
    return refusePid(pid, this.#self);
  }

  /** A fresh verdict. Never throws. A number that may not be a target is `unknown`, and so is another user's process. */
  verify(ref: ProcessRef): Verdict {
    const refused = this.refuse(ref.identity.pid);
    if (refused !== null) return { verdict: 'unknown', why: refused };
    return this.#judge(ref, this.observe(ref.identity.pid, ref.identity.pidfdId === undefined));
  }

  /**
   * A fresh verdict through a pidfd that the caller holds, or null when that pidfd's process has exited: what was
   * read may then be of another process. The pidfd was opened before these reads and is asked after them.
   *
   * @param proved this very pidfd has been proved to be the recorded process before. It still is then, whatever program
   *   it runs or title it carries by now; only its user is looked at anew.
   */
  verifyHeld(ref: ProcessRef, pidfd: Pidfd, proved = false): Verdict | null {
    const wantsEvidence = !proved && (ref.identity.pidfdId === undefined || pidfd.id() === null);
    const seen = this.#read(ref.identity.pid, pidfd, wantsEvidence);
    if (pidfd.hasExited()) return null;
    return this.#judge(ref, proved && seen.found === 'process' ? { ...seen, evidence: ref.evidence } : seen);
  }

  #judge(ref: ProcessRef, seen: Observation & { readonly uid?: number }): Verdict {
    const verdict = judge(ref, this.#options.observer, seen);
    if (verdict.verdict === 'same' && seen.uid !== undefined && seen.uid !== this.#options.ownUid) {
      return {
        verdict: 'unknown',
        why: `it belongs to another user (uid ${seen.uid}), whose processes are never touched`,
      };
    }
    return verdict;
  }

  /**
   * What stands at a PID now. The program and its arguments are read only where one side has no pidfd inode and they
   * must serve as evidence: `cmdline` takes the lock of the process's memory, which a process that hangs in the
   * kernel may hold for ever, and this runs on the caller's thread. `stat` and `status` cannot block so: the kernel
   * writes them from the task itself and takes that lock for neither.
   */
  observe(pid: number, withArguments: boolean): Observation & { readonly uid?: number } {
    for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
      const opened = this.#options.libc === null ? null : openPidfd(this.#options.libc, pid);
      if (opened?.opened === false && opened.reason === 'absent') return { found: 'absent' };
      const pidfd = opened?.opened === true ? opened.pidfd : null;
      try {
        const seen = this.#read(pid, pidfd, withArguments || (pidfd?.id() ?? null) === null);
        const exitedMeanwhile = pidfd?.hasExited() === true && seen.found === 'process' && !seen.finished;
        if (!exitedMeanwhile) return seen;
      } finally {
        pidfd?.close();
      }
    }
    return { found: 'failed', why: 'it changed while it was read' };
  }

  #read(pid: number, pidfd: Pidfd | null, withArguments: boolean): Observation & { readonly uid?: number } {
    const text = this.#reader.text(pid, 'status');
    if (!text.ok) {
      if (text.reason !== 'vanished') return { found: text.reason, why: text.why };
      return this.#absentFromProc(pid, pidfd);
    }
    const status = parseStatus(text.value);
    if (status === null) return { found: 'failed', why: 'its status could not be understood' };
    if (status.tgid !== pid) return { found: 'thread', of: this.#name(status.tgid) };
    const raw = this.#reader.bytes(pid, 'stat');
    if (!raw.ok) return raw.reason === 'vanished' ? { found: 'absent' } : { found: raw.reason, why: raw.why };
    const stat = parseStat(raw.value);
    if (stat === null) return { found: 'failed', why: 'its stat line could not be understood' };
    const pidfdId = pidfd?.id() ?? null;
    const identity: ProcessIdentity = {
      ...this.#options.observer,
      pid,
      startTime: `linux:${stat.startTicks}`,
      ...(pidfdId === null ? {} : { pidfdId }),
    };
    return {
      found: 'process',
      identity,
      evidence: withArguments ? this.#evidence(stat) : { executable: null, argvHash: null },
      name: { pid, name: stat.comm, startedAt: this.#startedAt(stat) },
      finished: isFinished(stat),
      uid: status.realUid,
    };
  }

  /** With hidepid, `/proc` hides processes that are there; the kernel is then asked in another way. */
  #absentFromProc(pid: number, pidfd: Pidfd | null): Observation {
    if (pidfd !== null) {
      return pidfd.hasExited()
        ? { found: 'absent' }
        : { found: 'denied', why: 'it is alive, but hidden from this user' };
    }
    try {
      process.kill(pid, 0); // signal 0 sends nothing: it asks whether the number is in use
    } catch (error) {
      const code = codeOf(error);
      if (code === 'ESRCH') return { found: 'absent' };
      if (code === 'EPERM') return { found: 'denied', why: 'it is alive, but hidden from this user' };
    }
    return { found: 'failed', why: 'it is alive, but could not be read' };
  }

  #evidence(stat: ProcStat): Evidence {
    const path = livePath(this.#reader, stat);
    const executable = this.#reader.executable(stat.pid, path);
    const cmdline = this.#reader.bytes(stat.pid, `${path}cmdline`);
    return {
      executable: executable.ok ? executable.value : null,
      argvHash: cmdline.ok ? hashArgv(cmdline.value) : null,
    };
  }

  /** The recorded form of a process as it stands now, for a child just spawned; null when it cannot be read. */
  capture(pid: number): ProcessRef | null {
    const seen = this.observe(pid, true);
    return seen.found === 'process' ? { identity: seen.identity, evidence: seen.evidence } : null;
  }

  #name(pid: number): { readonly pid: number; readonly name: string; readonly startedAt: number | null } {
    const raw = this.#reader.bytes(pid, 'stat');
    const stat = raw.ok ? parseStat(raw.value) : null;
    return stat === null
      ? { pid, name: `PID ${pid}`, startedAt: null }
      : { pid, name: stat.comm, startedAt: this.#startedAt(stat) };
  }

  #startedAt(stat: ProcStat): number | null {
    const text = this.#reader.global('uptime');
    const seconds = text.ok ? Number.parseFloat(text.value) : Number.NaN;
    if (!Number.isFinite(seconds)) return null;
    return Math.round(Date.now() - (seconds - Number(stat.startTicks) / TICKS_PER_SECOND) * 1000);
  }
}
