/** The askpass server with the real helper, as the build puts it together. */
import { chmodSync, copyFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { onTestFinished } from 'vitest';
import { loadLibc } from '../../../util/libc.ts';
import { temporaryFolder } from '../../local/testing/processes.ts';
import type { Ask } from '../askpass/questions.ts';
import { type AskpassServer, startAskpass } from '../askpass/server.ts';

const FOLDER = new URL('../askpass/', import.meta.url);

/** Closed with the test. Give `runtimeDir` to the transport, too. */
export async function testAskpass(
  ask: Ask,
  timeoutMs?: number,
): Promise<{ readonly questioner: AskpassServer; readonly runtimeDir: string }> {
  const out = temporaryFolder();
  const runtimeDir = temporaryFolder();
  const script = join(out, 'askpass.sh');
  copyFileSync(new URL('askpass.sh', FOLDER), script);
  chmodSync(script, 0o755);
  writeFileSync(join(out, 'package.json'), '{"type":"module"}');
  await build({
    entryPoints: [fileURLToPath(new URL('main.ts', FOLDER))],
    outfile: join(out, 'askpass.js'),
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    logLevel: 'error',
  });
  const load = await loadLibc();
  const questioner = await startAskpass({
    runtimeDir,
    script,
    runtime: process.execPath,
    ask,
    libc: load.loaded ? load.libc : null,
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
  });
  onTestFinished(() => questioner.close());
  return { questioner, runtimeDir };
}
