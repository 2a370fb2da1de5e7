import { UsageError } from './io.ts';

/** A whole number of an option, in bounds. */
export function wholeNumber(text: string, option: string, minArgs: number, maxArgs: number): number {
  const value = /^\d{1,10}$/u.test(text) ? Number(text) : Number.NaN;
  if (value >= minArgs && value <= maxArgs) return value;
  throw new UsageError(`--${option} ${text} will not do.`, `It is a whole number from ${minArgs} to ${maxArgs}.`);
}
