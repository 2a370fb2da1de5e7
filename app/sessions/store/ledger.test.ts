/** The ledger on a real disk: nothing that was written is lost, whatever else is in the file or happens to it. */
import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, onTestFinished, test } from 'vitest';
import { temporaryFolder } from '../../hosts/local/testing/processes.ts';
import { someRef } from '../../records/fixtures.testing.ts';
import { persistenceFor } from '../persistence.ts';
import { CRASHED, someHook, someLife } from '../session-run.testing.ts';
import { END_REASONS } from '../session-run.ts';
import { type DueHook, hookKeyOf, SessionLedger } from './ledger.ts';
import { lineText, type NewLine, parseLine } from './ledger-lines.ts';

const NOW = Date.parse('2026-05-01T12:00:00.000Z');
const HOOK = someHook('entire');
const NOTIFY = someHook('notify');

const openAt = (path: string): SessionLedger => SessionLedger.open(path, () => NOW);
const idsOf = (due: readonly DueHook[]): string[] => due.map(({ key }) => key);

function attempt(number: number) {
  return { number, runner: someRef(5000 + number), at: '2026-05-01T11:00:01.000Z', seconds: 30 };
}
function miss(failures: number, final = false) {
  return { at: '2026-05-01T11:00:02.000Z', why: 'it ended with 1', output: 'no', failures, final };
}

test('what lives, what has ended and what is due is known to the next one', () => {
  const path = join(temporaryFolder(), 'sessions.jsonl');
  const first = openAt(path);
  first.begin([someLife(1), someLife(2), someLife(3), someLife(2, { life: someLife(9).life })]);
  first.carry([
    { key: someLife(1).key, title: 'Another\ntitle' },
    { key: someLife(8).key, title: 'nobody' },
  ]);
  expect(first.end([{ key: someLife(2).key, ending: CRASHED, hooks: [HOOK, NOTIFY, HOOK] }])).toEqual([someLife(2)]);
  const key = hookKeyOf(someLife(2).life, HOOK.id);
  expect(first.attempted(key, attempt(1))).toBe(true);
  first.missed(key, miss(1));
  expect(first.attempted(key, attempt(2))).toBe(true);
  expect(statSync(path).mode & 0o777).toBe(0o600);

  for (const again of [openAt(path), openAt(path)]) {
    expect([...again.open().values()]).toEqual([someLife(1, { title: 'Another\\ntitle' }), someLife(3)]);
    expect(again.recentlyEnded()).toEqual([{ life: someLife(2), ending: CRASHED }]);
    expect(again.due()).toEqual([
      { key, life: someLife(2), ending: CRASHED, hook: HOOK, number: 2, attempt: attempt(2), miss: miss(1) },
      expect.objectContaining({ hook: NOTIFY, number: 0, attempt: null, miss: null }),
    ]);
    expect([again.problem, again.damage]).toEqual([null, null]);
  }
});

test('a life ends once, and its hooks are due once', () => {
  const path = join(temporaryFolder(), 'sessions.jsonl');
  const ledger = openAt(path);
  const ending = { key: someLife(1).key, ending: CRASHED, hooks: [HOOK] };
  ledger.begin([someLife(1)]);
  expect(ledger.end([ending, ending])).toHaveLength(1);
  const size = statSync(path).size;
  expect(ledger.end([ending])).toEqual([]);
  expect(statSync(path).size).toBe(size);
  ledger.finished(hookKeyOf(someLife(1).life, HOOK.id));
  // The same session lives again: that is another life, whose hooks are due anew.
  ledger.begin([someLife(1), someLife(1, { life: someLife(5).life })]);
  ledger.end([ending]);
  expect(idsOf(openAt(path).due())).toEqual([hookKeyOf(someLife(5).life, HOOK.id)]);
});

test('what ends in the book has its hooks made due and run; a life that is over ends no later one', () => {
  const ledger = openAt(join(temporaryFolder(), 'sessions.jsonl'));
  const pumped: number[] = [];
  const hooksFor = ({ kind }: { readonly kind: string }) => (kind === 'opencode' ? [HOOK] : []);
  const keeping = persistenceFor(ledger, { hooksFor, pump: () => void pumped.push(1) });
  const [one, codex, later] = [someLife(1), someLife(2, { kind: 'codex' }), someLife(1, { life: someLife(3).life })];
  keeping.begin([one, codex]);
  keeping.carry([{ ...one, title: 'renamed' }]);
  const both = [one, codex].map((life) => ({ life, ending: CRASHED }));
  expect(keeping.end(both)).toEqual([{ ...one, title: 'renamed' }, codex]);
  keeping.begin([later]);
  expect(keeping.end(both)).toEqual([]);
  expect([pumped.length, keeping.open().size, keeping.recentlyEnded().length]).toEqual([1, 1, 2]);
  expect(idsOf(ledger.due())).toEqual([hookKeyOf(one.life, HOOK.id)]);
});

