/**
 * Signals to children of this process and to the groups that they lead, which have no record. A child that is not collected
 * keeps its number and its group; where the kernel has pidfds, the signal still goes through one. Signals to any
 * other process go through a `ProcessHandle` of its host.
 */
import type { ChildProcess } from 'node:child_process';
import { closeSync } from 'node:fs';
import { constants } from 'node:os';
import { codeOf } from './errors.ts';
import { loadedLibc } from './libc.ts';

export function isRunning(child: ChildProcess): child is ChildProcess & { readonly pid: number } {
  return child.pid !== undefined && child.exitCode === null && child.signalCode === null;
}

/** @returns whether the kernel took the signal; false for one that has ended */
export function signalChild(child: ChildProcess, signal: NodeJS.Signals): boolean {
  return isRunning(child) && send(child.pid, signal, false);
}

/** The same for a child that was started `detached`, and all that it has started in its group. Windows has no groups. */
export function signalChildGroup(leader: ChildProcess, signal: NodeJS.Signals): boolean {
  if (!isRunning(leader)) return false;
  if (process.platform === 'win32') return send(leader.pid, signal, false);
  try {
    return send(leader.pid, signal, true);
  } catch (error) {
    // macOS refuses a group of which a member has ended already.
    if (codeOf(error) !== 'EPERM') throw error;
    return send(leader.pid, signal, false);
  }
}

/** The same for a leader that is not a child of this process, and that its handle has just proved. */
export function signalProvedGroup(leader: number, signal: NodeJS.Signals): boolean {
  return send(leader, signal, true);
}

function send(pid: number, signal: NodeJS.Signals, group: boolean): boolean {
  return sendByPidfd(pid, signal, group) ?? sendByNumber(group ? -pid : pid, signal);
}

/** Null without pidfds, or with pidfds that cannot reach a group (before Linux 6.9). */
function sendByPidfd(pid: number, signal: NodeJS.Signals, group: boolean): boolean | null {
  const libc = loadedLibc();
  const opened = libc?.pidfdOpen(pid) ?? { error: 'ENOSYS' };
  if (libc === null || !('fd' in opened)) return 'error' in opened && opened.error === 'ESRCH' ? false : null;
  try {
    const error = libc.pidfdSendSignal(opened.fd, constants.signals[signal], group);
    if (error === null) return true;
    return error === 'ESRCH' ? false : null;
  } finally {
    closeSync(opened.fd);
  }
}

function sendByNumber(whom: number, signal: NodeJS.Signals): boolean {
  try {
    return process.kill(whom, signal);
  } catch (error) {
    if (codeOf(error) === 'ESRCH') return false;
    throw error;
  }
}
