import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { checkImports } from './check-imports.mjs';

let root = '';
beforeEach(() => {
  root = mkdtempSync(path.join(os.tmpdir(), 'imports-'));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

/** Writes a tree of sources and returns what the check says about it. */
function problemsOf(files: Record<string, string>, exceptions: readonly string[] = []): string[] {
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(path.dirname(path.join(root, file)), { recursive: true });
    writeFileSync(path.join(root, file), text);
  }
  return checkImports(root, exceptions).problems;
}

const forbidden: [file: string, text: string, why: RegExp][] = [
  [
    'renderer/a.ts',
    "import { x } from '../app/records/store.ts';\nx();",
    /renderer may not import app\/records\/store\.ts/,
  ],
  ['renderer/a.ts', "import type { X } from '../app/identity/identity.ts';", /renderer may not import app\/identity/],
  ['renderer/a.ts', "import { readFile } from 'node:fs/promises';\nreadFile;", /renderer runs without Node/],
  ['renderer/a.ts', "import fs from 'fs';\nfs;", /renderer runs without Node/],
  ['renderer/a.tsx', "import { ipcRenderer } from 'electron';\nipcRenderer;", /renderer never imports electron/],
  ['renderer/a.ts', "import '../main/index.ts';", /renderer may not import main/],
  ['app/roll/a.ts', "import { f } from '../identity/judge.ts';\nf();", /app\/roll may not import app\/identity/],
  [
    'app/roll/a.ts',
    "import { type T, f } from '../identity/judge.ts';\nf();",
    /app\/roll may not import app\/identity/,
  ],
  ['app/roll/a.ts', "export { f } from '../identity/judge.ts';", /app\/roll may not import app\/identity/],
  ['app/roll/a.ts', "import '../identity/judge.ts';", /app\/roll may not import app\/identity/],
  ['app/roll/a.ts', "import os from 'node:os';\nos;", /app\/roll runs without Node/],
  ['app/identity/a.ts', "import type { Roll } from '../roll/schema.ts';", /app\/identity may not import app\/roll/],
  ['app/cli/a.ts', "import { app } from 'electron';\napp;", /app never imports electron/],
  ['app/cli/a.ts', "await import('electron');", /app never imports electron/],
  ['app/cli/a.ts', "import { create } from 'zustand/vanilla';\ncreate;", /app never imports zustand/],
  ['app/config/a.ts', "import { jsx } from 'react/jsx-runtime';\njsx;", /app never imports react/],
  ['app/guard/a.ts', "import '../../main/index.ts';", /app\/guard may not import main/],
  ['app/guard/a.ts', "import '../../renderer/app.tsx';", /app\/guard may not import renderer/],
  ['app/servers/a.ts', "import { s } from '../supervisor/core.ts';\ns;", /app\/servers may not import app\/supervisor/],
  [
    'app/servers/a.ts',
    "import type { S } from '../supervisor/core.ts';",
    /app\/servers may not import app\/supervisor/,
  ],
  ['app/cli/a.ts', "import '../roll/world.testing.ts';", /app\/cli may not import app\/roll\/world.testing.ts/],
  ['app/novel/a.ts', "import '../roll/schema.ts';", /no room of import-rules.mjs holds this file/],
  ['main/a.ts', "import '../e2e/support/dbus.ts';", /main may not import e2e/],
  ['main/a.ts', "import type { P } from '../renderer/app.tsx';", /main may not import renderer/],
  ['main/a.ts', "import { useState } from 'react';\nuseState;", /main never imports react/],
];

test.each(forbidden)('%s with %j is refused', (file, text, why) => {
  const problems = problemsOf({ [file]: text });
  expect(problems).toHaveLength(1);
  expect(problems[0]).toMatch(why);
  expect(problems[0]).toMatch(new RegExp(`^${file}:1: `));
});

test('what the directions allow passes', () => {
  expect(
    problemsOf({
      'app/identity/identity.ts': "import { createHash } from 'node:crypto';\nexport const h = createHash;",
      'app/roll/schema.ts': "import { z } from 'zod';\nexport const a = z;",
      'app/text/words.test.ts': "import { readFileSync } from 'node:fs';\nreadFileSync;",
      'app/supervisor/core.ts':
        "import { a } from '../roll/schema.ts';\nimport { h } from '../identity/identity.ts';\na; h;",
      'app/cli/index.ts': "import '../supervisor/core.ts';",
      'main/index.ts': "import { app } from 'electron';\nimport '../app/supervisor/core.ts';\napp;",
      'renderer/main.tsx': "import { create } from 'zustand';\nimport { a } from '../app/roll/schema.ts';\ncreate; a;",
      'app/cli/version.ts': "import about from '../../package.json' with { type: 'json' };\nabout;",
      'main/tray.test.ts': "import '../e2e/support/dbus.ts';",
      'e2e/x.spec.ts': "import '../app/supervisor/core.ts';",
    }),
  ).toEqual([]);
});

test('a circle is reported, also when types alone close it', () => {
  const circle =
    'app/cli/a.ts:1: imports itself in a circle: app/cli/a.ts → app/cli/b.ts → app/cli/c.ts → app/cli/a.ts';
  const open = {
    'app/cli/a.ts': "import { b } from './b.ts';\nexport const a = () => b;",
    'app/cli/b.ts': "import { c } from './c.ts';\nexport const b = () => c;",
  };
  const closed = "import { a } from './a.ts';\nexport const c = () => a;";
  expect(problemsOf({ ...open, 'app/cli/c.ts': closed })).toEqual([circle]);
  const byType = "import type { A } from './a.ts';\nexport const c = 1 as unknown as A;";
  expect(problemsOf({ ...open, 'app/cli/c.ts': byType })).toEqual([circle]);
});

test('an exception is allowed while it is needed', () => {
  const exception = ['app/servers/a.ts → app/supervisor/core.ts'];
  const against = { 'app/servers/a.ts': "import { s } from '../supervisor/core.ts';\ns;" };
  expect(problemsOf(against, exception)).toEqual([]);
  expect(problemsOf({ 'app/servers/a.ts': 'export const a = 1;' }, exception)).toEqual([
    `build/import-rules.mjs:1: this exception is not needed any more: ${exception[0]}`,
  ]);
});
