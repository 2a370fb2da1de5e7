/** Bundles an entry point the way the build does, for tests that need a thread or a process of our own code. */
import { mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build } from 'esbuild';
import { afterAll } from 'vitest';
import { NODE_SIDE } from './node-side.ts';

const ROOT = fileURLToPath(new URL('../../../../', import.meta.url));

/** Call it at the top of a test file or in a `beforeAll`; the result is removed after the file's tests. */
export async function bundle(
  source: { readonly entry: URL } | { readonly code: string; readonly beside: URL },
): Promise<URL> {
  // Below node_modules, so that what is not bundled resolves as it does from the sources.
  const folder = mkdtempSync(join(ROOT, 'node_modules', '.rollcall-test-'));
  afterAll(() => rm(folder, { recursive: true, force: true }));
  const outfile = join(folder, 'bundle.mjs');
  await build({
    ...NODE_SIDE,
    outfile,
    ...('entry' in source
      ? { entryPoints: [fileURLToPath(source.entry)] }
      : { stdin: { contents: source.code, loader: 'ts', resolveDir: fileURLToPath(new URL('.', source.beside)) } }),
  });
  return pathToFileURL(outfile);
}
