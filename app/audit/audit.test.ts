/** The audit takes and gives back any sentence, and what a crash or a stranger left in the file costs only that. */
import { execFileSync } from 'node:child_process';
import { appendFileSync, existsSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { AUDIT_EVENTS, AuditFile, AuditUnwritable, NoAudit, readAudit } from './audit.ts';

let root: string;
let path: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'rollcall-audit-'));
  path = join(root, 'audit.jsonl');
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const anyLine = fc.record({
  event: fc.constantFrom(...AUDIT_EVENTS),
  by: fc.constantFrom('tray', 'window', 'cli', 'app'),
  pid: fc.option(fc.nat(4_194_304)),
  signal: fc.option(fc.constantFrom('SIGTERM', 'SIGKILL')),
  subject: fc.string({ unit: 'binary' }),
  text: fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom('two\nlines', '\u2028', '"', '\\', '\0')),
});

test('lines are read back in their order, whatever they say', () => {
  fc.assert(
    fc.property(fc.array(anyLine, { maxLength: 6 }), (lines) => {
      rmSync(path, { force: true });
      const audit = new AuditFile(path);
      for (const line of lines) audit.write(line);
      expect(readAudit(path)).toMatchObject(lines);
      expect(new AuditFile(path).recent.map(({ text }) => text)).toEqual(lines.map(({ text }) => text));
    }),
    { numRuns: 30 },
  );
});

test('what stands between lines costs none of them, and a torn end is never glued to the next', () => {
  const noise = fc.uint8Array({ maxLength: 300 }).map((raw) => Buffer.from(raw).filter((byte) => byte !== 0x0a));
  fc.assert(
    fc.property(fc.array(fc.tuple(noise, anyLine), { minLength: 1, maxLength: 5 }), (parts) => {
      rmSync(path, { force: true });
      const audit = new AuditFile(path);
      for (const [torn, line] of parts) {
        appendFileSync(path, torn);
        audit.write(line);
      }
      expect(readAudit(path)).toMatchObject(parts.map(([, line]) => line));
    }),
    { numRuns: 30 },
  );
});

test('any bytes are an audit, if an empty one', () => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.uint8Array(),
        fc.json().map((text) => Buffer.from(text)),
      ),
      (raw) => {
        writeFileSync(path, raw);
        return Array.isArray(readAudit(path)) && new AuditFile(path).problem === null;
      },
    ),
    { numRuns: 100 },
  );
});

test('a FIFO or a folder under its name stops nobody: it is said, and nothing is announced', () => {
  for (const make of [() => execFileSync('mkfifo', [path]), () => mkdirSync(path)]) {
    rmSync(path, { recursive: true, force: true });
    make();
    expect(() => readAudit(path)).toThrow(NoAudit);
    const audit = new AuditFile(path);
    expect(audit.problem).toMatch(/cannot be read \(no regular file\)\. Move it away/u);
    expect(() => audit.write({ event: 'refused', by: 'cli', subject: 's', text: 't' })).toThrow(AuditUnwritable);
    audit.note({ event: 'refused', by: 'cli', subject: 's', text: 't' });
    expect(audit.problem).toMatch(/cannot be written/u);
  }
});

test('a file that has grown too large is turned over and the one before is kept; a reserve is there for a full disk', () => {
  writeFileSync(path, Buffer.alloc(9 * 1024 * 1024, 0x20));
  new AuditFile(path).write({ event: 'leaked', by: 'app', subject: 's', text: 'first of the next' });
  expect(readAudit(path).map(({ text }) => text)).toEqual(['first of the next']);
  expect(statSync(join(root, 'audit.1.jsonl')).size).toBe(9 * 1024 * 1024);
  expect(statSync(join(root, 'audit.reserve'))).toMatchObject({ size: 64 * 1024 });
  expect(statSync(join(root, 'audit.reserve')).mode & 0o777).toBe(0o600);
});

test('reading leaves nothing on disk', () => {
  expect(new AuditFile(path).recent).toEqual([]);
  expect(existsSync(join(root, 'audit.reserve'))).toBe(false);
});
