// Checks that the code uses only Electron API which the development runtime has as well: types it once more against
// that version's own declarations. The product's version is covered by the usual type check.
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { devRuntime, devRuntimeTypes } from './electron-runtime.mjs';
import { runQuietly } from './steps.mjs';

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..');

/**
 * @param {readonly string[]} include folders of sources that may import electron
 * @param {string} [declarations] file with the development runtime's own types; fetched once where it is left out
 * @throws {import('./steps.mjs').StepFailed} with the compiler's messages
 */
export async function checkElectronApi(
  include = ['main', 'e2e'].map((folder) => path.join(root, folder)),
  declarations = undefined,
) {
  const cache = path.join(root, '.cache');
  const types = declarations ?? (await devRuntimeTypes());
  const config = {
    extends: path.join(root, 'tsconfig.json'),
    compilerOptions: { paths: { electron: [types] }, typeRoots: [path.join(root, 'node_modules', '@types')] },
    // Scripts that are bundled as text have their declaration where they are.
    include: [...include, path.join(root, 'app/hosts/ssh/remote/text.d.ts')],
  };
  // Inside the checkout, so that the other packages resolve from it.
  await mkdir(cache, { recursive: true });
  const folder = await mkdtemp(path.join(cache, 'electron-api-'));
  try {
    const project = path.join(folder, 'tsconfig.json');
    await writeFile(project, JSON.stringify(config, null, 2));
    await runQuietly(process.execPath, [path.join(root, 'node_modules', 'typescript', 'bin', 'tsc'), '-p', project]);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  try {
    await checkElectronApi();
    console.log(`electron API: everything used exists in ${devRuntime.electronVersion} as well`);
  } catch (error) {
    console.error(error.tail ? `${error.message}\n${error.tail}` : error);
    process.exitCode = 1;
  }
}
