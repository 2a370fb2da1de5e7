/** What every example roll is made with. */

export const HOME = '/home/ada';
/** The moment of every example roll; local time so that clock times read alike everywhere. */
export const TAKEN_AT = new Date(2026, 10, 30, 14, 32, 5);

export const MINUTE = 60_000;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;

/** @param ms milliseconds before the moment of the example */
export const ago = (ms: number): string => new Date(TAKEN_AT.getTime() - ms).toISOString();

/** A 16-digit id that tells which number it was made of. */
export function id(n: number): string {
  return n.toString(16).padStart(16, '0');
}
