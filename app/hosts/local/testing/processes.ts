/** Real processes for tests: each is ended, by its own handle or its verified number, when the test is over. */

import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface, type Interface } from 'node:readline';
import { onTestFinished } from 'vitest';
import type { ProcessRef } from '../../../identity/identity.ts';
import { codeOf } from '../../../util/errors.ts';
import { parseStat } from '../procfs/stat.ts';

/** Not the shim of a version manager: a shell in between would be the child. */
export const PYTHON = existsSync('/usr/bin/python3') ? '/usr/bin/python3' : 'python3';

export interface TestProcess {
  readonly pid: number;
  readonly child: ChildProcess;
  /** The next line it prints. */
  line(): Promise<string>;
  /** Writes a line to its standard input. */
  tell(text: string): void;
}

export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'rollcall-test-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Starts a program that lives until the test is over. */
export function start(program: string, args: readonly string[], options: SpawnOptions = {}): TestProcess {
  const child = spawn(program, [...args], { ...options, stdio: ['pipe', 'pipe', 'inherit'] });
  onTestFinished(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, 'exit');
    child.kill('SIGKILL'); // a child of ours that is not collected yet: the number cannot be another's
    await exited;
  });
  const lines = linesOf(child);
  if (child.pid === undefined) throw new Error(`${program} did not start`);
  return {
    pid: child.pid,
    child,
    line: async () => {
      const next = await lines.next();
      if (next.done === true) throw new Error(`${program} ended without another line`);
      return next.value;
    },
    tell: (text) => void child.stdin?.write(`${text}\n`),
  };
}

function linesOf(child: ChildProcess): AsyncIterator<string> {
  if (child.stdout === null) throw new Error('no standard output');
  const reader: Interface = createInterface({ input: child.stdout });
  return reader[Symbol.asyncIterator]();
}

/** Starts a Python program; it should print a line once it is ready. */
export function python(code: string, args: readonly string[] = [], options: SpawnOptions = {}): TestProcess {
  return start(PYTHON, ['-c', code, ...args], options);
}

/** Ends an orphan that the test made, if the number still means it. */
export function endOrphanAfterTest(pid: number): void {
  const ticks = startTicks(pid);
  onTestFinished(() => {
    if (ticks === null || startTicks(pid) !== ticks) return;
    try {
      process.kill(pid, 'SIGKILL');
    } catch (error) {
      // It may end by itself between the two.
      if (codeOf(error) !== 'ESRCH') throw error;
    }
  });
}

export function startTicks(pid: number): string | null {
  try {
    return parseStat(readFileSync(`/proc/${pid}/stat`))?.startTicks ?? null;
  } catch {
    return null; // not there
  }
}

/** Whether a process runs this program by now, with its arguments: the kernel sets its name before them. */
export function runs(pid: number, program: string): boolean {
  const [first = ''] = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
  return first.split('/').at(-1) === program;
}

/** Waits until whatever starts now starts in a later tick of the kernel's clock than this process did. */
export async function anotherTick({ identity }: ProcessRef): Promise<void> {
  const ticks = Number(identity.startTime.split(':')[1]);
  // In hundredths of a second, as the ticks are.
  const now = () => Number(readFileSync('/proc/uptime', 'latin1').split(' ')[0]) * 100;
  await until('the next tick has come', () => now() > ticks + 2);
}

/** Alive in the sense of the kernel's table: there and no zombie. */
export function isAlive(pid: number): boolean {
  try {
    const state = parseStat(readFileSync(`/proc/${pid}/stat`))?.state;
    return state !== undefined && state !== 'Z' && state !== 'X';
  } catch {
    return false; // not there
  }
}

/** Waits until something holds; fails after `timeoutMs`. */
export async function until(what: string, holds: () => boolean | Promise<boolean>, timeoutMs = 60_000): Promise<void> {
  const end = performance.now() + timeoutMs;
  while (!(await holds())) {
    if (performance.now() > end) throw new Error(`${what} did not come true within ${timeoutMs} ms`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** Python that starts a program with exactly the PID it is told; needs CAP_CHECKPOINT_RESTORE. See clone(2), set_tid. */
export const SPAWN_AT = `
import ctypes, os, signal, struct
def spawn_at(pid, argv):
    tid = (ctypes.c_int * 1)(pid)
    args = struct.pack('<11Q', 0, 0, 0, 0, signal.SIGCHLD, 0, 0, 0, ctypes.addressof(tid), 1, 0)
    buffer = ctypes.create_string_buffer(args)
    libc = ctypes.CDLL(None, use_errno=True)
    made = libc.syscall(ctypes.c_long(435), buffer, ctypes.c_size_t(88))
    if made == -1:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    if made == 0:
        os.setsid()
        null = os.open('/dev/null', os.O_RDWR)
        for fd in (0, 1, 2): os.dup2(null, fd)
        os.execvp(argv[0], argv)
    return made
`;
