import { clockTime } from '../roll/words.ts';
import { readAudit } from '../supervisor/audit.ts';
import { DONE, type Verb } from './io.ts';
import { printable } from './table.ts';
import { wholeNumber } from './whole-number.ts';

/** Reads the file itself: it is there whoever runs, and reading it needs no look at any process. */
export const audit: Verb = async ({ io, auditFile }, args) => {
  const limit = wholeNumber(args.value('limit') ?? '50', 'limit', 1, 100_000);
  let lines = readAudit(auditFile);
  // The file is turned over when it grows too long; the one before holds what came before.
  if (lines.length < limit) lines = [...readAudit(auditFile.replace(/\.jsonl$/u, '.1.jsonl')), ...lines];
  lines = lines.slice(-limit);
  if (args.has('json')) {
    await io.out(`${JSON.stringify({ version: 1, path: auditFile, entries: lines }, null, 2)}\n`);
    return DONE;
  }
  if (lines.length === 0) await io.out('Nothing has been done yet.\n');
  const now = Date.now();
  for (const line of lines) {
    const pid = line.pid === null ? '' : `, PID ${line.pid}`;
    await io.out(`${printable(`${clockTime(line.at, now)}  ${line.event}  ${line.subject}${pid}: ${line.text}`)}\n`);
  }
  return DONE;
};
