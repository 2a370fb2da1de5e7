/** What `/proc/PID/stat` says. Numbers of other fields are not read. Source: proc_pid_stat(5). */
export interface ProcStat {
  readonly pid: number;
  readonly comm: string;
  /** One letter: R S D T t Z X I. */
  readonly state: string;
  readonly ppid: number;
  readonly pgrp: number;
  readonly session: number;
  readonly tty: number;
  readonly tpgid: number;
  readonly kernelThread: boolean;
  /** User plus system time, in clock ticks. */
  readonly cpuTicks: number;
  readonly threads: number;
  /** Field 22 as the kernel printed it: ticks since boot. Kept as text, for it is compared and never counted with. */
  readonly startTicks: string;
}

const OPEN_PAREN = 0x28;
const CLOSE_PAREN = 0x29;
/** PF_KTHREAD of include/linux/sched.h. */
const PF_KTHREAD = 0x0020_0000;
/** Fields after `comm` that are needed: up to field 22 of the man page. */
const NEEDED_FIELDS = 20;

/**
 * Parses one stat line. Everything is counted from the last `)`: a comm may itself hold spaces, parentheses and
 * newlines. Returns null when the text is not a stat line.
 */
export function parseStat(bytes: Buffer): ProcStat | null {
  const open = bytes.indexOf(OPEN_PAREN);
  const close = bytes.lastIndexOf(CLOSE_PAREN);
  if (open < 1 || close < open) return null;
  const pid = Number(bytes.toString('latin1', 0, open));
  const fields = bytes.toString('latin1', close + 2).split(' ', NEEDED_FIELDS);
  const state = fields[0];
  const startTicks = fields[19];
  if (state?.length !== 1 || startTicks === undefined || !/^\d+$/u.test(startTicks.trimEnd())) return null;
  const numbers = fields.slice(1).map(Number);
  const at = (index: number): number => numbers[index - 1] ?? Number.NaN;
  const stat: ProcStat = {
    pid,
    comm: bytes.toString('utf8', open + 1, close),
    state,
    ppid: at(1),
    pgrp: at(2),
    session: at(3),
    tty: at(4),
    tpgid: at(5),
    kernelThread: (at(6) & PF_KTHREAD) !== 0,
    cpuTicks: at(11) + at(12),
    threads: at(17),
    startTicks: startTicks.trimEnd(),
  };
  return Number.isInteger(pid) && numbers.every(Number.isFinite) ? stat : null;
}

/** Exited, not merely a live process whose main thread has left: that one looks like a zombie too. */
export function isFinished(stat: ProcStat): boolean {
  return (stat.state === 'Z' || stat.state === 'X') && stat.threads <= 1;
}
