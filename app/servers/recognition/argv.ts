import { posix, win32 } from 'node:path';
import type { Recognisable } from '../kind.ts';

/** A family of programs that run a script named in their arguments. `bun` is a `js` that may be the tool itself. */
export type Interpreter = 'js' | 'bun' | 'shell' | 'other';

/** What a process really runs: the program, or the script where an interpreter runs one. */
export interface Invocation {
  /** The program or script as it was given, a path or a bare name. */
  readonly program: string;
  /** Its file name without `.exe`, a leading dot and `-wrapped`. */
  readonly stem: string;
  /** Everything after the program or script. */
  readonly args: readonly string[];
  /** What runs it; null for a native program. */
  readonly interpreter: Interpreter | null;
  /** Argv was one single string (a rewritten title) and had to be split at its blanks. */
  readonly rewritten: boolean;
}

const INTERPRETERS: ReadonlyMap<string, Interpreter> = new Map([
  ['node', 'js'],
  ['nodejs', 'js'],
  ['deno', 'js'],
  ['electron', 'js'],
  ['bun', 'bun'],
  ['sh', 'shell'],
  ['bash', 'shell'],
  ['dash', 'shell'],
  ['ash', 'shell'],
  ['zsh', 'shell'],
  ['ksh', 'shell'],
  ['mksh', 'shell'],
  ['busybox', 'shell'],
  ['python', 'other'],
  ['perl', 'other'],
  ['ruby', 'other'],
  ['php', 'other'],
  ['lua', 'other'],
]);

/** Options that take their value as the next argument, so that the value is not mistaken for the script. */
const VALUE_OPTIONS: Readonly<Record<Interpreter, ReadonlySet<string>>> = {
  js: new Set([
    '-r',
    '--require',
    '--import',
    '--loader',
    '--experimental-loader',
    '-C',
    '--conditions',
    '--input-type',
    '--config',
    '-c',
  ]),
  bun: new Set(['-r', '--preload', '--require', '--import', '--config', '-c', '--cwd', '--env-file', '--conditions']),
  shell: new Set(['-o', '+o', '-O', '+O', '--rcfile', '--init-file']),
  other: new Set(['-W', '-X', '-I']),
};

/** Options after which no script follows: the code is in the arguments, a module is named, or only a check is run. */
const NO_SCRIPT: Readonly<Record<Interpreter, ReadonlySet<string>>> = {
  js: new Set(['-e', '--eval', '-p', '--print', '-pe', '--run', '--check']),
  bun: new Set(['-e', '--eval', '-p', '--print']),
  shell: new Set(['--version', '--help']),
  other: new Set(['-c', '-e', '-m', '-E', '-r']),
};

/** Last part of a path. Backslashes separate only where the path is plainly a Windows one. */
export function fileName(path: string): string {
  return /^[A-Za-z]:[\\/]|^\\\\/u.test(path) ? win32.basename(path) : posix.basename(path);
}

/** Path of an executable without the kernel's mark of a file that has been replaced or removed. */
export function executableOnDisk(path: string): string {
  return path.endsWith(' (deleted)') ? path.slice(0, -' (deleted)'.length) : path;
}

/**
 * A program's name without what packagers put around it: `.opencode`, `opencode.exe` (npm names it so on Linux too)
 * and `.opencode-wrapped` (Nix) are all `opencode`.
 */
export function stemOf(path: string): string {
  let name = fileName(executableOnDisk(path));
  if (name.toLowerCase().endsWith('.exe')) name = name.slice(0, -4);
  if (name.endsWith('-wrapped')) name = name.slice(0, -'-wrapped'.length);
  return name.startsWith('.') ? name.slice(1) : name;
}

/** Which interpreter a path or name is, `python3.11` and `node-22` included; null for anything else. */
export function interpreterOf(path: string): Interpreter | null {
  const name = stemOf(path).toLowerCase();
  const plain = INTERPRETERS.get(name);
  if (plain !== undefined) return plain;
  const versioned = /^([a-z]+)-?\d[\d.]*$/u.exec(name)?.[1];
  return versioned === undefined ? null : (INTERPRETERS.get(versioned) ?? null);
}

/**
 * The argument that is the script, as an index into `argv`; null when the interpreter runs none.
 */
function scriptIndex(argv: readonly string[], kind: Interpreter): number | null {
  let index = 1;
  if (kind === 'shell' && stemOf(argv[0] ?? '') === 'busybox') {
    // `busybox sh script`: the applet takes the interpreter's place.
    if (interpreterOf(argv[1] ?? '') !== 'shell') return null;
    index = 2;
  }
  for (; index < argv.length; index += 1) {
    const arg = argv[index] ?? '';
    if (arg === '--') return index + 1 < argv.length ? index + 1 : null;
    if (!arg.startsWith('-') && !(kind === 'shell' && arg.startsWith('+'))) {
      if (arg === '') return null;
      if (arg === 'run' && (kind === 'bun' || stemOf(argv[0] ?? '') === 'deno')) continue;
      // `bun x opencode` is npx by another name: a wrapper, never the tool.
      if (kind === 'bun' && arg === 'x') return null;
      return index;
    }
    if (NO_SCRIPT[kind].has(arg)) return null;
    // A shell's short options come in bundles: `-lc` runs a command string.
    if (kind === 'shell' && /^-[A-Za-z]*[cs][A-Za-z]*$/u.test(arg)) return null;
    if (VALUE_OPTIONS[kind].has(arg)) index += 1;
  }
  return null;
}

