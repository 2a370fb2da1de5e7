/** One line of the result. */
export interface Row {
  readonly what: string;
  readonly measured: string;
  /** What it is compared with in the same run; empty for an absolute number. */
  readonly peer: string;
  readonly ratio: number | null;
  readonly target: string;
  readonly ok: boolean;
}

/** Compares with a peer: the ratio counts, since it means the same on a fast and on a slow machine. */
export function against(what: string, ms: number, peer: string, peerMs: number, limit: number): Row {
  const ratio = ms / peerMs;
  return {
    what,
    measured: `${ms.toFixed(1)} ms`,
    peer: `${peer} ${peerMs.toFixed(1)} ms`,
    ratio,
    target: `≤ ${limit} ×`,
    ok: ratio <= limit,
  };
}

/** Compares with a fixed limit. */
export function within(what: string, value: number, unit: string, limit: number): Row {
  const digits = unit === '' ? 0 : 2;
  return {
    what,
    measured: `${value.toFixed(digits)} ${unit}`.trim(),
    peer: '',
    ratio: null,
    target: `≤ ${limit} ${unit}`.trim(),
    ok: value <= limit,
  };
}

export function table(rows: readonly Row[]): string {
  const cells = [
    ['what', 'measured', 'peer', 'ratio', 'target', ''],
    ...rows.map((row) => [
      row.what,
      row.measured,
      row.peer,
      row.ratio === null ? '' : `${row.ratio.toFixed(2)} ×`,
      row.target,
      row.ok ? 'ok' : 'over',
    ]),
  ];
  const widths = cells[0]?.map((_, column) => Math.max(...cells.map((line) => line[column]?.length ?? 0))) ?? [];
  return cells
    .map((line) => line.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  '))
    .map((line) => line.trimEnd())
    .join('\n');
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[sorted.length >> 1] ?? Number.NaN;
}
