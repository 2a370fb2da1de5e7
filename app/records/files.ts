/** Record files: reading and parsing them, and their text. Reading changes nothing; nothing is ever thrown away unread. */

import { createHash } from 'node:crypto';
import { type BigIntStats, closeSync, constants, fstatSync, openSync, readdirSync, readSync } from 'node:fs';
import { basename, join } from 'node:path';
import { codeOrMessage } from '../util/errors.ts';
import { RECORD_LIMIT_BYTES, RECORD_VERSION, recordSchema, type ServerRecord, upgraded } from './schema.ts';

const DEEPEST = 32;
const SHORT_COMMAND_ARGS = 8;
const SHORT_ARG_LENGTH = 200;

/** A file in the records folder, parsed or with the reason why it is no record; `newer` ones are a later Rollcall's. */
export type RecordFile =
  | {
      readonly path: string;
      readonly sha256: string;
      readonly record: ServerRecord;
      readonly problem: null;
      readonly newer: false;
    }
  | {
      readonly path: string;
      readonly sha256: string;
      readonly record: null;
      readonly problem: string;
      readonly newer: boolean;
    };

/** Hex sha256 of a file's bytes. */
export function hashOf(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}

/** Stands for a file too large to be read whole: its beginning, and what changes when the rest of it does. */
function hashOfHuge(beginning: Buffer, { size, mtimeNs, ino }: BigIntStats): string {
  return createHash('sha256').update(beginning).update(`${size} ${mtimeNs} ${ino}`).digest('hex');
}

/** Every file of the folder that ends in `.json`; a folder that does not exist yet holds none. */
export function listRecords(folder: string): RecordFile[] {
  let names: string[];
  try {
    names = readdirSync(folder);
  } catch (error) {
    if (codeOrMessage(error) === 'ENOENT') return [];
    // Not even a folder, or not ours: what it may hold is unknown, and that is shown like a file that cannot be read.
    const problem = `it could not be read as a folder (${codeOrMessage(error)})`;
    return [{ path: folder, sha256: '', record: null, problem, newer: false }];
  }
  return names
    .filter((name) => name.endsWith('.json'))
    .sort()
    .map((name) => readRecord(join(folder, name)))
    .filter((file) => file !== null);
}

/** One file, as record or with the reason why it is none; null when it does not exist (any more). */
export function readRecord(path: string): RecordFile | null {
  let descriptor: number;
  try {
    // O_NONBLOCK: a FIFO with a record's name must not stop the reader. O_NOFOLLOW: a link is no record of ours.
    descriptor = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW);
  } catch (error) {
    if (codeOrMessage(error) === 'ENOENT') return null;
    return {
      path,
      sha256: '',
      record: null,
      problem: `it could not be opened (${codeOrMessage(error)})`,
      newer: false,
    };
  }
  try {
    const stat = fstatSync(descriptor, { bigint: true });
    if (!stat.isFile()) return { path, sha256: '', record: null, problem: 'it is no regular file', newer: false };
    const buffer = Buffer.alloc(RECORD_LIMIT_BYTES + 1);
    const length = readSync(descriptor, buffer, 0, buffer.length, 0);
    const bytes = buffer.subarray(0, length);
    if (length > RECORD_LIMIT_BYTES) {
      const sha256 = hashOfHuge(bytes, stat);
      return { path, sha256, record: null, problem: `it is larger than ${RECORD_LIMIT_BYTES} bytes`, newer: false };
    }
    return { path, sha256: hashOf(bytes), ...parseRecord(bytes.toString('utf8'), basename(path, '.json')) };
  } catch (error) {
    return { path, sha256: '', record: null, problem: `it could not be read (${codeOrMessage(error)})`, newer: false };
  } finally {
    closeSync(descriptor);
  }
}

/**
 * The text of a record, never larger than a reader takes: one that is could not be read again, and its server would be
 * lost. The command is for people and is what gives way; the identities hold a hash of all of it.
 */
export function textOf(record: ServerRecord): string {
  const fits = (text: string): boolean => Buffer.byteLength(text) <= RECORD_LIMIT_BYTES;
  const pretty = `${JSON.stringify(record, null, 2)}\n`;
  if (fits(pretty)) return pretty;
  const tight = `${JSON.stringify(record)}\n`;
  if (fits(tight)) return tight;
  const command = record.command.slice(0, SHORT_COMMAND_ARGS).map((arg) => arg.slice(0, SHORT_ARG_LENGTH));
  return `${JSON.stringify({ ...record, command: [...command, '…'] })}\n`;
}

/** Whether a value nests arrays and objects deeper than any record does; reading it copes, writing it would not. */
function nestsTooDeep(value: unknown): boolean {
  let level: unknown[] = [value];
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > DEEPEST) return true;
    level = level.flatMap((each) => (typeof each === 'object' && each !== null ? Object.values(each) : []));
  }
  return false;
}

type Parsed =
  | { readonly record: ServerRecord; readonly problem: null; readonly newer: false }
  | { readonly record: null; readonly problem: string; readonly newer: boolean };

function noRecord(problem: string, newer = false): Parsed {
  return { record: null, problem, newer };
}

/** Parses the text of a record. Pure. */
export function parseRecord(text: string, nonce: string): Parsed {
  if (text.trim() === '') return noRecord('it is empty');
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return noRecord(text.includes('\0') ? 'it is filled with NUL bytes' : 'it is no complete JSON');
  }
  if (nestsTooDeep(value)) return noRecord('it is nested deeper than a record is');
  const version = typeof value === 'object' && value !== null && 'version' in value ? value.version : undefined;
  if (typeof version === 'number' && version > RECORD_VERSION) {
    return noRecord(`it was written by a later Rollcall (version ${version})`, true);
  }
  const parsed = recordSchema.safeParse(upgraded(value));
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    return noRecord(`its ${issue?.path.join('.') || 'content'} is not what a record has`);
  }
  if (parsed.data.nonce !== nonce) return noRecord('its nonce is not that of its file name');
  return { record: parsed.data, problem: null, newer: false };
}
