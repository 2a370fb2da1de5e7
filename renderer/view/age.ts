/**
 * An age in milliseconds, in steps that its text shows: seconds below a minute, else minutes. So a row renders again
 * only when its text changes.
 *
 * @param since ISO 8601
 * @param now milliseconds since the epoch
 */
export function steppedAge(since: string, now: number): number {
  const age = Math.max(0, now - Date.parse(since));
  const step = age < 60_000 ? 1000 : 60_000;
  return Math.floor(age / step) * step;
}
