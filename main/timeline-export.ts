/** The timeline as a file: everything of a choice that the audit still holds, as JSON, secrets redacted once more. */

import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { type AuditLine, auditLineSchema, NoAudit } from '../app/audit/audit.ts';
import { idOf } from '../app/identity/ids.ts';
import type { AuditEntry } from '../app/roll/schema.ts';
import { redactText } from '../app/servers/redact.ts';
import { isChosen, type TimelineChoice } from '../app/text/timeline-words.ts';
import { atomicWrite } from '../app/util/atomic-write.ts';
import { codeOf } from '../app/util/errors.ts';

/** An entry as it is exported: what the timeline shows, and who did it to what end. */
export interface ExportedEntry extends AuditEntry {
  readonly by: string;
  readonly verdict: AuditLine['verdict'];
  readonly signal: string | null;
}

function exported(line: AuditLine): ExportedEntry {
  const { at, event, by, host, pid, identity, verdict, signal, session } = line;
  return {
    at,
    event,
    by,
    host,
    pid,
    server: identity === null ? null : idOf(identity),
    session: session ?? null,
    verdict,
    signal,
    subject: redactText(line.subject),
    text: redactText(line.text),
  };
}

/** The line of an audit; null for what is torn or none of ours. */
function parsed(raw: string): AuditLine | null {
  let json: unknown;
  try {
    json = JSON.parse(raw);
  } catch {
    // A crash leaves half a line behind; the others are whole.
    return null;
  }
  const line = auditLineSchema.safeParse(json);
  return line.success ? line.data : null;
}

/**
 * The lines of an audit file, oldest first, read bit by bit: reading it at once would hold up everything else for as
 * long. An absent file has none.
 *
 * @throws NoAudit where no regular file stands under that name
 */
async function* linesOf(path: string): AsyncGenerator<AuditLine> {
  let handle: Awaited<ReturnType<typeof open>>;
  try {
    // A FIFO under the audit's name must not stop the reader.
    handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return;
    throw error;
  }
  try {
    if (!(await handle.stat()).isFile()) throw new NoAudit(path);
    for await (const raw of handle.readLines()) {
      const line = raw === '' ? null : parsed(raw);
      if (line !== null) yield line;
    }
  } finally {
    await handle.close();
  }
}

/**
 * Everything of a choice that the audit holds, oldest first; the file before the last turn-over is read, too.
 *
 * @throws NoAudit, or the system's error of a file that cannot be read
 */
export async function chosenEntries(auditFile: string, choice: TimelineChoice): Promise<readonly ExportedEntry[]> {
  const entries: ExportedEntry[] = [];
  for (const path of [auditFile.replace(/\.jsonl$/u, '.1.jsonl'), auditFile]) {
    for await (const line of linesOf(path)) {
      const entry = exported(line);
      if (isChosen(entry, choice)) entries.push(entry);
    }
  }
  return entries;
}

export interface ExportDeps {
  readonly auditFile: string;
  readonly version: string;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/**
 * Writes the export as a whole, readable by us alone.
 *
 * @returns how many entries it has
 * @throws WriteFailed, and what `chosenEntries` throws
 */
export async function exportTimeline(path: string, choice: TimelineChoice, parts: ExportDeps): Promise<number> {
  const entries = await chosenEntries(parts.auditFile, choice);
  const { filter, ...narrowed } = choice;
  const file = {
    rollcall: parts.version,
    exportedAt: new Date(parts.now).toISOString(),
    chosen: { ...narrowed, filter: redactText(filter) },
    entries,
  };
  await atomicWrite(path, `${JSON.stringify(file, null, 2)}\n`);
  return entries.length;
}

/** The name that is offered for the file, by the day in local time: `rollcall-timeline-2026-11-30.json`. */
export function exportName(now: number): string {
  const at = new Date(now);
  const two = (value: number): string => String(value).padStart(2, '0');
  return `rollcall-timeline-${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}.json`;
}