test('hooks that are given up are kept until somebody asks for them again or forgets them', () => {
  const path = join(temporaryFolder(), 'sessions.jsonl');
  const ledger = openAt(path);
  ledger.begin([someLife(1)]);
  ledger.end([{ key: someLife(1).key, ending: CRASHED, hooks: [HOOK, NOTIFY] }]);
  const [entire = '', notify = ''] = [HOOK, NOTIFY].map(({ id }) => hookKeyOf(someLife(1).life, id));
  for (const key of [entire, notify]) ledger.missed(key, miss(4, true));
  expect([ledger.due(), idsOf(openAt(path).failed())]).toEqual([[], [entire, notify]]);
  ledger.again([entire]);
  ledger.forget([notify]);
  const later = openAt(path);
  expect([idsOf(later.due()), later.failed()]).toEqual([[entire], []]);
});

test('a file that is cut off at any byte gives all of its whole lines, and a due hook is never lost', () => {
  // In memory: the file is synced some thousand times.
  const folder = mkdtempSync('/dev/shm/rollcall-test-');
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const path = join(folder, 'sessions.jsonl');
  const ledger = openAt(path);
  ledger.begin([someLife(1, { carrier: { label: 'x', identity: null } })]);
  ledger.carry([{ key: someLife(1).key, title: 'renamed' }]);
  ledger.end([{ key: someLife(1).key, ending: CRASHED, hooks: [HOOK] }]);
  const key = hookKeyOf(someLife(1).life, HOOK.id);
  ledger.attempted(key, attempt(1));
  ledger.missed(key, miss(1));
  ledger.finished(key);
  const whole = readFileSync(path);
  /** After each whole line: is it open, is a hook due, has it an attempt, has it missed. */
  const expected = ['0000', '1000', '1000', '0100', '0110', '0101', '0000'];
  const cut = join(folder, 'cut.jsonl');
  for (let length = 0; length <= whole.length; length += 1) {
    writeFileSync(cut, whole.subarray(0, length));
    const lines = whole.subarray(0, length).toString().split('\n').length - 1;
    // The end of a line is all that may be missing of it.
    const complete = whole[length] === 0x0a ? lines + 1 : lines;
    const next = openAt(cut);
    const [due] = next.due();
    const bits = [next.open().size > 0, due !== undefined, due?.attempt ?? false, due?.miss ?? false];
    expect([next.damage, next.problem]).toEqual([null, null]);
    expect([length, bits.map((bit) => (bit === false ? '0' : '1')).join('')]).toEqual([length, expected[complete]]);
    // Whoever appends next does not lose any of it either. The same at each byte, so some will do.
    if (length % 7 !== 0) continue;
    next.begin([someLife(2)]);
    const rows = readFileSync(cut, 'utf8').trimEnd().split('\n');
    expect(rows.map((row) => parseLine(row)?.line)).toEqual([...(complete > 0 ? ['life'] : []), 'life']);
  }
  expect(readdirSync(folder).sort()).toEqual(['cut.jsonl', 'sessions.jsonl']);
});

test('damaged and foreign lines are left out and said, and the file as it was is kept', () => {
  const folder = temporaryFolder();
  const path = join(folder, 'sessions.jsonl');
  openAt(path).begin([someLife(1)]);
  appendFileSync(path, 'garbage\n{"v":2,"line":"life"}\n\0\0\0\n');
  appendFileSync(path, lineText({ line: 'life', life: someLife(2), ending: null, hooks: [] }));
  const before = readFileSync(path, 'utf8');
  const ledger = openAt(path);
  expect([...ledger.open().keys()]).toEqual([someLife(1).key, someLife(2).key]);
  const aside = join(folder, 'sessions.damaged-2026-05-01T12-00-00-000Z.jsonl');
  expect(ledger.damage).toBe(
    `3 lines of the session ledger ${path} could not be read and were left out; the file as it was is kept as ${aside}.`,
  );
  expect(readFileSync(aside, 'utf8')).toBe(before);
  expect(openAt(path)).toMatchObject({ damage: null, problem: null });
});

