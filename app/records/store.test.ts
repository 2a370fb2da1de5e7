import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { listRecords, parseRecord, readRecord } from './files.ts';
import { someRecord } from './fixtures.testing.ts';
import { RECORD_LIMIT_BYTES } from './schema.ts';
import { LocalRecords, RecordChanged } from './store.ts';

let root: string;
let store: LocalRecords;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'rollcall-records-'));
  mkdirSync(join(root, 'records'), { mode: 0o700 });
  store = new LocalRecords(join(root, 'records'), join(root, 'aside'));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const NAME = '3f1f7b4e-9d54-4c1e-8f43-0a6f0a4f2b11';

test('what is written is read again, 0600, with nothing else left in the folder', async () => {
  const path = await store.write(someRecord());
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(readdirSync(join(root, 'records'))).toEqual([`${NAME}.json`]);
  expect(listRecords(join(root, 'records'))).toMatchObject([{ path, problem: null, record: someRecord() }]);
});

test('a folder that does not exist yet holds no records', () => {
  expect(listRecords(join(root, 'nowhere'))).toEqual([]);
});

test('unknown fields of the same version are kept', async () => {
  const path = await store.write({ ...someRecord(), note: 'from a sibling' });
  expect(readRecord(path)?.record).toMatchObject({ note: 'from a sibling' });
});

test('a record of version 1 is read with what it could not know left open, and its file stays as it is', () => {
  const { program, planHash, attempt, readyAt, ...known } = someRecord();
  expect([program, planHash, attempt, readyAt]).not.toContain(undefined);
  const path = join(root, 'records', `${NAME}.json`);
  const text = JSON.stringify({ ...known, version: 1, note: 'kept' });
  writeFileSync(path, text);
  expect(readRecord(path)?.record).toEqual({
    ...known,
    version: 2,
    note: 'kept',
    program: null,
    planHash: null,
    attempt: 0,
    readyAt: null,
  });
  expect(readFileSync(path, 'utf8')).toBe(text);
});

describe('C23 what is no record gets a reason and is never thrown away', () => {
  const file = () => join(root, 'records', `${NAME}.json`);
  test.each<[string, string | Buffer, RegExp]>([
    ['empty', '', /empty/u],
    ['truncated', JSON.stringify(someRecord()).slice(0, 80), /no complete JSON/u],
    ['filled with NUL', Buffer.alloc(512), /NUL/u],
    ['of another shape', '{"version":2}', /is not what a record has/u],
    ['of a later version', JSON.stringify({ ...someRecord(), version: 3 }), /later Rollcall/u],
    ['under another name', JSON.stringify(someRecord({ nonce: '11111111-1111-4111-8111-111111111111' })), /nonce/u],
    ['huge', Buffer.alloc(RECORD_LIMIT_BYTES + 10, 0x20), /larger than/u],
    [
      'with PID 0',
      JSON.stringify(
        someRecord({ server: { ...someRecord().writer, identity: { ...someRecord().writer.identity, pid: 0 } } }),
      ),
      /not what a record has/u,
    ],
  ])('%s', (_, content, problem) => {
    writeFileSync(file(), content);
    const [found] = listRecords(join(root, 'records'));
    expect(found?.record).toBeNull();
    expect(found?.problem).toMatch(problem);
    expect(existsSync(file())).toBe(true);
  });

  test('a link and a FIFO are refused without being followed or waited for', () => {
    symlinkSync('/etc/passwd', join(root, 'records', 'link.json'));
    execFileSync('mkfifo', [join(root, 'records', 'pipe.json')]);
    expect(listRecords(join(root, 'records')).map(({ problem }) => problem)).toEqual([
      expect.stringMatching(/ELOOP/u),
      expect.stringMatching(/no regular file/u),
    ]);
  });

  test('any text at all parses or has a reason', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.json(), fc.constant(JSON.stringify(someRecord()))), (text) => {
        const parsed = parseRecord(text, NAME);
        return parsed.record === null ? parsed.problem.length > 0 : parsed.problem === null;
      }),
    );
  });
});

describe('moving aside', () => {
  test('moves exactly the bytes that were judged', async () => {
    const path = await store.write(someRecord());
    const judged = readRecord(path);
    const moved = await store.setAside(path, judged?.sha256 ?? '', Date.parse('2026-03-02T12:00:00Z'));
    expect(existsSync(path)).toBe(false);
    expect(JSON.parse(readFileSync(moved, 'utf8'))).toEqual(someRecord());
    expect(statSync(join(root, 'aside')).mode & 0o777).toBe(0o700);
  });

  test('leaves a record alone that changed in between', async () => {
    const path = await store.write(someRecord());
    const judged = readRecord(path);
    await store.write(someRecord({ keepRunning: true }));
    await expect(store.setAside(path, judged?.sha256 ?? '', 0)).rejects.toThrow(RecordChanged);
    expect(readRecord(path)?.record?.keepRunning).toBe(true);
  });

  test('removing what is not there is a no-op', async () => {
    await expect(store.remove(NAME)).resolves.toBeUndefined();
  });
});

test('an unreadable record is a problem, not a crash', async (context) => {
  if (process.getuid?.() === 0) context.skip('root reads everything');
  const path = await store.write(someRecord());
  chmodSync(path, 0);
  expect(listRecords(join(root, 'records'))[0]?.problem).toMatch(/EACCES/u);
});
