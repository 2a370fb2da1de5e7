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

/** Writes a line to the guard's standard error, which is its log. */
export function say(text: string): void {
  try {
    if (fstatSync(2).size > LIMIT_BYTES) ftruncateSync(2, 0);
    writeSync(2, `${new Date().toISOString()} ${process.pid} ${text}\n`);
  } catch {
    // A full disk or a terminal that is gone: the guard's work does not hang on being able to tell of it.
  }
}
