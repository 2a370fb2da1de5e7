/** Idle times that are offered, in minutes. */
const OFFERED = [15, 30, 60, 240] as const;

/** The offered idle times and the one that is set, which the configuration may have chosen freely; shortest first. */
export function idleChoices(set: number | null): readonly number[] {
  return [...new Set<number>([...OFFERED, ...(set === null ? [] : [set])])].sort((a, b) => a - b);
}

/** An idle time in words: `15 min`, `1 h`, `1 h 30 min`, `2.5 min`. */
export function idleWords(minutes: number): string {
  const hours = Math.floor(minutes / 60);
  const rest = Math.round((minutes - hours * 60) * 10) / 10;
  return [hours === 0 ? '' : `${hours} h`, rest === 0 && hours > 0 ? '' : `${rest} min`].filter(Boolean).join(' ');
}
