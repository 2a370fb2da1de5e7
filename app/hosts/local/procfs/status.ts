/** What `/proc/PID/status` says of the lines that are read. Source: proc_pid_status(5). */
export interface ProcStatus {
  readonly pid: number;
  /** Process that this number belongs to; differs from `pid` for a thread id. */
  readonly tgid: number;
  readonly realUid: number;
  readonly threads: number;
  /** The PID in every namespace from the reader's inwards. */
  readonly namespacePids: readonly number[];
  /** Resident set in bytes; 0 for a process without memory. */
  readonly rssBytes: number;
  readonly ignoresHangup: boolean;
}

/** SIGHUP is signal 1, the lowest bit of a signal mask. */
const SIGHUP_BIT = 1n;

function line(text: string, name: string): string | null {
  const start = text.startsWith(`${name}:`) ? 0 : text.indexOf(`\n${name}:`) + 1;
  if (start === 0 && !text.startsWith(`${name}:`)) return null;
  const end = text.indexOf('\n', start);
  // A line that nothing ends was cut off in the middle.
  return end === -1 ? null : text.slice(start + name.length + 1, end).trim();
}

function firstNumber(text: string | null): number | null {
  const digits = text?.match(/^\d+/u)?.[0];
  return digits === undefined ? null : Number(digits);
}

/** Parses a whole status file; null when a needed line is missing. */
export function parseStatus(text: string): ProcStatus | null {
  const pid = firstNumber(line(text, 'Pid'));
  const tgid = firstNumber(line(text, 'Tgid'));
  const realUid = firstNumber(line(text, 'Uid'));
  const threads = firstNumber(line(text, 'Threads'));
  const ignored = line(text, 'SigIgn');
  if (pid === null || tgid === null || realUid === null || threads === null) return null;
  if (ignored === null || !/^[0-9a-f]+$/u.test(ignored)) return null;
  const kilobytes = firstNumber(line(text, 'VmRSS')) ?? 0;
  return {
    pid,
    tgid,
    realUid,
    threads,
    namespacePids: (line(text, 'NSpid') ?? String(pid)).split(/\s+/u).map(Number),
    rssBytes: kilobytes * 1024,
    ignoresHangup: (BigInt(`0x${ignored}`) & SIGHUP_BIT) !== 0n,
  };
}

/** Proportional set size in bytes from `/proc/PID/smaps_rollup`; null when the line is missing. */
export function parsePss(text: string): number | null {
  const kilobytes = firstNumber(line(text, 'Pss'));
  return kilobytes === null ? null : kilobytes * 1024;
}
