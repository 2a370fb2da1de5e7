/** Whatever lies in the records folder is read safely, in no time, and stays where it is. */
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { ensurePrivateFolder, UnsafeFolder } from '../util/folders.ts';
import { listRecords, parseRecord, readRecord } from './files.ts';
import { someRecord } from './fixtures.testing.ts';
import { RECORD_LIMIT_BYTES } from './schema.ts';
import { LocalRecords, RecordChanged } from './store.ts';

const NAME = someRecord().nonce;
const ROOT = process.getuid?.() === 0;

let root: string;
let folder: string;
let store: LocalRecords;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'rollcall-hostile-'));
  folder = join(root, 'records');
  mkdirSync(folder, { mode: 0o700 });
  store = new LocalRecords(folder, join(root, 'aside'));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const inFolder = (name: string) => join(folder, name);

test('a hundred sparse megabytes are not read into memory, and are moved aside only as they were judged', async () => {
  const path = inFolder(`${NAME}.json`);
  writeFileSync(path, JSON.stringify(someRecord()));
  truncateSync(path, 100 * 1024 * 1024);
  const before = process.memoryUsage().arrayBuffers;
  const judged = readRecord(path);
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(10_000_000);
  expect(judged).toMatchObject({ record: null, problem: `it is larger than ${RECORD_LIMIT_BYTES} bytes` });
  // Beyond what was read: the beginning is the same.
  truncateSync(path, 100 * 1024 * 1024 + 1);
  await expect(store.setAside(path, judged?.sha256 ?? '', 0)).rejects.toThrow(RecordChanged);
  const moved = await store.setAside(path, readRecord(path)?.sha256 ?? '', 0);
  expect(statSync(moved).size).toBe(100 * 1024 * 1024 + 1);
});

test.each([
  ['alone', (depth: number) => `${'['.repeat(depth)}${']'.repeat(depth)}`],
  [
    'in a field that a later Rollcall may have added',
    (depth: number) =>
      JSON.stringify({ ...someRecord(), more: '@' }).replace('"@"', `${'['.repeat(depth)}${']'.repeat(depth)}`),
  ],
])('JSON that is nested 30,000 deep, %s, is no record: it could be read, but never written again', (_, nested) => {
  const path = inFolder(`${NAME}.json`);
  writeFileSync(path, nested(30_000));
  expect(readRecord(path)).toMatchObject({ record: null, problem: 'it is nested deeper than a record is' });
});

test('a record of any size that is written can be read again: the command for people gives way', async () => {
  const long = someRecord({
    command: ['agentd', ...Array.from({ length: 3000 }, (_, at) => `--flag-${at}=${'é'.repeat(40)}`)],
  });
  expect(readRecord(await store.write(long))?.record).toMatchObject({
    command: ['agentd', ...long.command.slice(1, 8), '…'],
  });
  const wide = { ...someRecord(), more: Array.from({ length: 9000 }, () => [1]) };
  expect(readRecord(await store.write(wide))?.record).toEqual(wide);
});

test('a folder, a FIFO, a socket-like name and a device link among the records are listed as what they are', () => {
  mkdirSync(inFolder('folder.json'));
  execFileSync('mkfifo', [inFolder('pipe.json')]);
  symlinkSync('/dev/zero', inFolder('zero.json'));
  writeFileSync(inFolder('notes.txt'), 'no record');
  expect(
    listRecords(folder).map(({ path, problem, sha256 }) => [path.slice(folder.length + 1), problem, sha256]),
  ).toEqual([
    ['folder.json', 'it is no regular file', ''],
    ['pipe.json', 'it is no regular file', ''],
    ['zero.json', 'it could not be opened (ELOOP)', ''],
  ]);
  expect(readdirSync(folder)).toHaveLength(4);
});

test('bytes that are no UTF-8 are no record or a record, and never an error', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 2000 }), fc.boolean(), (bytes, wrapped) => {
      const path = inFolder(`${NAME}.json`);
      const text = Buffer.from(bytes);
      const before = Buffer.from(`${JSON.stringify(someRecord()).slice(0, -1)},"more":"`);
      writeFileSync(path, wrapped ? Buffer.concat([before, text, Buffer.from('"}')]) : text);
      const file = readRecord(path);
      return file !== null && (file.record === null) === (file.problem !== null) && file.sha256 !== '';
    }),
    { numRuns: 200 },
  );
});

