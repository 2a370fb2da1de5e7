// How the two test runners tell `npm test` what became of their tests.
import { readFileSync, writeFileSync } from 'node:fs';

/** Environment variable with the file that a runner writes its counts to. */
export const COUNTS_FILE = 'ROLLCALL_COUNTS';

/**
 * @typedef {object} Counts
 * @property {number} passed
 * @property {string[]} failed titles
 * @property {{title: string, reason: string}[]} skipped
 * @property {Record<string, number>} seconds how long each test file took
 */

/** @returns {Counts} */
export const noCounts = () => ({ passed: 0, failed: [], skipped: [], seconds: {} });

/** @param {Counts} counts */
export function writeCounts(counts) {
  const file = process.env[COUNTS_FILE];
  if (!file) throw new Error(`${COUNTS_FILE} names no file for the counts`);
  writeFileSync(file, JSON.stringify(counts));
}

/**
 * @param {string} file
 * @returns {Counts | null} null when the runner died before it wrote them
 */
export function readCounts(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    // Absent or cut short: there is no result.
    return null;
  }
}
