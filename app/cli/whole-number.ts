import { UsageError } from './io.ts';

/** A whole number of a flag, in bounds. */
export function wholeNumber(text: string, flag: string, least: number, most: number): number {
  const value = /^\d{1,10}$/u.test(text) ? Number(text) : Number.NaN;
  if (value >= least && value <= most) return value;
  throw new UsageError(`--${flag} ${text} will not do.`, `It is a whole number from ${least} to ${most}.`);
}
