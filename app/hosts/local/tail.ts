/** Logs are appended to by the servers themselves and read by their ends. */

import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { codeOf } from '../../util/errors.ts';

/** The end of a file as text, cut at a line; an absent file is empty. */
export function tail(path: string, limitBytes: number): { text: string; truncated: boolean } {
  let descriptor: number;
  try {
    descriptor = openSync(path, 'r');
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return { text: '', truncated: false };
    throw error;
  }
  try {
    const { size } = fstatSync(descriptor);
    const start = Math.max(0, size - limitBytes);
    const buffer = Buffer.alloc(size - start);
    const length = readSync(descriptor, buffer, 0, buffer.length, start);
    const text = buffer.toString('utf8', 0, length);
    return start === 0 ? { text, truncated: false } : { text: text.slice(text.indexOf('\n') + 1), truncated: true };
  } finally {
    closeSync(descriptor);
  }
}