test('a records folder that is a file is one entry that says so; the file stays', () => {
  rmSync(folder, { recursive: true });
  writeFileSync(folder, 'somebody’s');
  expect(listRecords(folder)).toMatchObject([
    { path: folder, record: null, problem: expect.stringMatching(/ENOTDIR/u) },
  ]);
  expect(() => ensurePrivateFolder(folder)).toThrow(/could not be made|is no folder/u);
  expect(readFileSync(folder, 'utf8')).toBe('somebody’s');
});

test('a records folder that is a link to one is used, and one that others may enter is closed to them', () => {
  const elsewhere = join(root, 'other-disk');
  mkdirSync(elsewhere);
  chmodSync(elsewhere, 0o777);
  rmSync(folder, { recursive: true });
  symlinkSync(elsewhere, folder);
  ensurePrivateFolder(folder);
  expect(statSync(elsewhere).mode & 0o777).toBe(0o700);
});

test('a records folder that somebody removed is made again, private, by the next write', async () => {
  rmSync(folder, { recursive: true });
  expect([listRecords(folder), await store.problem()]).toEqual([[], null]);
  await store.write(someRecord());
  expect(listRecords(folder)).toHaveLength(1);
  expect(statSync(folder).mode & 0o777).toBe(0o700);
});

test('a records folder of another user is refused by name', (context) => {
  if (!ROOT) context.skip('only root can give a folder away');
  chownSync(folder, 65_534, 65_534);
  expect(() => ensurePrivateFolder(folder)).toThrow(UnsafeFolder);
  expect(() => ensurePrivateFolder(folder)).toThrow(/belongs to user 65534\. Give it to your own user/u);
});

test('records of every version: older ones are read, later ones are kept, nonsense is neither', () => {
  const text = (version: unknown) => JSON.stringify({ ...someRecord(), version });
  expect(parseRecord(text(1), NAME).record).not.toBeNull();
  expect(parseRecord(text(2), NAME).record).not.toBeNull();
  for (const later of [3, 99, 2.5, 1e308]) expect(parseRecord(text(later), NAME)).toMatchObject({ newer: true });
  for (const none of [0, -1, '2', null, true, [2], {}, 1.5])
    expect(parseRecord(text(none), NAME)).toMatchObject({ record: null, newer: false });
});

test('a valid record is read back as it was written, with every field that it has more', () => {
  // JSON knows no -0, so what it would make of one is what is expected.
  const value = fc.jsonValue({ maxDepth: 3 }).map((one): unknown => JSON.parse(JSON.stringify(one)));
  const extra = fc.dictionary(fc.stringMatching(/^x[a-z]{1,8}$/u), value, { maxKeys: 4 });
  const date = fc.date({ min: new Date(0), max: new Date(4e12), noInvalidDate: true }).map((at) => at.toISOString());
  const change = fc.record({
    directory: fc.string({ unit: 'binary' }),
    writtenAt: date,
    port: fc.option(fc.integer({ min: 1, max: 65_535 })),
    keepRunning: fc.boolean(),
    command: fc.array(fc.string({ unit: 'grapheme' })),
    attempt: fc.nat(),
    readyAt: fc.option(date),
    program: fc.option(
      fc.record({
        path: fc.string(),
        device: fc.string(),
        inode: fc.string(),
        mtimeMs: fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => value + 0),
      }),
    ),
  });
  fc.assert(
    fc.property(change, extra, (fields, more) => {
      const record = { ...someRecord(), ...fields, ...more };
      expect(parseRecord(JSON.stringify(record), NAME).record).toEqual(record);
    }),
  );
});

test('what is torn anywhere is no record', () => {
  const text = JSON.stringify(someRecord(), null, 2);
  fc.assert(
    fc.property(fc.nat(text.length - 1), fc.nat(64), (at, zeros) => {
      const torn = text.slice(0, at) + '\0'.repeat(zeros);
      expect(parseRecord(torn, NAME)).toMatchObject({ record: null, newer: false });
    }),
  );
});
