/** Real processes for tests: starting, finding by a mark in their environment, counting, ending. Linux only. */
import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

/** Every process started for a test carries this variable, and so do all of its descendants. */
export const MARK = 'ROLLCALL_E2E_MARK';

export const newMark = (): string => randomBytes(8).toString('hex');

/** Calls `check` until it neither throws nor returns undefined, for at most `timeoutMs`; then throws its last error. */
export async function eventually<T>(check: () => T | Promise<T>, timeoutMs = 60_000, everyMs = 50): Promise<T> {
  const until = Date.now() + timeoutMs;
  for (;;) {
    try {
      return await check();
    } catch (error) {
      if (Date.now() >= until) throw error;
    }
    await new Promise((done) => setTimeout(done, everyMs));
  }
}

/** A process as `/proc` shows it. */
export interface Seen {
  readonly pid: number;
  readonly ppid: number;
  /** One letter: R S D T Z. */
  readonly state: string;
  /** Field 22 of stat: with the PID it tells a process from a later one. */
  readonly startTicks: string;
  readonly argv: readonly string[];
}

/** Reads one process; null when it is gone. */
export function seen(pid: number): Seen | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    const rest = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const argv = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').slice(0, -1);
    return { pid, state: rest[0] ?? '', ppid: Number(rest[1]), startTicks: rest[19] ?? '', argv };
  } catch {
    // It ended while it was read.
    return null;
  }
}

/** Whether this very process still runs (a zombie does not). */
export function lives(one: Pick<Seen, 'pid' | 'startTicks'>): boolean {
  const now = seen(one.pid);
  return now !== null && now.startTicks === one.startTicks && now.state !== 'Z' && now.state !== 'X';
}

/** Every live process whose environment carries the mark. */
export function marked(mark: string): Seen[] {
  const wanted = `${MARK}=${mark}`;
  return readdirSync('/proc')
    .filter((name) => /^\d+$/u.test(name))
    .flatMap((name) => {
      try {
        if (!readFileSync(`/proc/${name}/environ`, 'latin1').split('\0').includes(wanted)) return [];
      } catch {
        // Gone, a zombie, or another user's.
        return [];
      }
      const one = seen(Number(name));
      return one === null || one.state === 'Z' ? [] : [one];
    });
}

/** Ends everything that carries the mark, each by the identity just read. For the end of a test only. */
export async function endMarked(mark: string): Promise<void> {
  await eventually(() => {
    const left = marked(mark);
    for (const one of left) {
      if (!lives(one)) continue;
      try {
        process.kill(one.pid, 'SIGKILL');
      } catch {
        // It ended between the look and the signal.
      }
    }
    if (left.length > 0)
      throw new Error(`still there: ${left.map((one) => `${one.pid} ${one.argv.join(' ')}`).join('; ')}`);
  });
}

/** Starts a process with the mark. Its output is kept for the test's messages. */
export function startMarked(
  mark: string,
  argv: readonly [string, ...string[]],
  options: SpawnOptions = {},
): { readonly child: ChildProcess; readonly output: () => string } {
  const [program, ...args] = argv;
  let output = '';
  const child = spawn(program, args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    ...options,
    env: { ...process.env, ...options.env, [MARK]: mark },
  });
  const keep = (chunk: Buffer): void => {
    output = (output + chunk.toString('utf8')).slice(-20_000);
  };
  child.stdout?.on('data', keep);
  child.stderr?.on('data', keep);
  return { child, output: () => output };
}

/** Resolves with how the child ended. */
export function ended(child: ChildProcess): Promise<{ readonly code: number | null; readonly signal: string | null }> {
  if (child.exitCode !== null || child.signalCode !== null) {
    return Promise.resolve({ code: child.exitCode, signal: child.signalCode });
  }
  return new Promise((done) => child.once('exit', (code, signal) => done({ code, signal })));
}

/** A process that has nothing to do with any of this and must outlive every test. */
export function startStranger(mark: string): Seen {
  const { child } = startMarked(mark, ['sleep', '600'], { stdio: 'ignore' });
  const stranger = child.pid === undefined ? null : seen(child.pid);
  if (stranger === null) throw new Error('the stranger did not start');
  return stranger;
}

/** TCP ports on which a process listens (IPv4 and IPv6). */
export function listeningPorts(pid: number): number[] {
  const inodes = new Set(
    readdirSync(`/proc/${pid}/fd`).flatMap((fd) => {
      try {
        return /^socket:\[(?<inode>\d+)\]$/u.exec(readlinkSync(`/proc/${pid}/fd/${fd}`))?.groups?.['inode'] ?? [];
      } catch {
        // A descriptor that closed meanwhile.
        return [];
      }
    }),
  );
  const ports = ['tcp', 'tcp6'].flatMap((table) =>
    readFileSync(`/proc/${pid}/net/${table}`, 'latin1')
      .split('\n')
      .slice(1)
      .flatMap((line) => {
        const fields = line.trim().split(/\s+/u);
        const port = Number.parseInt(fields[1]?.split(':')[1] ?? '', 16);
        return fields[3] === '0A' && inodes.has(fields[9] ?? '') ? [port] : [];
      }),
  );
  return [...new Set(ports)];
}
