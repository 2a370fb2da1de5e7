import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { explainFailure, npmPackagesStale } from './setup.mjs';
import { runQuietly, StepFailed } from './steps.mjs';
import { missingPackages, PackagesMissing, wantedPackages } from './system-packages.mjs';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(path.join(os.tmpdir(), 'setup-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

test('a package counts as installed under either release’s name', () => {
  const all = new Set(wantedPackages.map(({ names }) => names[0]));
  expect(missingPackages(all)).toEqual([]);
  all.delete('libgtk-3-0');
  expect(missingPackages(all).map(({ names }) => names[0])).toEqual(['libgtk-3-0']);
  all.add('libgtk-3-0t64');
  expect(missingPackages(all)).toEqual([]);
});

test('without root and sudo set-up stops with 1, the exact packages and the command, and installs nothing', () => {
  const bin = path.join(folder, 'bin');
  mkdirSync(bin);
  const script = (name: string, text: string) => {
    writeFileSync(path.join(bin, name), `#!/bin/sh\n${text}\n`);
    chmodSync(path.join(bin, name), 0o755);
  };
  const installed = wantedPackages.map(({ names }) => names[0]).filter((name) => name !== 'xvfb' && name !== 'libnss3');
  script('dpkg-query', installed.map((name) => `echo "installed ${name}"`).join('\n'));
  script('sudo', 'exit 1');
  script('apt-cache', 'exit 0');
  // Nothing but the shell itself is on its path.
  script('apt-get', `: > ${path.join(folder, 'apt-was-run')}`);
  // Somebody who is not root, whoever runs this test.
  const asUser =
    'process.getuid = () => 1000; await import(process.argv[1]).then(async (setup) => { try { await setup.setUp() } catch (error) { console.error(setup.explainFailure(error)); process.exit(1) } })';
  const setup = path.join(import.meta.dirname, 'setup.mjs');
  const ended = spawnSync(process.execPath, ['--input-type=module', '-e', asUser, setup], {
    env: { PATH: bin },
    encoding: 'utf8',
  });
  expect(ended.status).toBe(1);
  expect(ended.stderr).toContain('2 system packages are missing');
  expect(ended.stderr).toContain('Run: sudo apt-get install --no-install-recommends xvfb libnss3\n');
  expect(spawnSync('test', ['-e', path.join(folder, 'apt-was-run')]).status).toBe(1);
});

test('npm packages are stale when absent or older than the lock file', () => {
  writeFileSync(path.join(folder, 'package-lock.json'), '{}');
  expect(npmPackagesStale(folder)).toBe(true);
  mkdirSync(path.join(folder, 'node_modules'));
  const marker = path.join(folder, 'node_modules', '.package-lock.json');
  writeFileSync(marker, '{}');
  expect(npmPackagesStale(folder)).toBe(false);
  utimesSync(marker, 1000, 1000);
  expect(npmPackagesStale(folder)).toBe(true);
});

test('a failed step tells the command, how it ended and the tail of its output', async () => {
  const script = 'for i in $(seq 1 100); do echo line $i; done; echo the reason >&2; exit 3';
  const failure = await runQuietly('sh', ['-c', script]).catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(StepFailed);
  const text = explainFailure(failure);
  expect(text).toContain('exited with code 3');
  expect(text).toContain('the reason');
  expect(text).not.toContain('line 1\n');
  expect(text).toContain('Mend that, then run the same command again.');
});

test('a command that is not installed, and one that takes too long, are told so', async () => {
  await expect(runQuietly('no-such-command', [])).rejects.toThrow('no-such-command is not installed');
  await expect(runQuietly('sleep', ['600'], { timeoutMs: 100 })).rejects.toThrow('sleep 600 took longer than 0.1 s');
});

test('missing packages are told with the command', () => {
  const text = explainFailure(new PackagesMissing(['xvfb'], 'neither root nor sudo without a password is available'));
  expect(text).toContain('Run: sudo apt-get install --no-install-recommends xvfb');
});
