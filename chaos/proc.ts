/** What the kernel says of the processes in this namespace. Everything answers null for one that is gone. */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { parseStat } from '../app/hosts/local/procfs/stat.ts';

export interface Stat {
  readonly state: string;
  readonly ppid: number;
  /** Field 22: with the PID, which process it is. */
  readonly ticks: string;
}

function read(pid: number, name: string): Buffer | null {
  try {
    return readFileSync(`/proc/${pid}/${name}`);
  } catch {
    // It ended while it was read.
    return null;
  }
}

export function pids(): number[] {
  return readdirSync('/proc').flatMap((name) => (/^\d+$/u.test(name) ? [Number(name)] : []));
}

export function statOf(pid: number): Stat | null {
  const bytes = read(pid, 'stat');
  const stat = bytes === null ? null : parseStat(bytes);
  return stat === null ? null : { state: stat.state, ppid: stat.ppid, ticks: stat.startTicks };
}

export function isZombie({ state }: Stat): boolean {
  return state === 'Z' || state === 'X';
}

/** The same process still runs. */
export function lives(pid: number, ticks: string): boolean {
  const stat = statOf(pid);
  return stat !== null && stat.ticks === ticks && !isZombie(stat);
}

function words(bytes: Buffer | null): string[] {
  return bytes === null ? [] : bytes.toString('utf8').split('\0').slice(0, -1);
}

export function argvOf(pid: number): string[] {
  return words(read(pid, 'cmdline'));
}

export function environOf(pid: number): Map<string, string> {
  return new Map(
    words(read(pid, 'environ')).map((word) => {
      const at = word.indexOf('=');
      return [word.slice(0, at), word.slice(at + 1)];
    }),
  );
}

/** Where each open descriptor leads. */
export function descriptorsOf(pid: number): string[] {
  try {
    return readdirSync(`/proc/${pid}/fd`).flatMap((name) => {
      try {
        return [readlinkSync(`/proc/${pid}/fd/${name}`)];
      } catch {
        return []; // closed meanwhile
      }
    });
  } catch {
    return []; // gone
  }
}

/** Private memory in bytes; 0 for a process that is gone. */
export function privateBytes(pid: number): number {
  const text = read(pid, 'smaps_rollup')?.toString('latin1') ?? '';
  return [...text.matchAll(/^Private_(?:Clean|Dirty):\s+(\d+) kB$/gmu)].reduce(
    (sum, [, kilobytes]) => sum + Number(kilobytes) * 1024,
    0,
  );
}
