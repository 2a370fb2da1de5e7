// Everything a fresh machine needs before the app or its tests can run: system packages, then npm packages.
// Runs with no node_modules present, so it uses plain Node only.
import { existsSync, statSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { runQuietly, StepFailed, step } from './steps.mjs';
import { ensureSystemPackages, installedPackages, missingPackages, PackagesMissing } from './system-packages.mjs';

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..');

/** Whether node_modules is absent or older than the lock file it was made from. */
export function npmPackagesStale(folder = root) {
  const marker = path.join(folder, 'node_modules', '.package-lock.json');
  if (!existsSync(marker)) return true;
  return statSync(marker).mtimeMs < statSync(path.join(folder, 'package-lock.json')).mtimeMs;
}

async function installNpmPackages() {
  // Both packages would look for binaries outside the registry; build/electron-runtime.mjs sees to Electron itself.
  const env = { ...process.env, ELECTRON_SKIP_BINARY_DOWNLOAD: '1', PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD: '1' };
  await runQuietly('npm', ['ci', '--no-audit', '--no-fund'], { cwd: root, env });
}

/** Does what is missing and nothing else; takes well under a second when nothing is. */
export async function setUp() {
  const installed = process.platform === 'linux' ? await installedPackages() : null;
  if (installed !== null && missingPackages(installed).length > 0) {
    await step('Installing system packages', ensureSystemPackages);
  }
  if (npmPackagesStale()) await step('Installing npm packages', installNpmPackages);
}

/** Tells a person what failed and what to do, for every error that a script in this folder expects. */
export function explainFailure(error) {
  if (error instanceof PackagesMissing) return `${error.message}\nRun: ${error.command}\nthen the same command again.`;
  if (error instanceof StepFailed) {
    const tail = error.tail ? `The end of its output:\n${error.tail}\n` : '';
    return `${error.message}.\n${tail}Mend that, then run the same command again.`;
  }
  if (typeof error?.remedy === 'string') return error.message;
  if (error?.name === 'DesktopFailed') return `${error.message}.\nInstall it, or set DISPLAY to a running display.`;
  // A bundler's error carries its messages, with file and line; its stack is its own.
  if (Array.isArray(error?.errors)) return `${error.message}\nMend that, then run the same command again.`;
  return error?.stack ?? String(error);
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  try {
    await setUp();
  } catch (error) {
    console.error(explainFailure(error));
    process.exitCode = 1;
  }
}
