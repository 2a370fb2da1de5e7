/** Our own records: every write is atomic; nothing is ever deleted unread. */

import { accessSync, constants, mkdirSync, renameSync, unlinkSync } from 'node:fs';
import { basename, join } from 'node:path';
import { atomicWrite, remedyFor } from '../util/atomic-write.ts';
import { codeOrMessage } from '../util/errors.ts';
import { listRecords, type RecordFile, readRecord, textOf } from './files.ts';
import type { ServerRecord } from './schema.ts';

/** The record changed, or went away, between being judged and being moved. */
export class RecordChanged extends Error {
  override readonly name = 'RecordChanged';
  readonly path: string;
  constructor(path: string) {
    super(`${basename(path)} has changed since it was judged; it was left where it is.`);
    this.path = path;
  }
}

/** A record could not be moved aside or removed; it is where it was, with every byte. */
export class RecordStuck extends Error {
  override readonly name = 'RecordStuck';
  readonly path: string;
  /** The system's word for the cause: `EROFS`, `ENOSPC`. */
  readonly code: string;
  constructor(path: string, act: 'moved aside' | 'removed', code: string, cause: unknown) {
    super(`The record ${path} could not be ${act} (${code}). ${remedyFor(code)}`, { cause });
    this.path = path;
    this.code = code;
  }
}

/** The folder was there when this process opened; that somebody has removed it since must not stop a start. */
function makeAgain(folder: string): void {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
  } catch {
    // The write that follows fails for the same reason, and says so.
  }
}

/** Where the records of one host are: beside us, or on that host. Nothing is changed by reading. */
export interface RecordStore {
  pathOf(nonce: string): string;
  /** Every file that may be a record; a folder that does not exist yet holds none. */
  list(): Promise<RecordFile[]>;
  /** One file; null when it does not exist (any more). */
  read(path: string): Promise<RecordFile | null>;
  /**
   * Writes a record, replacing the earlier state of the same nonce.
   *
   * @returns where it is
   * @throws WriteFailed
   */
  write(record: ServerRecord): Promise<string>;
  /** Removes the record of a server that is proved gone; a no-op where there is none. @throws RecordStuck */
  remove(nonce: string): Promise<void>;
  /** Why nothing can be written here, in a sentence; null when something can. */
  problem(): Promise<string | null>;
  /**
   * Moves a file aside if it still has the bytes that were judged (DESIGN rule 4.14).
   *
   * @returns where it is now
   * @throws RecordChanged when its bytes differ or it is gone
   * @throws RecordStuck when it cannot be moved
   */
  setAside(path: string, sha256: string, now: number): Promise<string>;
}

/** The records of this machine. */
export class LocalRecords implements RecordStore {
  readonly folder: string;
  readonly aside: string;

  /**
   * @param folder where records live
   * @param aside where stale and corrupt ones are moved to, recoverably
   */
  constructor(folder: string, aside: string) {
    this.folder = folder;
    this.aside = aside;
  }

  pathOf(nonce: string): string {
    return join(this.folder, `${nonce}.json`);
  }

  async list(): Promise<RecordFile[]> {
    return listRecords(this.folder);
  }

  async read(path: string): Promise<RecordFile | null> {
    return readRecord(path);
  }

  async write(record: ServerRecord): Promise<string> {
    const path = this.pathOf(record.nonce);
    makeAgain(this.folder);
    await atomicWrite(path, textOf(record));
    return path;
  }

  async remove(nonce: string): Promise<void> {
    try {
      unlinkSync(this.pathOf(nonce));
    } catch (error) {
      if (codeOrMessage(error) !== 'ENOENT')
        throw new RecordStuck(this.pathOf(nonce), 'removed', codeOrMessage(error), error);
    }
  }

  async problem(): Promise<string | null> {
    try {
      accessSync(this.folder, constants.W_OK);
      return null;
    } catch (error) {
      // A folder that somebody removed is made again by the next write.
      if (codeOrMessage(error) === 'ENOENT') return null;
      return `${this.folder} cannot be written (${codeOrMessage(error)}). ${remedyFor(codeOrMessage(error))}`;
    }
  }

  async setAside(path: string, sha256: string, now: number): Promise<string> {
    const current = readRecord(path);
    if (current === null || current.sha256 !== sha256) throw new RecordChanged(path);
    const target = join(this.aside, `${new Date(now).toISOString().replace(/[:.]/gu, '-')}-${basename(path)}`);
    try {
      mkdirSync(this.aside, { recursive: true, mode: 0o700 });
      renameSync(path, target);
    } catch (error) {
      throw new RecordStuck(path, 'moved aside', codeOrMessage(error), error);
    }
    return target;
  }
}
