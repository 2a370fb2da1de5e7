import { parseArgs } from 'node:util';

export interface Options {
  readonly seconds: number;
  readonly seed: number;
  readonly verbose: boolean;
}

/** The command line could not be understood. */
export class BadOptions extends Error {
  override readonly name = 'BadOptions';
}

export const USAGE = 'Usage: npm run chaos -- [--minutes N | --seconds N] [--seed S] [--verbose]';

/**
 * A minute and a seed of the clock's when nothing is said.
 *
 * @throws BadOptions
 */
export function readOptions(words: readonly string[], seedOfNow: number): Options {
  let values: { minutes?: string; seconds?: string; seed?: string; verbose?: boolean };
  try {
    ({ values } = parseArgs({
      args: [...words],
      options: {
        minutes: { type: 'string' },
        seconds: { type: 'string' },
        seed: { type: 'string' },
        verbose: { type: 'boolean' },
      },
    }));
  } catch (error) {
    throw new BadOptions(`${error instanceof Error ? error.message : String(error)} ${USAGE}`);
  }
  const { minutes, seconds, seed, verbose } = values;
  if (minutes !== undefined && seconds !== undefined) throw new BadOptions(`Give minutes or seconds. ${USAGE}`);
  return {
    seconds: minutes === undefined ? number('seconds', seconds ?? '60') : number('minutes', minutes) * 60,
    seed: seed === undefined ? seedOfNow : number('seed', seed),
    verbose: verbose === true,
  };
}

function number(name: string, text: string): number {
  const value = Number(text);
  if (text.trim() === '' || !Number.isFinite(value) || value < 0) {
    throw new BadOptions(`--${name} must be a number of at least 0, not "${text}". ${USAGE}`);
  }
  return value;
}
