import { spawn } from 'node:child_process';
import { signalChildGroup } from '../../../util/own-child.ts';

export interface Ran {
  readonly stdout: string;
  readonly stderr: string;
  /** Null when a signal ended it. */
  readonly code: number | null;
}

/** A helper program did not end in time, or could not be started. */
export class RunFailed extends Error {
  override readonly name = 'RunFailed';
  readonly reason: 'deadline' | 'not-started' | 'too-much-output';
  /** What it had said until then. */
  readonly stderr: string;
  constructor(reason: RunFailed['reason'], message: string, stderr: string) {
    super(message);
    this.reason = reason;
    this.stderr = stderr;
  }
}

const MAX_OUTPUT = 1_000_000;
/** A grandchild may hold the streams open after the program itself has ended. */
const AFTER_EXIT_MS = 200;

/**
 * Runs a program in a session of its own, without input, and ends its whole process group when the deadline passes: what
 * it started (`Match exec`) must not stay.
 *
 * @throws RunFailed
 */
export function runBounded(
  program: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  deadlineMs: number,
): Promise<Ran> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, [...args], { env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
    let stdout = '';
    let stderr = '';
    let problem: RunFailed | null = null;
    const give = (reason: RunFailed['reason'], message: string): void => {
      problem ??= new RunFailed(reason, message, stderr);
      signalChildGroup(child, 'SIGKILL');
    };
    const timer = setTimeout(() => give('deadline', `${program} took longer than ${deadlineMs} ms`), deadlineMs);
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      stdout += text;
      if (stdout.length > MAX_OUTPUT) give('too-much-output', `${program} said more than ${MAX_OUTPUT} characters`);
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr = (stderr + text).slice(-16_384);
    });
    let settled = false;
    const settle = (code: number | null): void => {
      if (settled) return;
      settled = true;
      clearTimeout(timer);
      child.stdout.destroy();
      child.stderr.destroy();
      if (problem === null) resolve({ stdout, stderr, code });
      else reject(problem);
    };
    child.once('error', (error) => {
      problem ??= new RunFailed('not-started', error.message, stderr);
      if (child.pid === undefined) settle(null);
    });
    child.once('close', (code) => settle(code));
    child.once('exit', (code) => {
      // A thread that was busy has timers run before what it has not read yet: one round of reading comes in between.
      setTimeout(() => setImmediate(() => settle(code)), AFTER_EXIT_MS);
    });
  });
}
