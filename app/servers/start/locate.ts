import { isAbsolute } from 'node:path';
import type { Found, ProgramFinder } from '../kind.ts';

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
  /** Where `programs` stands in the configuration file: `start`, or the `start` of one host. */
  readonly setting: string;
}

export const NO_OPTIONS: StartOptions = { developmentBin: null, programs: {}, setting: 'start' };

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
export function installRemedy(kind: string, install: string, { setting }: StartOptions): string {
  return `${install}, or name its path in config.json under ${setting}.${kind}.path.`;
}

/**
 * Makes the search for a kind's program: the configured path; PATH; the PATH that the person's login shell would set
 * (an app started from a desktop often has a shorter one); a checkout's own development dependency.
 */
export function locator(search: Search, options: StartOptions): (finder: ProgramFinder) => Promise<Found> {
  const { kind, program, remedy } = search;
  const configured = options.programs[kind]?.path;
  const exact = configured ?? (isAbsolute(program) ? program : undefined);
  return async (finder) => {
    if (exact !== undefined) {
      if (await finder.isProgram(exact)) return { found: true, program: exact };
      return {
        found: false,
        why: `${exact}, which config.json names for ${kind}, is not a program that can be run.`,
        remedy:
          configured === undefined ? remedy : `Correct ${options.setting}.${kind}.path in config.json, or remove it.`,
      };
    }
    const direct = await finder.onPath(program);
    if (direct !== null) return { found: true, program: direct };
    const login = await finder.onLoginPath(program);
    if (login !== null && login !== 'unasked') return { found: true, program: login };
    if (kind === 'opencode' && options.developmentBin !== null && (await finder.isProgram(options.developmentBin))) {
      return { found: true, program: options.developmentBin };
    }
    // A login shell that was not asked, or gave no answer, proves nothing.
    const where = login === 'unasked' ? finder.place : `${finder.place}, nor on the PATH of your login shell`;
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
