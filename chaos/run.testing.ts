/** Runs `npm run chaos` in a folder of its own, for tests. */
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const RUN = fileURLToPath(new URL('./run.mjs', import.meta.url));
/** The exit code that says why nothing was run. */
const CANNOT = 3;

export interface ChaosRun {
  readonly code: number | null;
  /** Everything that it printed. */
  readonly out: string;
  /** Why nothing was run; null when it was. */
  readonly missing: string | null;
}

export function runChaos(words: readonly string[]): ChaosRun {
  const folder = mkdtempSync(join(tmpdir(), 'rollcall-chaos-'));
  // Strangers of another user work in it.
  chmodSync(folder, 0o711);
  try {
    const { status, stdout, stderr } = spawnSync(process.execPath, [RUN, ...words], {
      encoding: 'utf8',
      env: { ...process.env, TMPDIR: folder },
    });
    return { code: status, out: `${stdout}${stderr}`, missing: status === CANNOT ? stderr : null };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
