import type { MachineLine } from '../../host.ts';
import { type CpuTimes, cpuPercentBetween, parseCpuTimes } from '../../local/procfs/cpu.ts';

/** The load is a difference, and over less than this, in milliseconds, it is noise. */
const SPAN_MS = 1000;

function kilobytes(text: string, name: string): number {
  return Number(new RegExp(`^${name}: +(\\d+) kB$`, 'mu').exec(text)?.[1] ?? 0);
}

/** Makes lines out of `/proc/stat`, `meminfo` and `loadavg`; the first one has no load yet. */
export function machineLines(hostname: string): (read: (name: string) => string | null) => MachineLine {
  let before: { readonly times: CpuTimes; readonly at: number } | null = null;
  let cpuPercent: number | null = null;
  return (read) => {
    const times = parseCpuTimes(read('stat') ?? '');
    const at = performance.now();
    if (times !== null && (before === null || at - before.at >= SPAN_MS)) {
      cpuPercent = before === null ? null : cpuPercentBetween(before.times, times);
      before = { times, at };
    }
    const memory = read('meminfo') ?? '';
    const total = kilobytes(memory, 'MemTotal');
    const load = Number.parseFloat(read('loadavg') ?? '');
    return {
      hostname,
      cpuPercent,
      memoryTotalBytes: total * 1024,
      memoryUsedBytes: (total - kilobytes(memory, 'MemAvailable')) * 1024,
      load1: Number.isFinite(load) ? load : null,
      cores: times?.cores ?? 1,
    };
  };
}

/** The same from what `ps.sh` tells: `memory` has the bytes and the cores, `load` three averages. */
export function psMachineLines(hostname: string): (read: (name: string) => string | null) => MachineLine {
  return (read) => {
    const [bytes, cores] = (read('memory') ?? '').split('\n').map(Number);
    const load = /[\d.]+(?=[ ,]+[\d.]+[ ,]+[\d.]+\D*$)/u.exec(read('load') ?? '')?.[0];
    return {
      hostname,
      cpuPercent: null,
      memoryTotalBytes: bytes ?? 0,
      // Not told by any program that all of these systems have.
      memoryUsedBytes: 0,
      load1: load === undefined ? null : Number(load),
      cores: cores ?? 1,
    };
  };
}
