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
const NEWLINE = 0x0a;
/** PF_KTHREAD of include/linux/sched.h. */
const PF_KTHREAD = 0x0020_0000;
const SPACE = 0x20;
const MINUS = 0x2d;
const ZERO = 0x30;
const NINE = 0x39;
/** Number of the state's field, and of the last that is needed, as proc_pid_stat(5) counts them. */
const STATE_FIELD = 3;
const START_FIELD = 22;
/** Values of one line by field number, kept between calls: a look parses thousands of lines. */
const values = new Float64Array(START_FIELD + 1);

/**
 * Parses one stat line. Everything is counted from the last `)`: a comm may itself hold spaces, parentheses and
 * newlines. Works on the bytes, since splitting into strings costs more than reading the file. Returns null when the
 * text is not a stat line.
 */
export function parseStat(bytes: Buffer): ProcStat | null {
  const open = bytes.indexOf(OPEN_PAREN);
  const close = bytes.lastIndexOf(CLOSE_PAREN);
  if (open < 2 || close < open || bytes[open - 1] !== SPACE || bytes[close + 1] !== SPACE) return null;
  const number = bytes.toString('latin1', 0, open - 1);
  const pid = /^\d+$/u.test(number) ? Number(number) : Number.NaN;
  const state = bytes[close + 2];
  if (!Number.isInteger(pid) || state === undefined || state === SPACE || bytes[close + 3] !== SPACE) return null;
  let at = close + 4;
  let start = at;
  for (let field = STATE_FIELD + 1; field <= START_FIELD; field += 1) {
    start = at;
    const negative = bytes[at] === MINUS;
    if (negative) at += 1;
    const digits = at;
    let value = 0;
    for (let byte = bytes[at]; byte !== undefined && byte >= ZERO && byte <= NINE; at += 1, byte = bytes[at]) {
      value = value * 10 + (byte - ZERO);
    }
    if (at === digits) return null;
    values[field] = negative ? -value : value;
    const after = bytes[at];
    // Only the last field that was asked for may end the line; what nothing ends was cut off in the middle.
    if (after !== SPACE && !(field === START_FIELD && after === NEWLINE)) return null;
    at += 1;
  }
  if (bytes[start] === MINUS) return null;
  const value = (field: number): number => values[field] ?? Number.NaN;
  return {
    pid,
    comm: bytes.toString('utf8', open + 1, close),
    state: String.fromCharCode(state),
    ppid: value(4),
    pgrp: value(5),
    session: value(6),
    tty: value(7),
    tpgid: value(8),
    kernelThread: (value(9) & PF_KTHREAD) !== 0,
    cpuTicks: value(14) + value(15),
    threads: value(20),
    startTicks: bytes.toString('latin1', start, at - 1),
  };
}
