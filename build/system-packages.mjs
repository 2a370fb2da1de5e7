// The system packages that the desktop app and its tests need on Debian and its relatives, and how to get them.
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { runQuietly } from './steps.mjs';

const run = promisify(execFile);

/**
 * By purpose. A list of names is alternatives, the newest release's name last: Debian 13 and Ubuntu 24.04 renamed
 * libraries when their time type grew. The libraries are those that the Electron executable is linked with, and
 * libnotify, which it loads when it shows the first notification.
 */
export const wantedPackages = [
  { for: 'a display without a screen', names: ['xvfb'] },
  { for: 'the session bus', names: ['dbus-daemon', 'dbus'] },
  { for: 'unpacking the development runtime', names: ['unzip'] },
  { for: 'watching system calls in tests', names: ['strace'] },
  { for: 'comparing with ps in benchmarks', names: ['procps'] },
  { for: 'SSH hosts in tests', names: ['openssh-server'] },
  { for: 'machines without /proc in tests', names: ['lsof'] },
  // The two exclude each other; either will do.
  { for: 'a small machine in tests', names: ['busybox', 'busybox-static'] },
  { for: 'a font', names: ['fonts-dejavu-core', 'fonts-dejavu-mono', 'fonts-liberation', 'fonts-noto-core'] },
  ...[
    ['libasound2', 'libasound2t64'],
    ['libatk-bridge2.0-0', 'libatk-bridge2.0-0t64'],
    ['libatk1.0-0', 'libatk1.0-0t64'],
    ['libatspi2.0-0', 'libatspi2.0-0t64'],
    ['libcairo2'],
    ['libcups2', 'libcups2t64'],
    ['libdbus-1-3'],
    ['libdrm2'],
    ['libexpat1'],
    ['libgbm1'],
    ['libglib2.0-0', 'libglib2.0-0t64'],
    ['libgtk-3-0', 'libgtk-3-0t64'],
    ['libnotify4'],
    ['libnspr4'],
    ['libnss3'],
    ['libpango-1.0-0'],
    ['libudev1'],
    ['libx11-6'],
    ['libxcb1'],
    ['libxcomposite1'],
    ['libxdamage1'],
    ['libxext6'],
    ['libxfixes3'],
    ['libxkbcommon0'],
    ['libxrandr2'],
  ].map((names) => ({ for: 'Electron', names })),
];

/** System packages are missing and cannot be installed from here. `command` is what a person must run. */
export class PackagesMissing extends Error {
  name = 'PackagesMissing';
  constructor(packages, why) {
    super(`${packages.length} system packages are missing and ${why}: ${packages.join(' ')}`);
    this.packages = packages;
    this.why = why;
    this.command = `sudo apt-get install --no-install-recommends ${packages.join(' ')}`;
  }
}

/**
 * The wanted packages of which no alternative is installed.
 *
 * @param {ReadonlySet<string>} installed names of installed packages
 */
export function missingPackages(installed, wanted = wantedPackages) {
  return wanted.filter(({ names }) => !names.some((name) => installed.has(name)));
}

/** Names of installed packages, or null where there is no dpkg. */
export async function installedPackages() {
  try {
    // biome-ignore lint/suspicious/noTemplateCurlyInString: these placeholders are dpkg's own.
    const { stdout } = await run('dpkg-query', ['-W', '-f', '${db:Status-Status} ${Package}\n'], {
      maxBuffer: 64 * 1024 * 1024,
    });
    const lines = stdout.split('\n').filter((line) => line.startsWith('installed '));
    return new Set(lines.map((line) => line.slice('installed '.length)));
  } catch (error) {
    if (error.code === 'ENOENT') return null;
    throw error;
  }
}

/** Of each package's alternatives the one this release really has, the newest name first. */
async function available(missing) {
  const chosen = [];
  for (const { names } of missing) {
    const newestFirst = [...names].reverse();
    let found;
    for (const name of names.length > 1 ? newestFirst : []) {
      const { stdout } = await run('apt-cache', ['policy', name]).catch(() => ({ stdout: '' }));
      if (/Candidate: (?!\(none\))/.test(stdout)) {
        found = name;
        break;
      }
    }
    chosen.push(found ?? names[0]);
  }
  return chosen;
}

/** How commands can be run as root here: directly, with sudo and no question, or not at all (null). */
async function rootPrefix() {
  if (process.getuid?.() === 0) return [];
  try {
    await run('sudo', ['-n', 'true']);
    return ['sudo', '-n'];
  } catch {
    // No sudo, or it would ask for a password.
    return null;
  }
}

/** Where Debian asks whether a package may start its service. */
const POLICY = '/usr/sbin/policy-rc.d';
const OUR_POLICY = fileURLToPath(new URL('policy-rc.d.sh', import.meta.url));

/**
 * Installs packages so that the SSH server among them neither starts now nor at the next boot: the tests start their own.
 *
 * @param {(...words: string[]) => Promise<void>} asRoot
 * @param {() => Promise<void>} install
 */
async function withoutSshService(asRoot, install) {
  // A policy that is there already is the machine's own.
  const ours = !existsSync(POLICY);
  if (ours) await asRoot('install', '-m', '755', OUR_POLICY, POLICY);
  try {
    await install();
  } finally {
    if (ours) await asRoot('rm', '-f', POLICY);
  }
  // The package enables its units; this takes the links away again, with and without a running systemd.
  const asPackage = ['env', 'DPKG_MAINTSCRIPT_PACKAGE=openssh-server', 'deb-systemd-helper'];
  for (const unit of ['ssh.service', 'ssh.socket']) await asRoot(...asPackage, 'disable', unit);
}

/**
 * Installs what is missing, where that is possible without a question.
 *
 * @param {(line: string) => void} say
 * @throws {PackagesMissing} when something is missing and cannot be installed from here
 * @throws {import('./steps.mjs').StepFailed} when apt fails
 */
export async function ensureSystemPackages(say) {
  if (process.platform !== 'linux') return;
  const installed = await installedPackages();
  if (installed === null) {
    say('No dpkg here: install Electron’s libraries, Xvfb, dbus-daemon and unzip with your own package manager.');
    return;
  }
  const missing = missingPackages(installed);
  if (missing.length === 0) return;
  const prefix = await rootPrefix();
  if (prefix === null) {
    throw new PackagesMissing(await available(missing), 'neither root nor sudo without a password is available');
  }
  const waitForOthers = ['-o', 'DPkg::Lock::Timeout=120'];
  const asRoot = async (...words) => {
    const all = [...prefix, ...words];
    await runQuietly(all[0], all.slice(1));
  };
  const apt = (...args) => asRoot('env', 'DEBIAN_FRONTEND=noninteractive', 'apt-get', '-q', ...waitForOthers, ...args);
  say('Reading the package lists');
  await apt('update');
  const names = await available(missing);
  say(`Installing ${names.length} system packages: ${names.join(' ')}`);
  const install = () => apt('install', '-y', '--no-install-recommends', ...names);
  if (names.includes('openssh-server')) await withoutSshService(asRoot, install);
  else await install();
}
