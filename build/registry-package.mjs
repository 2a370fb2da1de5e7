// Takes one package's archive from the configured registry without installing it, and proves what it is.
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import { runQuietly, StepFailed } from './steps.mjs';

/** The archive could not be fetched, or is not the pinned one. */
export class PackageUnavailable extends Error {
  name = 'PackageUnavailable';
  constructor(spec, why) {
    super(`${spec} ${why}`);
    this.spec = spec;
    this.why = why;
  }
}

/**
 * Compares a file with its pinned hash.
 *
 * @param {string} file
 * @param {string} integrity `sha512-` and base64, as in a lock file
 * @throws {PackageUnavailable} when they differ
 */
export async function verifyIntegrity(file, integrity, spec = path.basename(file)) {
  const [algorithm, expected] = [
    integrity.slice(0, integrity.indexOf('-')),
    integrity.slice(integrity.indexOf('-') + 1),
  ];
  const hash = createHash(algorithm);
  await pipeline(createReadStream(file), hash);
  const actual = hash.digest('base64');
  if (actual !== expected) {
    throw new PackageUnavailable(
      spec,
      `is not the pinned archive: its ${algorithm} is ${actual}, expected ${expected}`,
    );
  }
}

/**
 * Fetches a package's archive into a folder and verifies it. No script of the package runs.
 *
 * @param {{package: string, version: string, integrity: string}} pinned
 * @param {string} folder an empty folder
 * @returns {Promise<string>} path of the verified archive
 * @throws {PackageUnavailable}
 */
export async function fetchPackage(pinned, folder) {
  const spec = `${pinned.package}@${pinned.version}`;
  try {
    await runQuietly('npm', ['pack', '--silent', '--ignore-scripts', '--pack-destination', folder, spec], {
      cwd: folder,
    });
  } catch (error) {
    if (!(error instanceof StepFailed)) throw error;
    throw new PackageUnavailable(spec, `could not be fetched: ${error.message}`);
  }
  const archive = (await readdir(folder)).find((name) => name.endsWith('.tgz'));
  if (!archive) throw new PackageUnavailable(spec, 'could not be fetched: npm left no archive');
  const file = path.join(folder, archive);
  await verifyIntegrity(file, pinned.integrity, spec);
  return file;
}
