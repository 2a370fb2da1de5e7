/** The guard's log, from both of its ends: bounded, readable by us alone. */
import { closeSync, constants, fstatSync, ftruncateSync, mkdirSync, openSync, renameSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';

/** A log larger than this is turned over before a new guard writes to it; the one before is kept. */
const TURN_OVER_BYTES = 512 * 1024;
/** One guard that says more than this has its log emptied. */
const LIMIT_BYTES = 4 * TURN_OVER_BYTES;

/**
 * Opens the log for a new guard. The caller closes the descriptor.
 *
 * @throws the system's error when it cannot be opened
 */
export function openGuardLog(path: string): number {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const { O_APPEND, O_CREAT, O_WRONLY, O_NOFOLLOW } = constants;
  const open = (): number => openSync(path, O_WRONLY | O_APPEND | O_CREAT | (O_NOFOLLOW ?? 0), 0o600);
  const descriptor = open();
  if (fstatSync(descriptor).size <= TURN_OVER_BYTES) return descriptor;
  closeSync(descriptor);
  renameSync(path, path.replace(/\.log$/u, '.1.log'));
  return open();
}

/**
 *   app-crashed       the app is gone without a farewell
 *   farewell          the app has gone in order
 *   take-over-failed  it could not take over, and tries again
 *   in-charge         it has taken over
 *   yields            it hands over to an app
 *   finished          it was in charge and is not needed any more
 *   nothing-to-do     somebody else does its work, or did it
 *   stopped, not-stopped  what became of a server
 *   waits             why a server is not ended yet
 *   ssh, lock, unreachable, refused, failed  what went wrong with that
 */
export type GuardEvent =
  | 'app-crashed'
  | 'farewell'
  | 'take-over-failed'
  | 'in-charge'
  | 'yields'
  | 'finished'
  | 'nothing-to-do'
  | 'stopped'
  | 'not-stopped'
  | 'waits'
  | 'ssh'
  | 'lock'
  | 'unreachable'
  | 'refused'
  | 'failed';

/** Writes a line to the guard's standard error, which is its log: time, PID, what happened, and words about it. */
export function say(event: GuardEvent, words = ''): void {
  try {
    if (fstatSync(2).size > LIMIT_BYTES) ftruncateSync(2, 0);
    writeSync(2, `${new Date().toISOString()} ${process.pid} ${event}${words === '' ? '' : `: ${words}`}\n`);
  } catch {
    // A full disk or a terminal that is gone: the guard's work does not hang on being able to tell of it.
  }
}
