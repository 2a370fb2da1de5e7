import type { Recognisable } from '../kind.ts';
import { executableOnDisk, fileName, interpreterOf, invocationOf, stemOf } from './argv.ts';
import { soleCommand } from './shell-command.ts';

/** Package runners by the name of their script or title, with the subcommands under which they run a program. */
const RUNNERS: ReadonlyMap<string, ReadonlySet<string> | 'any'> = new Map<string, ReadonlySet<string> | 'any'>([
  ['npx', 'any'],
  ['npx-cli', 'any'],
  ['pnpx', 'any'],
  ['bunx', 'any'],
  ['npm', new Set(['exec', 'x', 'run', 'run-script', 'start'])],
  ['npm-cli', new Set(['exec', 'x', 'run', 'run-script', 'start'])],
  ['pnpm', new Set(['exec', 'dlx', 'run', 'start'])],
  ['yarn', new Set(['exec', 'dlx', 'run', 'start'])],
]);

/** Subcommands that run a script from package.json, which may do more than the one server. */
const SCRIPTS: ReadonlySet<string> = new Set(['run', 'run-script', 'start']);

interface Runner {
  readonly script: boolean;
}

/** npm puts its command line into its title (`npm exec opencode serve`), one string under node's executable. */
function runnerOf(process: Recognisable): Runner | null {
  const [title] = process.argv;
  if (title === undefined) return null;
  if (process.executablePath === null) return null;
  const real = interpreterOf(process.executablePath);
  const titled = /^(npm|npx|pnpm|yarn) (?:-\S+ )*(\S+)/u.exec(title);
  if (titled !== null && process.argv.slice(1).every((arg) => arg.trim() === '')) {
    if (real !== 'js' && real !== 'bun') return null;
    return runnerNamed(titled[1] ?? '', titled[2]);
  }
  if (real === 'bun' && interpreterOf(title) === 'bun' && process.argv[1] === 'x') return { script: false };
  const invocation = invocationOf(process);
  if (invocation === null || invocation.interpreter === 'other') return null;
  return runnerNamed(
    invocation.stem.replace(/\.[cm]?js$/u, ''),
    invocation.args.find((arg) => !arg.startsWith('-')),
  );
}

function runnerNamed(name: string, subcommand: string | undefined): Runner | null {
  const allowed = RUNNERS.get(name);
  if (allowed === undefined) return null;
  if (allowed === 'any') return { script: false };
  return subcommand !== undefined && allowed.has(subcommand) ? { script: SCRIPTS.has(subcommand) } : null;
}

/** The command string of a shell that was started with `-c`; null for every other process, and where its program is not known. */
function commandString(process: Recognisable): string | null {
  const { argv } = process;
  let first = 1;
  const shell = (argv[0] ?? '').replace(/^-/u, '');
  if (interpreterOf(shell) !== 'shell') return null;
  if (process.executablePath === null || interpreterOf(process.executablePath) !== 'shell') return null;
  if (stemOf(shell) === 'busybox') first = 2;
  for (let index = first; index < argv.length; index += 1) {
    const arg = argv[index] ?? '';
    if (!arg.startsWith('-') && !arg.startsWith('+')) return null;
    if (/^-[A-Za-z]*c[A-Za-z]*$/u.test(arg)) return argv[index + 1] ?? null;
    if (/^[-+][oO]$/u.test(arg)) index += 1;
  }
  return null;
}

/**
 * True for a process that only passes a command on and is nobody's owner: a shell running `-c`, npx and its kin.
 * The search for an owner goes past it. A tool's own shim is told by `recognise` (role `wrapper`).
 */
export function isPlainWrapper(process: Recognisable): boolean {
  return commandString(process) !== null || runnerOf(process) !== null;
}

/** By its arguments a plain wrapper; its program, which would decide it, is not known. */
export function mayBePlainWrapper(process: Recognisable): boolean {
  if (process.executablePath !== null) return false;
  const as = (executablePath: string): Recognisable => ({ comm: process.comm, argv: process.argv, executablePath });
  return commandString(as('sh')) !== null || runnerOf(as('node')) !== null;
}

/**
 * True for a shell whose command string goes round in a loop: it starts its child again whenever that ends. Read from
 * the words outside quotes; a loop that hides in a script's file is not told.
 */
export function loopsOver(process: Recognisable): boolean {
  const text = commandString(process);
  if (text === null) return false;
  const bare = text.replace(/'[^']*'|"(?:\\.|[^"\\])*"|\\./gsu, '_');
  return /(?:^|[;&|({\n]|\b(?:do|then|else)\s)\s*(?:while|until|for)\s.*?[;\n]\s*done\b/su.test(bare);
}

/**
 * True for a plain wrapper that exists for this one child alone, so that the two are one server. Stricter than
 * `isPlainWrapper`: a shell whose command string does more than start the child may keep other things alive.
 *
 * @param child what the wrapper's direct child is
 */
export function wrapsOnly(process: Recognisable, child: Recognisable): boolean {
  const text = commandString(process);
  if (text === null) {
    const runner = runnerOf(process);
    return runner !== null && !runner.script;
  }
  const words = soleCommand(text);
  if (words === null) return false;
  // The child is the program itself, or the interpreter that the command names, or one that its script's first line names.
  const named = fileName(words[0] ?? '');
  const invocation = invocationOf(child);
  const names = [child.argv[0] ?? '', invocation?.program ?? '', executableOnDisk(child.executablePath ?? '')];
  return (
    names.some((name) => name !== '' && (fileName(name) === named || stemOf(name) === stemOf(named))) ||
    (runnerNamed(stemOf(named), words[1])?.script === false && runnerOf(child) !== null)
  );
}
