/** The programs under test, bundled as the build does. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { build, stop } from 'esbuild';

const SOURCES = {
  'headless-app': 'chaos/app.ts',
  'look-worker': 'app/hosts/local/look-worker.ts',
  cli: 'app/cli/index.ts',
} as const;

export interface Programs {
  readonly out: string;
  readonly app: string;
  readonly guard: string;
  readonly cli: string;
}

export async function bundlePrograms(folder: string, root: string): Promise<Programs> {
  const out = join(folder, 'out');
  mkdirSync(out, { recursive: true });
  writeFileSync(join(folder, 'package.json'), '{"name":"rollcall","version":"0.0.0-test","type":"module"}');
  await build({
    absWorkingDir: root,
    entryPoints: Object.entries(SOURCES).map(([name, source]) => ({ in: source, out: name })),
    outdir: out,
    bundle: true,
    platform: 'node',
    target: 'node20',
    format: 'esm',
    mainFields: ['module', 'main'],
    external: ['koffi', 'systeminformation'],
    logLevel: 'error',
  });
  await stop();
  return { out, app: join(out, 'headless-app.js'), guard: join(out, 'guard.js'), cli: join(out, 'cli.js') };
}
