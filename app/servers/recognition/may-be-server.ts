import type { CustomKind, Recognisable } from '../kind.ts';
import { FORKS } from '../kinds/opencode.ts';
import { fileName } from './argv.ts';

/**
 * One of these is in the arguments of every process that a built-in kind recognises: each kind asks for a program or
 * script by a name that holds its word. They are ASCII, so decoding can neither make nor break one.
 */
const WORDS = new RegExp(
  [...FORKS.map(({ name }) => name), 't3', 'codex', 'claude', 'ccd-cli', 'server'].join('|'),
  'u',
);

/**
 * False only for a process that no kind can recognise, told from its raw bytes: of thousands of processes a handful
 * is worth decoding. A custom kind may be told by its executable, so that is asked for as well where there are any; one
 * that is not known may be any program.
 */
export function mayBeServer(process: Recognisable, custom: readonly CustomKind[]): boolean {
  const { rawArgv } = process;
  if (rawArgv === undefined || rawArgv === null || WORDS.test(rawArgv.toString('latin1'))) return true;
  return custom.some(({ program }) => {
    const name = fileName(program);
    return rawArgv.includes(name) || (process.executablePath?.includes(name) ?? true);
  });
}
