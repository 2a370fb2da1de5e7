/**
 * The audit: one JSON line before each signal (the intent) and one after it (the outcome), refusals included, and
 * the events of the timeline. Append-only, 0600; when it grows past its limit it becomes `audit.1.jsonl`.
 */

import { randomBytes } from 'node:crypto';
import {
  closeSync,
  constants,
  fstatSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  readSync,
  renameSync,
  statSync,
  unlinkSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { z } from 'zod';
import { idOf } from '../identity/ids.ts';
import { type AuditEntry, identitySchema, idSchema, verdictWordSchema } from '../roll/schema.ts';
import { remedyFor } from '../util/atomic-write.ts';
import { codeOf, codeOrMessage } from '../util/errors.ts';
import { writeWhole } from '../util/sync-files.ts';

/**
 * Space that is given up when the disk is full, so that what fills it can still be ended and written down. Bytes: some
 * two hundred lines.
 */
const RESERVE_BYTES = 64 * 1024;
/** How often a reserve that could not be made is tried again, in milliseconds. */
const RESERVE_EVERY_MS = 60_000;
/** Past this size the file is turned over; the one before is kept. */
const LIMIT_BYTES = 8 * 1024 * 1024;

export const AUDIT_EVENTS = [
  'signal-intent',
  'signal-outcome',
  'dispose-intent',
  'dispose-outcome',
  'refused',
  'planned',
  'started',
  'ready',
  'start-failed',
  'stopped',
  'stop-failed',
  'reaped',
  'reap-failed',
  'came-back',
  'exited',
  'wrapper-exited',
  'adopted',
  'leaked',
  'set-aside',
  'record-restored',
  'quit',
  'guard',
  'host-connected',
  'host-lost',
  'host-rebooted',
  'session-started',
  'session-idle',
  'session-aborted',
  'session-ended',
  'hook-done',
  'hook-failed',
  'idle-soon',
] as const;

export const auditLineSchema = z.object({
  at: z.iso.datetime(),
  event: z.enum(AUDIT_EVENTS),
  /** Who asked: tray, window, cli, or the app by itself. */
  by: z.string(),
  host: z.string(),
  pid: z.int().nonnegative().nullable(),
  identity: identitySchema.nullable(),
  verdict: verdictWordSchema.nullable(),
  signal: z.string().nullable(),
  /** Key of the session it is about; lines from before sessions were followed have none. */
  session: idSchema.nullable().exactOptional(),
  /** What it is about, as rows name it. */
  subject: z.string(),
  /** One sentence for the timeline. */
  text: z.string(),
});
export type AuditLine = z.infer<typeof auditLineSchema>;
export type AuditEvent = (typeof AUDIT_EVENTS)[number];

/** Everything but the time, with the rarely used fields optional. */
export type AuditInput = Pick<AuditLine, 'event' | 'by' | 'subject' | 'text'> &
  Partial<Pick<AuditLine, 'host' | 'pid' | 'identity' | 'verdict' | 'signal' | 'session'>>;

/** An intent could not be written down, so the act it announces must not happen. */
export class AuditUnwritable extends Error {
  override readonly name = 'AuditUnwritable';
  readonly path: string;
  /** The system's word for the cause: `ENOSPC`, `EROFS`. */
  readonly code: string;
  constructor(path: string, code: string, cause: unknown) {
    super(`The audit ${path} cannot be written (${code}). ${remedyFor(code)}`, { cause });
    this.path = path;
    this.code = code;
  }
}

/** What stands under the audit's name is no file. */
export class NoAudit extends Error {
  override readonly name = 'NoAudit';
  readonly path: string;
  readonly code = 'no regular file';
  constructor(path: string) {
    super(`The audit ${path} is no regular file. Move it away, then try again.`);
    this.path = path;
  }
}

/** Where everything that is done is written down. */
export interface Audit {
  /** Why the last line could not be written, in a sentence; null when it could. */
  readonly problem: string | null;
  /** The latest entries, oldest first. */
  readonly recent: readonly AuditEntry[];
  /**
   * Appends a line, on disk before it returns, so that an intent survives whatever follows it.
   *
   * @throws AuditUnwritable
   */
  write(input: AuditInput): void;
  /**
   * Writes a line that announces nothing: an outcome, an event of the timeline. That it cannot be written is kept as
   * `problem` for the person to see, and what it tells of stands anyway.
   */
  note(input: AuditInput): void;
}

/** The same audit for what happens on another host. */
export function auditOf(host: string, audit: Audit): Audit {
  return {
    get problem() {
      return audit.problem;
    },
    get recent() {
      return audit.recent;
    },
    write: (input) => audit.write({ host, ...input }),
    note: (input) => audit.note({ host, ...input }),
  };
}

export class AuditFile implements Audit {
  readonly path: string;
  readonly #recent: AuditEntry[] = [];
  readonly #keep: number;
  readonly #reserve: string;
  #problem: string | null = null;
  /** When to see again to the reserve, in milliseconds on the monotonic clock. */
  #reserveDue = 0;

  /** @param keep how many of the latest entries to hold for the timeline */
  constructor(path: string, keep = 200) {
    this.path = path;
    this.#keep = keep;
    this.#reserve = path.replace(/\.jsonl$/u, '.reserve');
    try {
      for (const line of readAudit(path).slice(-keep)) this.#recent.push(toEntry(line));
    } catch (error) {
      // The timeline begins empty; whether anything can be written is seen when something is.
      this.#problem = `The audit ${path} cannot be read (${codeOrMessage(error)}). Move it away, then start Rollcall again.`;
    }
  }

  get problem(): string | null {
    return this.#problem;
  }

  get recent(): readonly AuditEntry[] {
    return this.#recent;
  }

  write(input: AuditInput): void {
    const line: AuditLine = {
      at: new Date().toISOString(),
      host: 'local',
      pid: null,
      identity: null,
      verdict: null,
      signal: null,
      ...input,
    };
    try {
      this.#append(line);
      this.#keepReserve();
    } catch (error) {
      if (!isFull(error) || !this.#giveUpReserve()) throw new AuditUnwritable(this.path, codeOrMessage(error), error);
      this.#appendFromReserve(line);
    }
    this.#recent.push(toEntry(line));
    if (this.#recent.length > this.#keep) this.#recent.shift();
  }

  note(input: AuditInput): void {
    try {
      this.write(input);
      this.#problem = null;
    } catch (error) {
      if (!(error instanceof AuditUnwritable)) throw error;
      this.#problem = error.message;
    }
  }

  #append(line: AuditLine): void {
    mkdirSync(dirname(this.path), { recursive: true, mode: 0o700 });
    this.#turnOver();
    const descriptor = openSync(this.path, 'a+', 0o600);
    try {
      writeWhole(descriptor, Buffer.from(`${endsTorn(descriptor) ? '\n' : ''}${JSON.stringify(line)}\n`));
      fsyncSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
  }

  #appendFromReserve(line: AuditLine): void {
    try {
      this.#append(line);
    } catch (error) {
      throw new AuditUnwritable(this.path, codeOrMessage(error), error);
    }
  }

  /** Random bytes, since a file of zeros may take no space at all. */
  #keepReserve(): void {
    const now = performance.now();
    if (now < this.#reserveDue) return;
    this.#reserveDue = now + RESERVE_EVERY_MS;
    if (statSync(this.#reserve, { throwIfNoEntry: false })?.size === RESERVE_BYTES) return;
    try {
      const descriptor = openSync(this.#reserve, 'w', 0o600);
      try {
        writeWhole(descriptor, randomBytes(RESERVE_BYTES));
      } finally {
        closeSync(descriptor);
      }
    } catch {
      // There is no space to spare; the line itself is written.
      this.#giveUpReserve();
    }
  }

  /** @returns whether that gave any space back */
  #giveUpReserve(): boolean {
    try {
      unlinkSync(this.#reserve);
      this.#reserveDue = performance.now() + RESERVE_EVERY_MS;
      return true;
    } catch {
      // There is none, or it cannot be removed: nothing is gained.
      return false;
    }
  }

  #turnOver(): void {
    const size = statSync(this.path, { throwIfNoEntry: false })?.size ?? 0;
    if (size > LIMIT_BYTES) renameSync(this.path, this.path.replace(/\.jsonl$/u, '.1.jsonl'));
  }
}

function isFull(error: unknown): boolean {
  const code = codeOf(error);
  return code === 'ENOSPC' || code === 'EDQUOT';
}

/** A crash can leave half a line; the next one must not be glued to it. */
function endsTorn(descriptor: number): boolean {
  const size = fstatSync(descriptor).size;
  if (size === 0) return false;
  const last = Buffer.alloc(1);
  readSync(descriptor, last, 0, 1, size - 1);
  return last[0] !== 0x0a;
}

function toEntry(line: AuditLine): AuditEntry {
  const { at, event, host, pid, identity, session, subject, text } = line;
  return {
    at,
    event,
    host,
    pid,
    server: identity === null ? null : idOf(identity),
    session: session ?? null,
    subject,
    text,
  };
}

/** A FIFO under the audit's name must not stop the reader. */
function readWhole(path: string): string {
  const descriptor = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    if (!fstatSync(descriptor).isFile()) throw new NoAudit(path);
    return readFileSync(descriptor, 'utf8');
  } finally {
    closeSync(descriptor);
  }
}

/** The lines of an audit file; what is torn or foreign is left out. An absent file is an empty audit. */
export function readAudit(path: string): AuditLine[] {
  let text: string;
  try {
    text = readWhole(path);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return [];
    throw error;
  }
  const lines: AuditLine[] = [];
  for (const raw of text.split('\n')) {
    if (raw === '') continue;
    try {
      const parsed = auditLineSchema.safeParse(JSON.parse(raw));
      if (parsed.success) lines.push(parsed.data);
    } catch {
      // A torn last line is what a crash leaves behind; the lines before it are whole.
    }
  }
  return lines;
}
