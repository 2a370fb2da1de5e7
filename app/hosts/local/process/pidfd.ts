import { closeSync, fstatSync, readFileSync, statfsSync } from 'node:fs';
import { constants } from 'node:os';
import type { Libc } from '../../../util/libc.ts';
import type { ExitStatus, Signal } from '../../host.ts';

/** PID_FS_MAGIC of linux/magic.h. */
const PIDFS_MAGIC = 0x5049_4446;

export type PidfdOpened =
  | { readonly opened: true; readonly pidfd: Pidfd }
  /** No process has the PID. */
  | { readonly opened: false; readonly reason: 'absent' }
  /** The number is no process: a thread's, as EINVAL (or ENOENT since Linux 6.9) says. */
  | { readonly opened: false; readonly reason: 'not-a-process' }
  | { readonly opened: false; readonly reason: 'failed'; readonly why: string };

/** A kernel handle on one process: it never comes to mean another, whatever happens to the number. */
export class Pidfd {
  readonly fd: number;
  readonly #pid: number;
  readonly #libc: Libc;
  #open = true;

  /** @param pid the number it was opened by */
  constructor(libc: Libc, fd: number, pid: number) {
    this.#libc = libc;
    this.fd = fd;
    this.#pid = pid;
  }

  /**
   * The inode that tells this process from every other of this boot; null on kernels where all pidfds share one
   * anonymous inode (before Linux 6.9).
   */
  id(): string | null {
    // The fd's own filesystem decides, not the kernel's version: distributions backport.
    if (statfsSync(`/proc/self/fd/${this.fd}`).type !== PIDFS_MAGIC) return null;
    return String(fstatSync(this.fd, { bigint: true }).ino);
  }

  hasExited(): boolean {
    return this.#libc.hasExited(this.fd);
  }

  /** How it ended, also of a process that is no child of ours; null while it lives, and where nothing tells. */
  exitStatus(): ExitStatus | null {
    const collected = this.#libc.pidfdWaitStatus(this.fd);
    if (collected !== null) return decodeWaitStatus(collected);
    if (!this.hasExited()) return null;
    const waiting = zombieStatus(this.#pid);
    // Collected while it was read: the number may have meant another process by then, the pidfd never does.
    const since = this.#libc.pidfdWaitStatus(this.fd);
    const status = since ?? waiting;
    return status === null ? null : decodeWaitStatus(status);
  }

  /** Null when sent, else the name of the error (`ESRCH` when it is gone). */
  send(signal: Signal): string | null {
    return this.#libc.pidfdSendSignal(this.fd, constants.signals[signal]);
  }

  close(): void {
    if (!this.#open) return;
    this.#open = false;
    closeSync(this.fd);
  }
}

/** As wait(2) packs it: the signal in the low seven bits, else the code in the byte above. */
function decodeWaitStatus(status: number): ExitStatus {
  const number = status & 0x7f;
  if (number === 0) return { code: (status >> 8) & 0xff, signal: null };
  const [name] = Object.entries(constants.signals).find(([, value]) => value === number) ?? [`signal ${number}`];
  return { code: null, signal: name };
}

/** `exit_code` of proc_pid_stat(5), the last field, of a process that waits to be collected. */
function zombieStatus(pid: number): number | null {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1');
    const fields = text
      .slice(text.lastIndexOf(')') + 2)
      .trimEnd()
      .split(' ');
    const status = Number(fields.at(-1));
    return fields[0] === 'Z' && Number.isInteger(status) ? status : null;
  } catch {
    // Collected in the meantime; then the pidfd tells.
    return null;
  }
}

/** Opens a pidfd on whatever process has that PID now. The caller closes it. */
export function openPidfd(libc: Libc, pid: number): PidfdOpened {
  const result = libc.pidfdOpen(pid);
  if ('fd' in result) return { opened: true, pidfd: new Pidfd(libc, result.fd, pid) };
  switch (result.error) {
    case 'ESRCH':
      return { opened: false, reason: 'absent' };
    case 'EINVAL':
    case 'ENOENT':
      return { opened: false, reason: 'not-a-process' };
    default:
      return { opened: false, reason: 'failed', why: `pidfd_open answered ${result.error}` };
  }
}

/**
 * Whether this kernel lets us open and use pidfds: a sandbox may forbid the calls, and old kernels lack them.
 * Null when they work, else why not.
 */
export function pidfdProblem(libc: Libc): string | null {
  const own = openPidfd(libc, process.pid);
  if (!own.opened) return own.reason === 'failed' ? own.why : 'pidfd_open does not know this very process';
  // Signal 0 checks that sending is allowed and sends nothing.
  const refused = libc.pidfdSendSignal(own.pidfd.fd, 0);
  own.pidfd.close();
  return refused === null ? null : `pidfd_send_signal answered ${refused}`;
}
