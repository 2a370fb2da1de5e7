/** Real processes for tests: started here, and ended by PID, whatever happens. */
import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

/** True while a process has the PID and has not exited. */
export function isAlive(pid: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    return !/^[ZX]/u.test(stat.slice(stat.lastIndexOf(')') + 2));
  } catch {
    // No such process.
    return false;
  }
}

/** Start of a process in ticks, so that a cleanup never ends somebody else. */
function ticks(pid: number): string | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? null;
  } catch {
    // No such process.
    return null;
  }
}

/** PIDs of living processes that work in a folder or below it: everything a test's servers have started there. */
export function livingIn(folder: string): number[] {
  return readdirSync('/proc').flatMap((name) => {
    const pid = Number(name);
    if (!Number.isInteger(pid) || pid === process.pid) return [];
    try {
      const cwd = readlinkSync(`/proc/${pid}/cwd`);
      return (cwd === folder || cwd.startsWith(`${folder}/`)) && isAlive(pid) ? [pid] : [];
    } catch {
      // It ended while it was read.
      return [];
    }
  });
}

/** PIDs of living processes that run one of these programs. */
export function livingOf(programs: readonly string[]): number[] {
  return readdirSync('/proc').flatMap((name) => {
    const pid = Number(name);
    if (!Number.isInteger(pid)) return [];
    try {
      return programs.includes(readlinkSync(`/proc/${pid}/exe`)) && isAlive(pid) ? [pid] : [];
    } catch {
      // Another's, or gone meanwhile.
      return [];
    }
  });
}

export async function waitUntil(what: string, test: () => boolean, timeoutMs = 60_000): Promise<void> {
  const until = performance.now() + timeoutMs;
  while (!test()) {
    if (performance.now() > until) throw new Error(`not within ${timeoutMs} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
}

/** Everything one test starts. */
export class Started {
  readonly #seen = new Map<number, string>();

  /** Notes a process, to be ended with the test if it still is the same. */
  note(pid: number): number {
    const start = ticks(pid);
    if (start !== null) this.#seen.set(pid, start);
    return pid;
  }

  has(pid: number): boolean {
    return this.#seen.has(pid);
  }

  spawn(command: string, args: readonly string[], options: SpawnOptions = {}): ChildProcess & { readonly pid: number } {
    const child = spawn(command, args, { stdio: 'ignore', ...options });
    const { pid } = child;
    // Told by the missing PID; without a listener the event would end the test run.
    child.once('error', () => undefined);
    if (pid === undefined) throw new Error(`${command} could not be started`);
    this.note(pid);
    return Object.assign(child, { pid });
  }

  /** First line a child prints, as a PID that is noted. */
  async pidFrom(child: ChildProcess): Promise<number> {
    if (child.stdout === null) throw new Error('the child has no stdout');
    let text = '';
    for await (const chunk of child.stdout) {
      text += String(chunk);
      if (text.includes('\n')) break;
    }
    return this.note(Number(text.trim()));
  }

  /** Ends one now. */
  async kill(pid: number): Promise<void> {
    if (this.#seen.get(pid) === ticks(pid)) process.kill(pid, 'SIGKILL');
    await waitUntil(`PID ${pid} is gone`, () => !isAlive(pid));
  }

  async endAll(): Promise<void> {
    for (const [pid, start] of this.#seen) {
      if (ticks(pid) === start && isAlive(pid)) process.kill(pid, 'SIGKILL');
    }
    for (const pid of this.#seen.keys())
      await waitUntil(`PID ${pid} is gone`, () => !isAlive(pid) || ticks(pid) !== this.#seen.get(pid));
  }
}

export async function exitOf(child: ChildProcess): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
}
