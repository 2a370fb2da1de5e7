import { cpus, hostname, loadavg } from 'node:os';
import { performance } from 'node:perf_hooks';
import type { MachineLine } from '../host.ts';

/** Readings within this time are the same reading: the load is a difference, and too short a one is noise. */
const LIFETIME_MS = 1000;

/** Reads the host's line, at most once a second. */
export function machineReader(): () => Promise<MachineLine> {
  let kept: { readonly line: Promise<MachineLine>; readonly at: number } | null = null;
  return () => {
    const now = performance.now();
    if (kept === null || now - kept.at >= LIFETIME_MS) kept = { line: readMachine(), at: now };
    return kept.line;
  };
}

async function readMachine(): Promise<MachineLine> {
  // Loaded when it is first wanted: most commands show no machine and should not wait for it.
  const { default: systeminformation } = await import('systeminformation');
  const [load, memory] = await Promise.all([systeminformation.currentLoad(), systeminformation.mem()]);
  return {
    hostname: hostname(),
    cpuPercent: Number.isFinite(load.currentLoad) ? load.currentLoad : null,
    memoryTotalBytes: memory.total,
    memoryUsedBytes: memory.active,
    // Windows has no load average, and Node answers zeros there.
    load1: process.platform === 'win32' ? null : (loadavg()[0] ?? null),
    cores: cpus().length,
  };
}
