// What `npm test` runs, cut into jobs for the lanes that run beside each other (test-lane.mjs). Longest first, so that the
// lanes end together; how long a file takes is what it took the last time.
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';

/** Folders with tests beside their sources. */
const FOLDERS = ['app', 'main', 'renderer', 'build', 'bench', 'chaos'];
/** Files that are shorter than this together make one job: to start a test runner takes a second. */
const JOB_SECONDS = 25;
/** Bytes of test source per second of test, about; only for the order of files that were never measured. */
const BYTES_PER_SECOND = 600;

/**
 * @typedef {object} Job
 * @property {'unit' | 'integration' | 'long' | 'e2e'} kind
 * @property {readonly string[]} files relative to the root; empty for all of the kind
 * @property {number} seconds about how long it takes
 */

/** Files with this ending below the folders of tests. */
function filesEnding(root, folders, suffix) {
  return folders
    .flatMap((folder) =>
      readdirSync(path.join(root, folder), { recursive: true }).map((name) => path.join(folder, name)),
    )
    .map((file) => file.split(path.sep).join('/'))
    .filter((file) => file.endsWith(suffix) && !file.includes('node_modules'))
    .sort();
}

/** Kind of a test file by its name; null for a file that is none. */
export function kindOf(file) {
  if (/^e2e\/[^/]+\.spec\.ts$/.test(file)) return 'e2e';
  if (file.endsWith('.long.test.ts')) return 'long';
  if (file.endsWith('.integration.test.ts')) return 'integration';
  return /\.test\.tsx?$/.test(file) ? 'unit' : null;
}

/** Every file of a kind. */
export function testFiles(root, kind) {
  if (kind === 'e2e') return filesEnding(root, ['e2e'], '.spec.ts');
  return filesEnding(root, FOLDERS, `.${kind}.test.ts`);
}

/** File with the seconds that each test file took when it last ran here. */
const secondsFile = (root) => path.join(root, 'node_modules', '.cache', 'rollcall-test-seconds.json');

/** @returns {Record<string, number>} empty where nothing has been measured, or the file cannot be read */
export function measuredSeconds(root) {
  try {
    return JSON.parse(readFileSync(secondsFile(root), 'utf8'));
  } catch {
    return {};
  }
}

/** Keeps what was measured. @param {Record<string, number>} seconds */
export function keepSeconds(root, seconds) {
  const file = secondsFile(root);
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(`${file}.new`, JSON.stringify({ ...measuredSeconds(root), ...seconds }, null, 1));
  renameSync(`${file}.new`, file);
}

/** About how long files take: as measured, else by their size. */
export function estimate(root, measured = measuredSeconds(root)) {
  return (file) => measured[file] ?? statSync(path.join(root, file)).size / BYTES_PER_SECOND;
}

/**
 * Jobs of one kind, longest first: a long file alone, short ones together.
 *
 * @param {Job['kind']} kind
 * @param {readonly string[]} files
 * @param {(file: string) => number} secondsOf
 * @returns {Job[]}
 */
export function jobsOf(kind, files, secondsOf) {
  const weighed = files.map((file) => ({ file, seconds: secondsOf(file) }));
  weighed.sort((a, b) => b.seconds - a.seconds || (a.file < b.file ? -1 : 1));
  /** @type {{kind: Job['kind'], files: string[], seconds: number}[]} */
  const jobs = [];
  for (const { file, seconds } of weighed) {
    const last = jobs.at(-1);
    // The long ones take minutes each, whatever their size says.
    if (kind !== 'long' && last !== undefined && last.seconds + seconds <= JOB_SECONDS) {
      last.files.push(file);
      last.seconds += seconds;
    } else jobs.push({ kind, files: [file], seconds });
  }
  return jobs.sort((a, b) => b.seconds - a.seconds);
}

/** A queue of jobs as files of a folder: a lane takes one by renaming it, which only one of several can do. */
export class JobQueue {
  #folder;

  constructor(folder) {
    this.#folder = folder;
    for (const name of ['waiting', 'taken', 'done']) mkdirSync(path.join(folder, name), { recursive: true });
  }

  /** Puts jobs into an empty queue, in this order. @param {readonly Job[]} jobs */
  fill(jobs) {
    for (const [index, job] of jobs.entries()) {
      writeFileSync(path.join(this.#folder, 'waiting', `${String(index).padStart(4, '0')}.json`), JSON.stringify(job));
    }
  }

  /** Takes the first job that nobody has taken. @returns {{id: string, job: Job} | null} null when none is left */
  take() {
    for (const name of readdirSync(path.join(this.#folder, 'waiting')).sort()) {
      const taken = path.join(this.#folder, 'taken', name);
      try {
        renameSync(path.join(this.#folder, 'waiting', name), taken);
      } catch (error) {
        // Another lane was faster.
        if (error.code === 'ENOENT') continue;
        throw error;
      }
      return { id: name, job: JSON.parse(readFileSync(taken, 'utf8')) };
    }
    return null;
  }

  /** Says how a job went. It appears whole or not at all. */
  finish(id, result) {
    const file = path.join(this.#folder, 'done', id);
    writeFileSync(`${file}.new`, JSON.stringify(result));
    renameSync(`${file}.new`, file);
  }

  /** What is said of a job; null as long as nothing is. */
  result(id) {
    const file = path.join(this.#folder, 'done', id);
    return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : null;
  }

  /** Names of jobs by where they stand. @param {'waiting' | 'taken' | 'done'} state */
  ids(state) {
    return readdirSync(path.join(this.#folder, state)).filter((name) => name.endsWith('.json'));
  }
}