test('what cannot be written is kept, said, and written when it can be', () => {
  const folder = temporaryFolder();
  const path = join(folder, 'state', 'sessions.jsonl');
  const ledger = openAt(path);
  ledger.begin([someLife(1)]);
  ledger.end([{ key: someLife(1).key, ending: CRASHED, hooks: [HOOK] }]);
  expect(ledger.attempted(hookKeyOf(someLife(1).life, HOOK.id), attempt(1))).toBe(false);
  expect(ledger.problem).toBe(
    `The session ledger ${path} cannot be written (ENOENT). Make its folder writable for you, then try again.`,
  );
  expect(ledger.due()).toHaveLength(1);
  mkdirSync(join(folder, 'state'));
  ledger.begin([someLife(2)]);
  expect(ledger.problem).toBeNull();
  const next = openAt(path);
  expect([next.open().size, next.due()[0]?.attempt]).toEqual([1, attempt(1)]);
  ledger.close();
  ledger.begin([someLife(3)]);
  expect(openAt(path).open().size).toBe(1);
});

test('a full disk takes part of a line: nothing is glued together, and all is there once there is space', () => {
  const folder = temporaryFolder();
  const disk = join(folder, 'disk');
  mkdirSync(disk);
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'none', disk]);
  try {
    const path = join(disk, 'sessions.jsonl');
    const ledger = openAt(path);
    ledger.begin([someLife(1)]);
    writeFileSync(join(disk, 'rest'), Buffer.alloc(59 * 1024));
    ledger.begin(Array.from({ length: 20 }, (_, index) => someLife(10 + index)));
    expect(ledger.problem).toContain('cannot be written (ENOSPC). Free some space on that disk, then try again.');
    expect(openAt(path)).toMatchObject({ damage: null });
    expect(openAt(path).open().size).toBe(1);
    rmSync(join(disk, 'rest'));
    expect([ledger.flush(), ledger.problem]).toEqual([true, null]);
    expect(openAt(path).open().size).toBe(21);
  } finally {
    execFileSync('umount', [disk]);
  }
});

test('what is no file of ours is told and left alone', () => {
  const folder = temporaryFolder();
  const path = join(folder, 'sessions.jsonl');
  mkdirSync(path);
  const ledger = openAt(path);
  ledger.begin([someLife(1)]);
  expect(ledger.open().size).toBe(1);
  expect(ledger.problem).toBe(
    `The session ledger ${path} cannot be read (it is no regular file), so nothing is written to it. Move it away, then start Rollcall again.`,
  );
  const fifo = join(folder, 'fifo.jsonl');
  execFileSync('mkfifo', [fifo]);
  expect(openAt(fifo).problem).toContain('it is no regular file');
  expect(readdirSync(folder).sort()).toEqual(['fifo.jsonl', 'sessions.jsonl']);
});

test('5,000 lives are one write; opening drops what is old and keeps what is open or due', () => {
  const folder = temporaryFolder();
  const path = join(folder, 'sessions.jsonl');
  const ledger = openAt(path);
  const many = Array.from({ length: 5000 }, (_, index) => someLife(index));
  ledger.begin(many);
  expect(readFileSync(path, 'utf8').split('\n')).toHaveLength(5001);
  const old = { ...CRASHED, at: '2026-04-01T11:00:00.000Z' };
  ledger.end(
    many.slice(0, 4500).map(({ key }, index) => ({
      key,
      ending: index < 100 ? old : CRASHED,
      hooks: index < 10 ? [HOOK] : [],
    })),
  );
  const next = openAt(path);
  expect(next.open().size).toBe(500);
  expect(next.due()).toHaveLength(10);
  // Ten with a hook, and the latest two thousand of the others, none older than seven days.
  expect(next.recentlyEnded()).toHaveLength(2010);
  expect(next.recentlyEnded().filter(({ ending }) => ending.at === old.at)).toHaveLength(10);
  expect(readFileSync(path, 'utf8').split('\n')).toHaveLength(2511);
  expect(readdirSync(folder)).toEqual(['sessions.jsonl']);
});

