import { constants } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { delimiter, isAbsolute, join } from 'node:path';
import type { Found } from './kind.ts';
import { loginPath } from './login-path.ts';

/** How the configuration changes the start of one kind. */
export interface ProgramOptions {
  /** Absolute path of the program, instead of a search. */
  readonly path?: string | undefined;
  /** Added after the kind's own arguments. */
  readonly args?: readonly string[] | undefined;
  /** Added to the kind's own environment. */
  readonly env?: Readonly<Record<string, string>> | undefined;
}

/** What the surroundings contribute to starting a kind. */
export interface StartOptions {
  /** `opencode` among a checkout's development dependencies; null outside of a checkout. */
  readonly developmentBin: string | null;
  /** By kind. */
  readonly programs: Readonly<Record<string, ProgramOptions>>;
}

export const NO_OPTIONS: StartOptions = { developmentBin: null, programs: {} };

type Env = Readonly<Record<string, string | undefined>>;

/** True for a file that may be run. A missing or unreadable one is simply none. */
async function isProgram(path: string): Promise<boolean> {
  try {
    await access(path, constants.X_OK);
    return (await stat(path)).isFile();
  } catch {
    // Not there, not ours to run, or a broken link: the search goes on with the next folder.
    return false;
  }
}

/** First program of that name in a PATH. Relative entries are passed over: they depend on where we happen to stand. */
async function findIn(path: string, name: string): Promise<string | null> {
  const file = process.platform === 'win32' && !name.toLowerCase().endsWith('.exe') ? `${name}.exe` : name;
  for (const folder of path.split(delimiter)) {
    if (!isAbsolute(folder)) continue;
    const program = join(folder, file);
    if (await isProgram(program)) return program;
  }
  return null;
}

/** Where a kind's program is looked for, and what to do when it is nowhere. */
export interface Search {
  /** The kind, as it is named in the configuration. */
  readonly kind: string;
  /** File name, or an absolute path that is only checked. */
  readonly program: string;
  /** A whole sentence. */
  readonly remedy: string;
}

/** The remedy for a built-in kind: how to install it, and the setting that names it where it is. */
export function installRemedy(kind: string, install: string): string {
  return `${install}, or name its path in config.json under start.${kind}.path.`;
}

/**
 * Makes the search for a kind's program: the configured path; PATH; the PATH that the person's login shell would set
 * (an app started from a desktop often has a shorter one); a checkout's own development dependency.
 */
export function locator(search: Search, options: StartOptions): (env: Env) => Promise<Found> {
  const { kind, program, remedy } = search;
  const configured = options.programs[kind]?.path;
  const exact = configured ?? (isAbsolute(program) ? program : undefined);
  return async (env) => {
    if (exact !== undefined) {
      if (await isProgram(exact)) return { found: true, program: exact };
      return {
        found: false,
        why: `${exact}, which config.json names for ${kind}, is not a program that can be run.`,
        remedy: configured === undefined ? remedy : `Correct start.${kind}.path in config.json, or remove it.`,
      };
    }
    const direct = await findIn(env['PATH'] ?? '', program);
    if (direct !== null) return { found: true, program: direct };
    const login = await loginPath(env);
    const byShell = login === null ? null : await findIn(login, program);
    if (byShell !== null) return { found: true, program: byShell };
    if (kind === 'opencode' && options.developmentBin !== null && (await isProgram(options.developmentBin))) {
      return { found: true, program: options.developmentBin };
    }
    // A login shell that was not asked, or gave no answer, proves nothing.
    const where = login === null ? 'on PATH' : 'on PATH, nor on the PATH of your login shell';
    return { found: false, why: `No program named ${program} is ${where}.`, remedy };
  };
}

/** The command line of a start: the kind's own arguments, then the configured ones. */
export function startArgv(
  kind: string,
  program: string,
  args: readonly string[],
  options: StartOptions,
): readonly [string, ...string[]] {
  return [program, ...args, ...(options.programs[kind]?.args ?? [])];
}
