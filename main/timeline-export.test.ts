import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type AuditInput, NoAudit } from '../app/audit/audit.ts';
import { idOf } from '../app/identity/ids.ts';
import { server } from '../e2e/support/fixture-roll.ts';
import { exportName, exportTimeline } from './timeline-export.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'rollcall-export-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const ALL = { host: null, server: null, session: null, filter: '' };
const { identity } = server(7, 'supervised');
let minute = 0;

function line(over: Partial<AuditInput>): string {
  minute += 1;
  return `${JSON.stringify({
    at: new Date(Date.UTC(2026, 10, 30, 8, minute)).toISOString(),
    event: 'ready',
    by: 'app',
    host: 'local',
    pid: null,
    identity: null,
    verdict: null,
    signal: null,
    subject: 's',
    text: 't',
    ...over,
  })}\n`;
}

async function exported(choice: Partial<typeof ALL> | Record<string, string>) {
  const to = join(folder, 'out.json');
  const auditFile = join(folder, 'audit.jsonl');
  const count = await exportTimeline(to, { ...ALL, ...choice }, { auditFile, version: '1.2.3', now: 0 });
  const file = JSON.parse(readFileSync(to, 'utf8'));
  expect(file).toMatchObject({ rollcall: '1.2.3', exportedAt: '1970-01-01T00:00:00.000Z' });
  expect(file.entries).toHaveLength(count);
  expect(statSync(to).mode & 0o777).toBe(0o600);
  return file.entries as { subject: string; text: string; server: string | null; session: string | null }[];
}

test('everything the audit holds is exported, the file before the last turn-over first, without what is torn', async () => {
  writeFileSync(join(folder, 'audit.1.jsonl'), `${line({ subject: 'old' })}{"at":"2026`);
  const many = Array.from({ length: 300 }, (_, n) => line({ subject: `n${n}` })).join('');
  writeFileSync(join(folder, 'audit.jsonl'), `not json\n{"at":"x"}\n${many}`);
  const entries = await exported({});
  expect(entries).toHaveLength(301);
  expect([entries[0]?.subject, entries.at(-1)?.subject]).toEqual(['old', 'n299']);
});

test('no secret leaves with it, also where one was written down', async () => {
  const secret = 'sk-ant-0123456789abcdef0123';
  writeFileSync(
    join(folder, 'audit.jsonl'),
    line({ subject: `opencode --password hunter2`, text: `API_KEY=${secret} and https://u:p@host/?token=abc` }),
  );
  const [entry] = await exported({ filter: 'opencode' });
  expect(JSON.stringify(entry)).not.toMatch(/hunter2|sk-ant|u:p@|abc/u);
  expect(entry?.text).toContain('•••');
});

test('it holds what was chosen: of a host, a server, a session, by words', async () => {
  const session = 'a'.repeat(16);
  writeFileSync(
    join(folder, 'audit.jsonl'),
    [
      line({ subject: 'elsewhere', host: 'build-01' }),
      line({ subject: 'of the server', identity }),
      line({ subject: 'of the session', event: 'session-ended', session }),
    ].join(''),
  );
  const subjects = async (choice: Record<string, string>) => (await exported(choice)).map(({ subject }) => subject);
  expect(await subjects({ host: 'build-01' })).toEqual(['elsewhere']);
  expect(await subjects({ server: idOf(identity) })).toEqual(['of the server']);
  expect(await subjects({ session })).toEqual(['of the session']);
  expect(await subjects({ filter: 'session ended' })).toEqual(['of the session']);
});

test('no audit is an empty export; what is no file under its name is told and not waited for', async () => {
  expect(await exported({})).toEqual([]);
  execFileSync('mkfifo', [join(folder, 'audit.jsonl')]);
  await expect(exported({})).rejects.toThrow(NoAudit);
});

test('the file is named by the day', () => {
  expect(exportName(new Date(2026, 0, 5, 23, 59).getTime())).toBe('rollcall-timeline-2026-01-05.json');
});