/**
 * Argv without the padding that title rewriting leaves, and split at blanks where it is one single string.
 *
 * Splitting is a guess, so it needs the executable's word: the string begins with the executable's own path, or its
 * first token has the executable's name. A generic interpreter's word is not enough, since any script can title
 * itself as it likes.
 */
function tokens(process: Recognisable): { argv: readonly string[]; rewritten: boolean } | null {
  let end = process.argv.length;
  while (end > 0 && (process.argv[end - 1] ?? '').trim() === '') end -= 1;
  const argv = process.argv.slice(0, end);
  const [first] = argv;
  if (first === undefined) return null;
  if (argv.length > 1 || !/\s/u.test(first.trim())) return { argv, rewritten: false };
  if (process.executablePath === null) return { argv, rewritten: false };
  const executable = executableOnDisk(process.executablePath);
  if (interpreterOf(executable) !== null) return { argv, rewritten: false };
  const title = first.trim();
  if (title.startsWith(`${executable} `)) {
    return { argv: [executable, ...title.slice(executable.length).trim().split(/\s+/u)], rewritten: true };
  }
  const split = title.split(/\s+/u);
  if (stemOf(split[0] ?? '') !== stemOf(executable)) return { argv, rewritten: false };
  return { argv: split, rewritten: true };
}

/**
 * What a process runs, by argv position and executable. Null for a process without argv, and where argv and executable
 * contradict each other: an interpreter in argv whose executable is none.
 */
export function invocationOf(process: Recognisable): Invocation | null {
  const read = tokens(process);
  if (read === null) return null;
  const { argv, rewritten } = read;
  const program = argv[0] ?? '';
  // A login shell's argv[0] begins with a dash.
  const interpreter = interpreterOf(program.startsWith('-') ? program.slice(1) : program);
  if (interpreter === null) {
    return { program, stem: stemOf(program), args: argv.slice(1), interpreter: null, rewritten };
  }
  if (process.executablePath !== null) {
    const real = interpreterOf(process.executablePath);
    const scriptRunner = (kind: Interpreter | null): boolean => kind === 'js' || kind === 'bun';
    // `bun --bun` puts itself in the place of node, so the two may stand for one another.
    if (real !== interpreter && !(scriptRunner(real) && scriptRunner(interpreter))) return null;
  }
  const index = scriptIndex(argv, interpreter);
  if (index === null) return null;
  const script = argv[index] ?? '';
  return { program: script, stem: stemOf(script), args: argv.slice(index + 1), interpreter, rewritten };
}

/**
 * True unless a native program's executable denies the name in argv. Distributors add suffixes (`codex-x86_64-…`,
 * `opencode-1.18.33`) and updaters rename what runs (`agentd.old`), so a name that begins so is accepted; one that does
 * not (python, sleep) is a mere title.
 *
 * @param folder a pattern that the executable's path may match instead, for tools that name their files by version
 */
export function executableAgrees(
  invocation: Invocation,
  executablePath: string | null,
  name: string,
  folder?: RegExp,
): boolean {
  if (invocation.interpreter !== null) return true;
  if (executablePath === null) return !invocation.rewritten;
  const stem = stemOf(executablePath);
  if (stem === name || [`${name}-`, `${name}_`, `${name}.`].some((start) => stem.startsWith(start))) return true;
  return folder?.test(executableOnDisk(executablePath)) ?? false;
}

/** How a tool reads its command line, as far as its subcommand is concerned. */
export interface Grammar {
  /** Options without a value. Every other option without `=` takes the next argument as its value. */
  readonly flags: ReadonlySet<string>;
}

/**
 * Positions in `args` of the arguments that are neither options nor their values. Unknown options are taken to have a
 * value: that may miss a server, but never takes an option's value for a subcommand.
 */
export function positionals(args: readonly string[], grammar: Grammar, from = 0): readonly number[] {
  const found: number[] = [];
  for (let index = from; index < args.length; index += 1) {
    const arg = args[index] ?? '';
    if (arg === '--') break;
    if (!arg.startsWith('-') || arg === '-') {
      found.push(index);
    } else if (!arg.includes('=') && !arg.startsWith('--no-') && !grammar.flags.has(arg)) {
      const next = args[index + 1];
      if (next !== undefined && !next.startsWith('-')) index += 1;
    }
  }
  return found;
}

/** Value of the last `--name VALUE` or `--name=VALUE` before a `--`; null when there is none. */
export function optionValue(args: readonly string[], name: string): string | null {
  let value: string | null = null;
  for (const [index, arg] of args.entries()) {
    if (arg === '--') break;
    if (arg === name) value = args[index + 1] ?? null;
    else if (arg.startsWith(`${name}=`)) value = arg.slice(name.length + 1);
  }
  return value;
}

export function hasFlag(args: readonly string[], name: string): boolean {
  const end = args.indexOf('--');
  const index = args.indexOf(name);
  return index !== -1 && (end === -1 || index < end);
}

/** A TCP port in decimal; null for 0, for none and for anything that is no port. */
export function portOf(text: string | null): number | null {
  if (text === null || !/^\d{1,5}$/u.test(text)) return null;
  const port = Number(text);
  return port >= 1 && port <= 65_535 ? port : null;
}
