/** The files of hooks that are due: what they are given, what they write, and what came of them. */

import { readdirSync, readFileSync, statSync, unlinkSync } from 'node:fs';
import { constants } from 'node:os';
import { join } from 'node:path';
import { oneLine, redactText } from '../../servers/redact.ts';
import { codeOf } from '../../util/errors.ts';

/** What is shown of a hook's output: its last lines. */
const LINES = 20;
const LINE_MAX = 300;

/** What a runner left behind, once it is gone. */
export type HookResult =
  | { readonly came: 'exit'; readonly code: number }
  | { readonly came: 'timeout' }
  /** It had begun and was ended with all that belongs to it before it could say anything. */
  | { readonly came: 'cut-off' }
  /** The hook was never started. */
  | { readonly came: 'not-begun' };

function readText(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return null;
    throw error;
  }
}

/**
 * What came of an attempt whose runner is gone.
 *
 * @param files what `run-hook.sh` was given as its files
 * @throws the system's error when they cannot be read
 */
export function readResult(files: string): HookResult {
  const text = readText(`${files}.result`);
  if (text === null) {
    const begun = statSync(`${files}.out`, { throwIfNoEntry: false }) !== undefined;
    return { came: begun ? 'cut-off' : 'not-begun' };
  }
  const code = /^exit (\d{1,3})\n$/u.exec(text)?.[1];
  return code === undefined ? { came: 'timeout' } : { came: 'exit', code: Number(code) };
}

/** The last lines that a hook wrote, fit to be shown. @throws the system's error when they cannot be read */
export function readOutput(files: string): string {
  const text = readText(`${files}.out`) ?? '';
  const lines = redactText(text)
    .split('\n')
    .map((line) => line.trimEnd())
    .filter((line) => line !== '');
  return lines
    .slice(-LINES)
    .map((line) => oneLine(line, LINE_MAX))
    .join('\n');
}

/** Why a result is a failure, as a clause about the hook; null when it is none. Pure. */
export function hookFailureOf(result: HookResult, seconds: number): string | null {
  if (result.came === 'timeout') return `it took longer than ${seconds} s and was ended`;
  if (result.came === 'cut-off') return 'it was cut off before it had ended';
  if (result.came === 'not-begun') return 'it could not be started';
  const { code } = result;
  if (code === 0) return null;
  if (code === 126) return 'it could not be run (exit code 126)';
  if (code === 127) return 'its program was not found (exit code 127)';
  // A shell tells a signal as 128 and its number.
  const signal = Object.entries(constants.signals).find(([, number]) => number === code - 128)?.[0];
  return signal === undefined ? `it ended with ${code}` : `it ended with ${code} (${signal})`;
}

/** Where the files of one attempt begin. */
export function attemptFiles(folder: string, key: string, number: number): string {
  return join(folder, `${key}.${number}`);
}

export function eventFile(folder: string, key: string): string {
  return join(folder, `${key}.json`);
}

/** `<hook key>.json`, `<hook key>.<number>.out`. */
const OURS = /^(?<key>[0-9a-f-]{36}\.[0-9a-f]{16})\./u;

/**
 * Removes the files of all hooks but those that `keep` says yes to. A folder that is not there holds none.
 *
 * @throws the system's error when the folder cannot be read
 */
export function removeHookFiles(folder: string, keep: (key: string) => boolean): void {
  let names: string[];
  try {
    names = readdirSync(folder);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return;
    throw error;
  }
  for (const name of names) {
    const key = OURS.exec(name)?.groups?.['key'];
    if (key === undefined || keep(key)) continue;
    try {
      unlinkSync(join(folder, name));
    } catch (error) {
      // Whoever is about to end takes its own away.
      if (codeOf(error) !== 'ENOENT') throw error;
    }
  }
}
