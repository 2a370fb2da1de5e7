/** The ledger's file: lines are appended and synced, and the whole is replaced at once; nothing here knows what they say. */

import { randomBytes } from 'node:crypto';
import {
  closeSync,
  constants,
  copyFileSync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  readFileSync,
  readSync,
  renameSync,
  unlinkSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { remedyFor } from '../../util/atomic-write.ts';
import { codeOf, codeOrMessage } from '../../util/errors.ts';
import { syncFolder, writeWhole } from '../../util/sync-files.ts';

/** What is longer is no ledger of ours, in bytes. */
const LIMIT_BYTES = 256 * 1024 * 1024;

/** The ledger could not be read or written; what it should say is kept in memory. */
export class LedgerFailed extends Error {
  override readonly name = 'LedgerFailed';
  readonly path: string;
  /** The system's word for the cause, or what stands under its name. */
  readonly code: string;
  constructor(path: string, code: string, what: string, cause?: unknown) {
    super(what, { cause });
    this.path = path;
    this.code = code;
  }
}

function unwritable(path: string, error: unknown): LedgerFailed {
  const code = codeOrMessage(error);
  return new LedgerFailed(
    path,
    code,
    `The session ledger ${path} cannot be written (${code}). ${remedyFor(code)}`,
    error,
  );
}

/**
 * The whole text; empty where there is no file yet.
 *
 * @throws LedgerFailed when it cannot be read: then it must not be written over either
 */
export function readLedger(path: string): string {
  let descriptor: number;
  try {
    // O_NONBLOCK: a FIFO under its name must not stop the reader.
    descriptor = openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return '';
    throw unreadable(path, codeOrMessage(error), error);
  }
  try {
    const stats = fstatSync(descriptor);
    if (!stats.isFile()) throw unreadable(path, 'it is no regular file');
    if (stats.size > LIMIT_BYTES) throw unreadable(path, 'it is larger than 256 MB');
    return readFileSync(descriptor, 'utf8');
  } catch (error) {
    throw error instanceof LedgerFailed ? error : unreadable(path, codeOrMessage(error), error);
  } finally {
    closeSync(descriptor);
  }
}

function unreadable(path: string, code: string, cause?: unknown): LedgerFailed {
  return new LedgerFailed(
    path,
    code,
    `The session ledger ${path} cannot be read (${code}), so nothing is written to it. Move it away, then start Rollcall again.`,
    cause,
  );
}

/**
 * Appends text, on disk before it returns. What a write that failed has left is taken away again.
 *
 * @returns the size of the file afterwards, in bytes
 * @throws LedgerFailed
 */
export function appendLedger(path: string, text: string): number {
  try {
    const descriptor = openSync(path, 'a+', 0o600);
    try {
      const { size } = fstatSync(descriptor);
      const bytes = Buffer.from(`${endsTorn(descriptor, size) ? '\n' : ''}${text}`);
      try {
        writeWhole(descriptor, bytes);
        fsyncSync(descriptor);
      } catch (error) {
        takeBack(descriptor, size);
        throw error;
      }
      if (size === 0) syncFolder(dirname(path));
      return size + bytes.length;
    } finally {
      closeSync(descriptor);
    }
  } catch (error) {
    throw unwritable(path, error);
  }
}

function takeBack(descriptor: number, size: number): void {
  try {
    ftruncateSync(descriptor, size);
  } catch {
    // Half a line may stay. The next one begins on a line of its own, and a reader leaves the half out.
  }
}

/** A crash can leave half a line; the next one must not be glued to it. */
function endsTorn(descriptor: number, size: number): boolean {
  if (size === 0) return false;
  const last = Buffer.alloc(1);
  readSync(descriptor, last, 0, 1, size - 1);
  return last[0] !== 0x0a;
}

/**
 * Replaces the whole: whoever reads sees the old or the new one, also after a crash.
 *
 * @returns the size of the file, in bytes
 * @throws LedgerFailed
 */
export function replaceLedger(path: string, text: string): number {
  const temporary = join(dirname(path), `.${basename(path)}.${process.pid}.${randomBytes(6).toString('hex')}.tmp`);
  const bytes = Buffer.from(text);
  try {
    const descriptor = openSync(temporary, 'wx', 0o600);
    try {
      writeWhole(descriptor, bytes);
      fsyncSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
    renameSync(temporary, path);
    syncFolder(dirname(path));
    return bytes.length;
  } catch (error) {
    try {
      unlinkSync(temporary);
    } catch {
      // It was never made, or it has been renamed.
    }
    throw unwritable(path, error);
  }
}

/**
 * Keeps a copy of the file as it is, beside it.
 *
 * @returns where
 * @throws LedgerFailed
 */
export function keepAside(path: string, now: number): string {
  const stamp = new Date(now).toISOString().replaceAll(/[:.]/gu, '-');
  const aside = path.replace(/(?:\.jsonl)?$/u, `.damaged-${stamp}.jsonl`);
  try {
    copyFileSync(path, aside);
    return aside;
  } catch (error) {
    throw unwritable(aside, error);
  }
}
