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

/**
 * Makes the search for a kind's program: the configured path; PATH; the PATH that the person's login shell would set
 * (an app started from a desktop often has a shorter one); a checkout's own development dependency.
 *
 * @param name file name, or an absolute path that is only checked
 * @param remedy what to do when it is nowhere, as the beginning of a sentence
 */
export function locator(name: string, remedy: string, options: StartOptions): (env: Env) => Promise<Found> {
  return async (env) => {
    const configured = options.programs[name]?.path ?? (isAbsolute(name) ? name : undefined);
    if (configured !== undefined) {
      if (await isProgram(configured)) return { found: true, program: configured };
      return {
        found: false,
        why: `${configured}, named in config.json, is no program that can be run.`,
        remedy: 'Correct the path in config.json.',
      };
    }
    const direct = await findIn(env['PATH'] ?? '', name);
    if (direct !== null) return { found: true, program: direct };
    const login = await loginPath(env);
    const byShell = login === null ? null : await findIn(login, name);
    if (byShell !== null) return { found: true, program: byShell };
    if (name === 'opencode' && options.developmentBin !== null && (await isProgram(options.developmentBin))) {
      return { found: true, program: options.developmentBin };
    }
    return {
      found: false,
      why: `No program named ${name} is on PATH, nor on the PATH of your login shell.`,
      remedy: `${remedy}, or name its path in config.json under start.${name}.path.`,
    };
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
