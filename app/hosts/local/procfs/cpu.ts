/** What the first lines of `/proc/stat` say of all cores together, in ticks since boot. Source: proc_stat(5). */
export interface CpuTimes {
  readonly busy: number;
  readonly total: number;
  readonly cores: number;
}

/** Null when the text is not what is expected. */
export function parseCpuTimes(text: string): CpuTimes | null {
  const line = /^cpu +([\d ]+)$/mu.exec(text)?.[1];
  if (line === undefined) return null;
  // Guest times, which come after the eighth, are in user and nice already.
  const times = line.trim().split(/ +/u, 8).map(Number);
  if (times.length < 4) return null;
  const total = times.reduce((sum, ticks) => sum + ticks, 0);
  const idle = (times[3] ?? 0) + (times[4] ?? 0);
  return { busy: total - idle, total, cores: text.match(/^cpu\d+ /gmu)?.length ?? 1 };
}

/** Share of all cores together, 0 to 100; null when no tick has passed. Idle times may step back a little. */
export function cpuPercentBetween(before: CpuTimes, now: CpuTimes): number | null {
  const total = now.total - before.total;
  if (total <= 0) return null;
  return Math.min(100, Math.max(0, (100 * (now.busy - before.busy)) / total));
}
