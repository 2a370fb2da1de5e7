import { parseArgs } from 'node:util';
import { messageOf } from '../app/util/errors.ts';

/** Faults that the run commits itself, to prove that it would notice them. */
export const SABOTAGES = ['stranger', 'owner', 'record'] as const;
export type Sabotage = (typeof SABOTAGES)[number];

export interface Options {
  readonly seconds: number;
  readonly seed: number;
  readonly verbose: boolean;
  /** Null in every honest run. */
  readonly sabotage: Sabotage | null;
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
  let values: { minutes?: string; seconds?: string; seed?: string; verbose?: boolean; sabotage?: string };
  try {
    ({ values } = parseArgs({
      args: [...words],
      options: {
        minutes: { type: 'string' },
        seconds: { type: 'string' },
        seed: { type: 'string' },
        verbose: { type: 'boolean' },
        sabotage: { type: 'string' },
      },
    }));
  } catch (error) {
    throw new BadOptions(`${messageOf(error)} ${USAGE}`);
  }
  const { minutes, seconds, seed, verbose } = values;
  if (minutes !== undefined && seconds !== undefined) throw new BadOptions(`Give minutes or seconds. ${USAGE}`);
  const sabotage = SABOTAGES.find((one) => one === values.sabotage) ?? null;
  if (values.sabotage !== undefined && sabotage === null) {
    throw new BadOptions(`--sabotage is one of ${SABOTAGES.join(', ')}. ${USAGE}`);
  }
  return {
    seconds: minutes === undefined ? number('seconds', seconds ?? '60') : number('minutes', minutes) * 60,
    seed: seed === undefined ? seedOfNow : number('seed', seed),
    verbose: verbose === true,
    sabotage,
  };
}

function number(name: string, text: string): number {
  const value = Number(text);
  if (text.trim() === '' || !Number.isFinite(value) || value < 0) {
    throw new BadOptions(`--${name} must be a number of at least 0, not "${text}". ${USAGE}`);
  }
  return value;
}
