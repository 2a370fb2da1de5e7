/**
 * The system calls by which a process signals others, seen from outside: strace notes each one that the traced process
 * and its children make, whatever they believe they do.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from './processes.ts';

/** A signal that left a traced process. */
export interface Sent {
  /** Thread that made the call. */
  readonly by: number;
  readonly call: string;
  /** Whom it was meant for; below 1 for a group or for everybody, null for a pidfd of unknown origin. */
  readonly pid: number | null;
  readonly signal: string;
  /** `ok`, or the name of the error. */
  readonly result: string;
}

export interface Trace {
  /** Put before the program and its arguments, once: a second run would write over the first. */
  readonly prefix: readonly [string, ...string[]];
  /** Every signal until now, in order; probes with signal 0 send nothing and are left out. */
  sent(): readonly Sent[];
  /** The same as "SIGTERM 4711", the failed ones included; not what a process raises in itself, as node does to die. */
  signals(): readonly string[];
}

const CALLS = ['kill', 'tkill', 'tgkill', 'pidfd_send_signal', 'rt_sigqueueinfo', 'rt_tgsigqueueinfo', 'pidfd_open'];

/** Why nothing can be traced here; null when it can. */
export function straceProblem(): string | null {
  try {
    execFileSync('strace', ['-f', '-qq', '-e', 'trace=none', 'true'], { stdio: ['ignore', 'ignore', 'pipe'] });
    return null;
  } catch (error) {
    const said = error instanceof Error && 'stderr' in error ? String(error.stderr).trim() : '';
    return `strace cannot trace here: ${said || String(error)}`;
  }
}

/**
 * A trace into a file of this test.
 *
 * @param tamper strace's own `inject=` expressions: `pidfd_open:error=ENOSYS` is a kernel without pidfds,
 *   `pidfd_send_signal:delay_enter=500000` holds each such call back for half a second
 */
export function newTrace(tamper: readonly string[] = []): Trace {
  const file = join(temporaryFolder(), 'trace');
  const options = ['-f', '-qq', '--seccomp-bpf', '--decode-fds=pidfd', '-e', 'signal=none'];
  const injections = tamper.flatMap((text) => ['-e', `inject=${text}`]);
  const sent = (): readonly Sent[] => parseTrace(readFileSync(file, 'utf8'));
  return {
    prefix: ['strace', ...options, '-e', `trace=${CALLS.join()}`, ...injections, '-o', file, '--'],
    sent,
    signals: () =>
      sent()
        .filter(({ by, pid }) => by !== pid)
        .map(({ signal, pid }) => `${signal} ${pid ?? 'unknown'}`),
  };
}

/** Calls that were cut in two because another thread's came between, put together again. */
function wholeCalls(text: string): { readonly by: number; readonly call: string }[] {
  const open = new Map<string, string>();
  const whole: { by: number; call: string }[] = [];
  for (const line of text.split('\n')) {
    const parts = /^(?<by>\d+)\s+(?<rest>.*)$/u.exec(line)?.groups;
    const { by = '', rest = '' } = parts ?? {};
    const unfinished = /^(?<head>.*?)\s*<unfinished \.\.\.>$/u.exec(rest)?.groups?.['head'];
    const resumed = /^<\.\.\. \w+ resumed>(?<tail>.*)$/u.exec(rest)?.groups?.['tail'];
    if (unfinished !== undefined) open.set(by, unfinished);
    else if (resumed !== undefined) {
      whole.push({ by: Number(by), call: `${open.get(by) ?? ''}${resumed}` });
      open.delete(by);
    } else if (rest !== '') whole.push({ by: Number(by), call: rest });
  }
  // Still under way when the trace was read: it counts as sent.
  for (const [by, call] of open) whole.push({ by: Number(by), call: `${call}) = 0` });
  return whole;
}

/** Reads what strace wrote. A pidfd's number means the process it was last opened on. */
export function parseTrace(text: string): readonly Sent[] {
  const pidfds = new Map<string, number>();
  const sent: Sent[] = [];
  for (const { by, call } of wholeCalls(text)) {
    const parts = /^(?<name>\w+)\((?<args>.*)\)\s+= (?<result>-?\d+|\?)(?:<[^>]*>)?(?: (?<error>E[A-Z]+))?/u.exec(call);
    if (parts?.groups === undefined) continue;
    const { name = '', args = '', result = '', error } = parts.groups;
    const words = args.split(/,\s*/u);
    const [first = '', second = '', third = ''] = words;
    if (name === 'pidfd_open') {
      if (error === undefined) pidfds.set(result, Number(first));
      continue;
    }
    const signal = name === 'tgkill' || name === 'rt_tgsigqueueinfo' ? third : second;
    if (signal === '0') continue;
    const pid = name === 'pidfd_send_signal' ? (pidfds.get(/^\d+/u.exec(first)?.[0] ?? '') ?? null) : Number(first);
    sent.push({ by, call: name, pid, signal, result: error ?? 'ok' });
  }
  return sent;
}
