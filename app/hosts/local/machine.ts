import { readFile } from 'node:fs/promises';
import { availableParallelism, hostname, loadavg } from 'node:os';
import { performance } from 'node:perf_hooks';
import type { MachineLine } from '../host.ts';
import { type CpuTimes, cpuPercentBetween, parseCpuTimes } from './procfs/cpu.ts';

/** Readings within this time are the same reading: the load is a difference, and too short a one is noise. */
const LIFETIME_MS = 1000;

type Cpu = Pick<MachineLine, 'cpuPercent' | 'cores'>;

/** Reads the host's line, at most once a second. The first reading has no CPU load yet where it is a difference. */
export function machineReader(): () => Promise<MachineLine> {
  let kept: { readonly line: Promise<MachineLine>; readonly at: number } | null = null;
  const cpu = process.platform === 'linux' ? linuxCpu() : portableCpu;
  return () => {
    const now = performance.now();
    if (kept === null || now - kept.at >= LIFETIME_MS) kept = { line: readMachine(cpu), at: now };
    return kept.line;
  };
}

/** systeminformation runs `cat /proc/stat` for this and blocks the thread until it ends; the file itself is enough. */
function linuxCpu(): () => Promise<Cpu> {
  let before: CpuTimes | null = null;
  return async () => {
    const now = parseCpuTimes(await readFile('/proc/stat', 'latin1'));
    const cpuPercent = before === null || now === null ? null : cpuPercentBetween(before, now);
    before = now;
    return { cpuPercent, cores: now?.cores ?? availableParallelism() };
  };
}

async function portableCpu(): Promise<Cpu> {
  const { default: systeminformation } = await import('systeminformation');
  const { currentLoad } = await systeminformation.currentLoad();
  return { cpuPercent: Number.isFinite(currentLoad) ? currentLoad : null, cores: availableParallelism() };
}

async function readMachine(cpu: () => Promise<Cpu>): Promise<MachineLine> {
  // Loaded when it is first wanted: most commands show no machine and should not wait for it.
  const { default: systeminformation } = await import('systeminformation');
  const [load, memory] = await Promise.all([cpu(), systeminformation.mem()]);
  return {
    hostname: hostname(),
    ...load,
    memoryTotalBytes: memory.total,
    memoryUsedBytes: memory.active,
    // Windows has no load average, and Node answers zeros there.
    load1: process.platform === 'win32' ? null : (loadavg()[0] ?? null),
  };
}
