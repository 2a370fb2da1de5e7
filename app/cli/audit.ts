import { type AuditLine, readAudit } from '../audit/audit.ts';
import { idOf } from '../identity/ids.ts';
import { redactText } from '../servers/redact.ts';
import { viewLedger } from '../sessions/store/ledger-view.ts';
import { clockTime } from '../text/words.ts';
import { type Arguments, type CommandRun, DONE } from './io.ts';
import { checkSession } from './session-target.ts';
import { printable } from './table.ts';
import { checkTarget } from './targets.ts';
import { hostOption } from './where.ts';
import { wholeNumber } from './whole-number.ts';

/** Reads the file itself: it is there whoever runs, and reading it needs no look at any process. */
export const audit: CommandRun = async ({ io, auditFile, sessionsFile }, args) => {
  const limit = wholeNumber(args.value('limit') ?? '50', 'limit', 1, 100_000);
  const chosen = choice(args, sessionsFile);
  let lines = readAudit(auditFile).filter(chosen);
  // The file is turned over when it grows too long; the one before holds what came before.
  if (lines.length < limit) {
    lines = [...readAudit(auditFile.replace(/\.jsonl$/u, '.1.jsonl')).filter(chosen), ...lines];
  }
  const entries = lines
    .slice(-limit)
    .map((line) => ({ ...line, subject: redactText(line.subject), text: redactText(line.text) }));
  if (args.has('json')) {
    await io.out(`${JSON.stringify({ version: 1, path: auditFile, entries }, null, 2)}\n`);
    return DONE;
  }
  if (entries.length === 0) {
    const narrowed = ['host', 'server', 'session'].some((option) => args.value(option) !== undefined);
    await io.out(narrowed ? 'The audit says nothing of that.\n' : 'Nothing has been done yet.\n');
  }
  const now = Date.now();
  for (const line of entries) {
    const pid = line.pid === null ? '' : `, PID ${line.pid}`;
    await io.out(`${printable(`${clockTime(line.at, now)}  ${line.event}  ${line.subject}${pid}: ${line.text}`)}\n`);
  }
  return DONE;
};

/** Which lines are asked for. Servers and sessions may be gone: what names them is in the lines themselves. */
function choice(args: Arguments, sessionsFile: string): (line: AuditLine) => boolean {
  const host = hostOption(args);
  const server = args.value('server');
  const session = args.value('session');
  if (server !== undefined) checkTarget(server);
  if (session !== undefined) checkSession(session);
  const ofServer = server === undefined ? null : serverTest(server);
  const ofSession = session === undefined ? null : sessionTest(session, sessionsFile);
  return (line) =>
    (host === null || line.host === host) && (ofServer === null || ofServer(line)) && (ofSession?.(line) ?? true);
}

function serverTest(word: string): (line: AuditLine) => boolean {
  if (/^\d{1,10}$/u.test(word)) return ({ pid }) => pid === Number(word);
  return ({ identity }) => identity !== null && idOf(identity).startsWith(word);
}

/** Lines have keys; the ids that tools give their sessions are in the ledger. */
function sessionTest(word: string, sessionsFile: string): (line: AuditLine) => boolean {
  const { lives } = viewLedger(sessionsFile);
  const all = [...lives.open().values(), ...lives.recentlyEnded().map(({ life }) => life)];
  const keys = new Set(all.filter(({ id }) => id.startsWith(word)).map(({ key }) => key));
  return ({ session = null }) => session !== null && (keys.has(session) || session.startsWith(word));
}
