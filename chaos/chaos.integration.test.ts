/** A short run of the real thing, and proof that it would notice what it is there to find. */
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { SABOTAGES } from './options.ts';

const RUN = fileURLToPath(new URL('./run.mjs', import.meta.url));
/** The exit code that says why nothing was run. */
const CANNOT = 3;

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'rollcall-chaos-'));
  // Strangers of another user work in it.
  chmodSync(folder, 0o711);
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function chaos(words: readonly string[]): { readonly code: number | null; readonly out: string; readonly err: string } {
  const { status, stdout, stderr } = spawnSync(process.execPath, [RUN, ...words], {
    encoding: 'utf8',
    env: { ...process.env, TMPDIR: folder },
  });
  return { code: status, out: stdout, err: stderr };
}

test('half a minute of chaos signals no stranger, leaves no server without an owner, loses no record and nothing grows', (context) => {
  const { code, out, err } = chaos(['--seconds', '12', '--seed', '20']);
  if (code === CANNOT) return context.skip(err);
  expect(code, `${out}${err}`).toBe(0);
  expect(out).toMatch(/^chaos: ok \(seed 20, \d+ s\)$/mu);
}, 240_000);

const SENTENCES = {
  stranger: 'a stranger was signalled: stranger',
  owner: 'has no owner: it is in no row',
  record: 'a record went away without a word',
} as const;

test.for(SABOTAGES)('a run notices when the fault is there: %s', { timeout: 120_000 }, (sabotage, context) => {
  const { code, out, err } = chaos(['--seconds', '0', '--seed', '1', '--sabotage', sabotage]);
  if (code === CANNOT) return context.skip(err);
  expect(code, `${out}${err}`).toBe(1);
  expect(out).toContain(SENTENCES[sabotage]);
});
