/** Who may have written a file, by real rights and owners. Only root can give files away. */
import { chmodSync, chownSync, lchownSync, mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { temporaryFolder } from '../hosts/local/testing/processes.ts';
import { distrusted } from './trust.ts';

const OURS = process.getuid?.() ?? 0;
const THEIRS = OURS + 4242;
let folder: string;
let file: string;
beforeEach(() => {
  folder = join(temporaryFolder(), 'rollcall');
  mkdirSync(folder, { mode: 0o700 });
  file = join(folder, 'config.json');
  writeFileSync(file, '{}', { mode: 0o644 });
});

test('what only we can write is trusted, and what another can is not', () => {
  expect(distrusted(file)).toBeNull();
  for (const mode of [0o664, 0o646, 0o666]) {
    chmodSync(file, mode);
    expect(distrusted(file)).toEqual({
      why: 'others may write to it',
      remedy: `take that right away (chmod go-w ${file})`,
    });
  }
});

test('a folder in which another can put a file in its place', () => {
  for (const mode of [0o770, 0o707, 0o777]) {
    chmodSync(folder, mode);
    expect(distrusted(file)?.remedy).toBe(`take that right away (chmod go-w ${folder})`);
    chmodSync(folder, mode | 0o1000);
    expect(distrusted(file)).toBeNull();
  }
});

test.runIf(OURS === 0)("another's file or folder is not trusted; root's is", () => {
  chownSync(file, THEIRS, THEIRS);
  expect(distrusted(file)).toEqual({
    why: `it belongs to user ${THEIRS}`,
    remedy: `make it yours (chown $(id -u) ${file})`,
  });
  // For that one it is, and the folder of root around it is trusted, too.
  expect(distrusted(file, THEIRS)).toBeNull();
  chownSync(file, 0, 0);
  expect(distrusted(file, THEIRS)).toBeNull();
  chownSync(folder, THEIRS, THEIRS);
  expect(distrusted(file)?.why).toBe(`the folder ${folder} belongs to user ${THEIRS}`);
});

test.runIf(OURS === 0)('a link is followed, and each place that it leads through is looked at', () => {
  const far = join(folder, "the person's dotfiles");
  mkdirSync(far, { mode: 0o700 });
  renameSync(file, join(far, 'c.json'));
  symlinkSync("the person's dotfiles/link.json", file);
  symlinkSync('c.json', join(far, 'link.json'));
  expect(distrusted(file)).toBeNull();
  chmodSync(far, 0o720);
  expect(distrusted(file)?.remedy).toBe(`take that right away (chmod go-w '${folder}/the person'\\''s dotfiles')`);
  chmodSync(far, 0o700);
  chmodSync(join(far, 'c.json'), 0o606);
  expect(distrusted(file)?.why).toBe(`others may write to ${far}/c.json`);
  chmodSync(join(far, 'c.json'), 0o600);
  // In a sticky folder anybody can make a link of his own.
  lchownSync(join(far, 'link.json'), THEIRS, THEIRS);
  expect(distrusted(file)?.why).toBe(`${far}/link.json belongs to user ${THEIRS}`);
});

test('a circle of links leads nowhere, and a file that is not there is an error of the system', () => {
  const loop = join(folder, 'loop.json');
  symlinkSync('loop.json', loop);
  expect(distrusted(loop)?.why).toBe('too many links lead to it');
  expect(() => distrusted(join(folder, 'absent.json'))).toThrow('ENOENT');
});
