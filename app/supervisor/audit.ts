/**
 * The audit: one JSON line before each signal (the intent) and one after it (the outcome), refusals included, and
 * the events of the timeline. Append-only, 0600; when it grows past its limit it becomes `audit.1.jsonl`.
 */
import {
  closeSync,
  fstatSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  readSync,
  renameSync,
  statSync,
  writeSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { z } from 'zod';
import { type AuditEntry, identitySchema, verdictWordSchema } from '../roll/schema.ts';

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
  /** What it is about, as rows name it. */
  subject: z.string(),
  /** One sentence for the timeline. */
  text: z.string(),
});
export type AuditLine = z.infer<typeof auditLineSchema>;
export type AuditEvent = (typeof AUDIT_EVENTS)[number];

/** Everything but the time, with the rarely used fields optional. */
export type AuditInput = Pick<AuditLine, 'event' | 'by' | 'subject' | 'text'> &
  Partial<Pick<AuditLine, 'host' | 'pid' | 'identity' | 'verdict' | 'signal'>>;

/** An intent could not be written down, so the act it announces must not happen. */
export class AuditUnwritable extends Error {
  override readonly name = 'AuditUnwritable';
  readonly path: string;
  constructor(path: string, cause: unknown) {
    super(`The audit ${path} cannot be written (${cause instanceof Error ? cause.message : String(cause)}).`, {
      cause,
    });
    this.path = path;
  }
}

export class Audit {
  readonly path: string;
  readonly #recent: AuditEntry[] = [];
  readonly #keep: number;
  #trouble: string | null = null;

  /** @param keep how many of the latest entries to hold for the timeline */
  constructor(path: string, keep = 200) {
    this.path = path;
    this.#keep = keep;
    for (const line of readAudit(path).slice(-keep)) this.#recent.push(toEntry(line));
  }

  /** Why the last line could not be written, in a sentence; null when it could. */
  get trouble(): string | null {
    return this.#trouble;
  }

  /** The latest entries, oldest first. */
  get recent(): readonly AuditEntry[] {
    return this.#recent;
  }

  /**
   * Appends a line, on disk before it returns, so that an intent survives whatever follows it.
   *
   * @throws AuditUnwritable
   */
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
      mkdirSync(dirname(this.path), { recursive: true, mode: 0o700 });
      this.#turnOver();
      const descriptor = openSync(this.path, 'a+', 0o600);
      try {
        writeSync(descriptor, `${endsTorn(descriptor) ? '\n' : ''}${JSON.stringify(line)}\n`);
        fsyncSync(descriptor);
      } finally {
        closeSync(descriptor);
      }
    } catch (error) {
      throw new AuditUnwritable(this.path, error);
    }
    this.#recent.push(toEntry(line));
    if (this.#recent.length > this.#keep) this.#recent.shift();
  }

  /**
   * Writes a line that announces nothing: an outcome, an event of the timeline. That it cannot be written is kept as
   * `trouble` for the person to see, and what it tells of stands all the same.
   */
  note(input: AuditInput): void {
    try {
      this.write(input);
      this.#trouble = null;
    } catch (error) {
      if (!(error instanceof AuditUnwritable)) throw error;
      this.#trouble = error.message;
    }
  }

  #turnOver(): void {
    const size = statSync(this.path, { throwIfNoEntry: false })?.size ?? 0;
    if (size > LIMIT_BYTES) renameSync(this.path, this.path.replace(/\.jsonl$/u, '.1.jsonl'));
  }
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
  return { at: line.at, event: line.event, host: line.host, pid: line.pid, subject: line.subject, text: line.text };
}

/** The lines of an audit file; what is torn or foreign is left out. An absent file is an empty audit. */
export function readAudit(path: string): AuditLine[] {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return [];
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
