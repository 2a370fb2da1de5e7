// `npm run dist`: packages the app with electron-builder. Without arguments the folder for this platform; arguments are
// electron-builder's own (`npm run dist -- --linux deb`).
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { explainFailure, setUp } from './setup.mjs';
import { runQuietly, step } from './steps.mjs';

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..');

/** A release would be made with a runtime that is for development and tests only. */
class NotForRelease extends Error {
  name = 'NotForRelease';
  remedy = 'Connect to the network, or set ROLLCALL_ALLOW_DEV_RUNTIME=1 to make a package for tests.';
  constructor(version) {
    super(`Only the development runtime, Electron ${version}, is available, and no release is made from it.`);
    this.message += ` ${this.remedy}`;
  }
}

async function dist(args) {
  await setUp();
  const { build } = await import('./build.mjs');
  await step('Building', build);
  const { resolveElectron } = await import('./electron-runtime.mjs');
  const runtime = await step('Finding the Electron runtime', (say) => resolveElectron({ say }));
  if (runtime.provenance === 'registry' && process.env.ROLLCALL_ALLOW_DEV_RUNTIME !== '1') {
    throw new NotForRelease(runtime.version);
  }
  const builder = path.join(root, 'node_modules', 'electron-builder', 'cli.js');
  const runtimeArgs = [`-c.electronDist=${runtime.dist}`, `-c.electronVersion=${runtime.version}`];
  const wanted = args.length > 0 ? args : ['--dir'];
  await step('Packaging', () =>
    runQuietly(process.execPath, [builder, ...wanted, '--publish', 'never', ...runtimeArgs], { cwd: root }),
  );
  console.error('The package is in release/.');
}

try {
  await dist(process.argv.slice(2));
} catch (error) {
  console.error(explainFailure(error));
  process.exitCode = 1;
}
