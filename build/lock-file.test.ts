import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';

interface Locked {
  readonly version?: string;
  readonly resolved?: string;
  readonly optionalDependencies?: Record<string, string>;
}

const lock = JSON.parse(readFileSync(path.join(import.meta.dirname, '..', 'package-lock.json'), 'utf8')) as {
  packages: Record<string, Locked>;
};

/** The entry that `name` resolves to from the package installed at `from`, as Node would find it. */
function entryFor(from: string, name: string): Locked | undefined {
  for (let folder = from; ; folder = folder.slice(0, folder.lastIndexOf('/node_modules/'))) {
    const found = lock.packages[`${folder}${folder === '' ? '' : '/'}node_modules/${name}`];
    if (found) return found;
    if (!folder.includes('/node_modules/')) return lock.packages[`node_modules/${name}`];
  }
}

// A registry that carries only this platform's binaries makes `npm install` leave the others out, and `npm ci` then
// refuses the lock file everywhere.
test('the lock file names the optional packages of every platform', () => {
  const absent = Object.entries(lock.packages).flatMap(([at, { optionalDependencies = {} }]) =>
    Object.keys(optionalDependencies).filter((name) => !entryFor(at, name)?.version),
  );
  expect(absent).toEqual([]);
});

test('the lock file names no registry host', () => {
  expect(Object.values(lock.packages).filter((entry) => entry.resolved !== undefined)).toEqual([]);
});
