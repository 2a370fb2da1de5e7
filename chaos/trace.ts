/** What strace saw: every signal that left a traced process, and whom it was for by the ledger. */
import { existsSync, readFileSync } from 'node:fs';

export interface Traced {
  readonly by: number;
  /** Seconds since the epoch at which the target was named: for a pidfd when it was opened. */
  readonly at: number;
  /** Null for a pidfd whose opening was not seen; below 1 for a group. */
  readonly pid: number | null;
  readonly signal: string;
  readonly ok: boolean;
}

/** Reads one trace. A line that is cut off, as the end of a trace may be, says nothing. */
export function readTrace(file: string): Traced[] {
  if (!existsSync(file)) return [];
  const opened = new Map<string, { readonly pid: number; readonly at: number }>();
  const open = new Map<string, { readonly at: string; readonly head: string }>();
  const found: Traced[] = [];
  for (const line of readFileSync(file, 'utf8').split('\n')) {
    const parts = /^(?<by>\d+)\s+(?<at>\d+\.\d+)\s+(?<rest>.*)$/u.exec(line)?.groups;
    if (parts === undefined) continue;
    const { by = '', rest = '' } = parts;
    let { at = '' } = parts;
    let call = rest;
    const cut = /^(?<head>.*?)\s*<unfinished \.\.\.>$/u.exec(rest)?.groups?.['head'];
    const tail = /^<\.\.\. \w+ resumed>(?<tail>.*)$/u.exec(rest)?.groups?.['tail'];
    if (cut !== undefined) {
      open.set(by, { at, head: cut });
      continue;
    }
    if (tail !== undefined) {
      const begun = open.get(by);
      open.delete(by);
      call = `${begun?.head ?? ''}${tail}`;
      at = begun?.at ?? at;
    }
    const said = /^(?<name>\w+)\((?<args>.*)\)\s+= (?<result>-?\d+|\?)/u.exec(call)?.groups;
    if (said === undefined) continue;
    const { name = '', args = '', result = '' } = said;
    const [first = '', second = '', third = ''] = args.split(/,\s*/u);
    if (name === 'pidfd_open') {
      if (Number(result) >= 0) opened.set(`${by}:${result}`, { pid: Number(first), at: Number(at) });
      continue;
    }
    const signal = name === 'tgkill' || name === 'rt_tgsigqueueinfo' ? third : second;
    if (signal === '0') continue;
    const fd = opened.get(`${by}:${/^\d+/u.exec(first)?.[0] ?? ''}`);
    const viaFd = name === 'pidfd_send_signal';
    found.push({
      by: Number(by),
      at: viaFd ? (fd?.at ?? Number(at)) : Number(at),
      pid: viaFd ? (fd?.pid ?? null) : Number(first),
      signal,
      ok: Number(result) >= 0,
    });
  }
  return found;
}