test('a file that keeps growing is written anew while it is used', () => {
  const path = join(temporaryFolder(), 'sessions.jsonl');
  const ledger = openAt(path);
  ledger.begin([someLife(1)]);
  const folder = `/${'deep/'.repeat(20_000)}`;
  for (let turn = 0; turn < 60; turn += 1) ledger.carry([{ key: someLife(1).key, directory: `${folder}${turn}` }]);
  expect(statSync(path).size).toBeLessThan(5_000_000);
  expect(openAt(path).open().get(someLife(1).key)?.directory).toBe(`${folder}59`);
});

const text = fc.string({ unit: 'binary', maxLength: 40 });
const life = fc.record({
  life: fc.uuid(),
  key: fc.stringMatching(/^[0-9a-f]{16}$/u),
  id: text,
  kind: text,
  host: text,
  directory: fc.option(text),
  title: text,
  carrier: fc.record({ label: text, identity: fc.option(fc.constant(someRef(7).identity)) }),
  openedAt: fc.constant('2026-05-01T10:00:00.000Z'),
});
const ending = fc.record({
  at: fc.constant('2026-05-01T11:00:00.000Z'),
  reason: fc.constantFrom(...END_REASONS),
  text,
});

test('any life survives its line, whatever texts it holds; any other line is left out', () => {
  fc.assert(
    fc.property(life, fc.option(ending), (lived, ended) => {
      const line: NewLine = { line: 'life', life: lived, ending: ended, hooks: [] };
      const written = lineText(line);
      expect(written.split('\n')).toHaveLength(2);
      // A half of a pair is the one thing that UTF-8 cannot hold as it is.
      expect(parseLine(Buffer.from(written).toString('utf8').trimEnd())).toEqual({ v: 1, ...line });
    }),
  );
  fc.assert(
    fc.property(fc.oneof(text, fc.json()), (foreign) => {
      expect(parseLine(foreign)).toBeNull();
    }),
  );
});

test('whatever is done in whatever order, the file says the same as the memory', () => {
  const folder = temporaryFolder();
  const keys = [1, 2, 3].map((number) => someLife(number).key);
  const act = fc.tuple(
    fc.constantFrom('begin', 'carry', 'end', 'attempted', 'missed', 'final', 'done', 'again', 'forget', 'open'),
    fc.nat(2),
    fc.nat(30),
  );
  let run = 0;
  fc.assert(
    fc.property(fc.array(act, { maxLength: 25 }), (acts) => {
      run += 1;
      const path = join(folder, `${run}.jsonl`);
      let ledger = openAt(path);
      for (const [what, which, salt] of acts) {
        const key = keys[which] ?? '';
        const [due] = [...ledger.due(), ...ledger.failed()];
        const hook = due?.key ?? hookKeyOf(someLife(9).life, HOOK.id);
        if (what === 'begin') ledger.begin([someLife(which + 1, { life: someLife(100 + salt).life })]);
        if (what === 'carry') ledger.carry([{ key, title: `t${salt}` }]);
        if (what === 'end') ledger.end([{ key, ending: CRASHED, hooks: salt % 2 === 0 ? [HOOK, NOTIFY] : [] }]);
        if (what === 'attempted') ledger.attempted(hook, attempt(salt));
        if (what === 'missed') ledger.missed(hook, miss(salt));
        if (what === 'final') ledger.missed(hook, miss(salt, true));
        if (what === 'done') ledger.finished(hook);
        if (what === 'again') ledger.again([hook]);
        if (what === 'forget') ledger.forget([hook]);
        if (what === 'open') ledger = openAt(path);
      }
      const read = openAt(path);
      for (const one of [ledger, read]) expect([one.problem, one.damage]).toEqual([null, null]);
      expect(saying(read)).toEqual(saying(ledger));
    }),
    { numRuns: 40 },
  );
});

function saying(ledger: SessionLedger) {
  const sorted = <T extends { readonly life: { readonly life: string } }>(all: readonly T[]): T[] =>
    [...all].sort((a, b) => (a.life.life < b.life.life ? -1 : 1));
  return {
    open: new Map([...ledger.open()].sort()),
    ended: sorted(ledger.recentlyEnded()),
    due: new Map(ledger.due().map((hook) => [hook.key, hook])),
    failed: new Map(ledger.failed().map((hook) => [hook.key, hook])),
  };
}
