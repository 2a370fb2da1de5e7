// `npm run bench`: bundles the benchmarks and the thread that takes looks as the build does, runs them, removes them.
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build } from 'esbuild';

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..');
// Below node_modules, so that what is not bundled resolves as it does from the sources.
const folder = mkdtempSync(path.join(root, 'node_modules', '.rollcall-bench-'));
try {
  await build({
    entryPoints: {
      bench: path.join(root, 'bench/bench.ts'),
      'look-worker': path.join(root, 'app/hosts/local/look/look-worker.ts'),
    },
    outdir: folder,
    bundle: true,
    loader: { '.sh': 'text', '.py': 'text' },
    platform: 'node',
    format: 'esm',
    target: 'node20',
    packages: 'external',
    outExtension: { '.js': '.mjs' },
    define: { 'process.env.NODE_ENV': '"production"' },
    logLevel: 'error',
  });
  // The machine behind an sshd, which its fixture looks for beside itself.
  copyFileSync(path.join(root, 'app/hosts/ssh/testing/sshd.sh'), path.join(folder, 'sshd.sh'));
  const { bench } = await import(pathToFileURL(path.join(folder, 'bench.mjs')).href);
  await bench(pathToFileURL(path.join(folder, 'look-worker.mjs')), process.argv[2] ?? null);
} catch (error) {
  console.error('bench: could not run.', error);
  process.exitCode = 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}
