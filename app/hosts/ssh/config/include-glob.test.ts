import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { expandGlob } from './include-glob.ts';

let root: string;
beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), 'rollcall-glob-'));
  for (const folder of ['a', 'b', '.c']) mkdirSync(join(root, folder));
  for (const name of ['a/work.conf', 'a/home.conf', 'a/.hidden.conf', 'b/x1', 'b/x2', 'b/y+1', '.c/z']) {
    writeFileSync(join(root, name), '');
  }
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

test.each<[string, readonly string[]]>([
  ['a/*.conf', ['a/home.conf', 'a/work.conf']],
  ['a/.*.conf', ['a/.hidden.conf']],
  ['*/x?', ['b/x1', 'b/x2']],
  ['b/x[!1]', ['b/x2']],
  ['b/[xy][1]', ['b/x1']],
  ['b/y+*', ['b/y+1']],
  ['nowhere/*', []],
  ['b/x1/*', []],
])('%s', (pattern, expected) => {
  expect(expandGlob(join(root, pattern))).toEqual(expected.map((name) => join(root, name)));
});
