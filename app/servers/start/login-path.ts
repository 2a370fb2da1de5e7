import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { isAbsolute } from 'node:path';
import { isRunning, signalChild, signalChildGroup } from '../../util/own-child.ts';
import { stemOf } from '../recognition/argv.ts';

type Env = Readonly<Record<string, string | undefined>>;

/** How long a login shell may take to say its PATH, in milliseconds. */
export const LOGIN_SHELL_MS = 3000;
/** How long one that was hung up on may take to go, in milliseconds. */
const HANG_UP_MS = 1000;
/** How long an answer stays good, in milliseconds: PATH changes when something is installed. */
const KEEP_MS = 60_000;
/** What profiles may print before and after; beyond it the marker is not looked for. */
const OUTPUT_MAX = 256_000;

/** Shells that take `-l -i -c` and print a quoted `$PATH` with colons. Others are not asked. */
const ASKABLE: ReadonlySet<string> = new Set(['bash', 'zsh', 'sh', 'dash', 'ksh', 'mksh', 'fish']);

/** Shells that still run, as the way to end each; an answer does not end a profile that goes on working. */
const running = new Set<() => Promise<void>>();

/** Ends every login shell that is still running, with what its profile has started. For the end of a process. */
export async function endLoginShells(): Promise<void> {
  await Promise.all([...running].map((end) => end()));
}

/** `at` is on the monotonic clock: a step of the wall clock makes no answer older or younger. */
const answers = new Map<string, { readonly at: number; readonly path: Promise<string | null> }>();

/**
 * PATH as the person's login shell sets it; null where there is no shell that can be asked, or no answer within 3 s.
 * The shell runs the person's own profile and one `printf`, nothing else. Never throws.
 */
export function loginPath(env: Env): Promise<string | null> {
  const shell = env['SHELL'];
  if (process.platform === 'win32' || shell === undefined || !isAbsolute(shell) || !ASKABLE.has(stemOf(shell))) {
    return Promise.resolve(null);
  }
  const key = [shell, env['HOME'] ?? '', env['PATH'] ?? ''].join('\0');
  const known = answers.get(key);
  if (known !== undefined && performance.now() - known.at < KEEP_MS) return known.path;
  const path = askShell(shell, env);
  answers.set(key, { at: performance.now(), path });
  return path;
}

/** coreutils; not there on every system. Told to hang up it tells its whole group, once. */
const LIMITER = '/usr/bin/timeout';

/** A profile that hangs must not outlive us for long where we are killed before we can end it. */
function limited(words: readonly string[]): readonly string[] {
  const seconds = (ms: number): string => String(Math.ceil(ms / 1000));
  return [LIMITER, '--signal=HUP', `--kill-after=${seconds(HANG_UP_MS)}`, seconds(LOGIN_SHELL_MS + 1000), ...words];
}

/**
 * Ends a shell that is the leader of its group, with what its profile hangs in, as a terminal that is closed does: what
 * the profile holds is let go by its traps. Killed outright, pyenv for one leaves a lock behind that keeps every later
 * terminal of the person waiting for a minute.
 *
 * @param isLimited the leader is the limiter. A group told twice would be interrupted in its traps.
 */
function hangUp(child: ChildProcess, isLimited: boolean): void {
  if (!isRunning(child)) return;
  if (isLimited) signalChild(child, 'SIGHUP');
  else signalChildGroup(child, 'SIGHUP');
  const timer = setTimeout(() => signalChildGroup(child, 'SIGKILL'), HANG_UP_MS);
  child.once('exit', () => clearTimeout(timer));
}

function askShell(shell: string, env: Env): Promise<string | null> {
  const marker = `rollcall-${randomBytes(12).toString('hex')}`;
  const own: Record<string, string> = { ROLLCALL_RESOLVING_PATH: '1', DISABLE_AUTO_UPDATE: 'true' };
  for (const [name, value] of Object.entries(env)) if (value !== undefined) own[name] = value;
  return new Promise((resolve) => {
    // A session of its own: an interactive shell must not reach for our terminal.
    const words = [shell, '-l', '-i', '-c', `printf '%s%s%s' ${marker} "$PATH" ${marker}`];
    const isLimited = existsSync(LIMITER);
    const [program = shell, ...args] = isLimited ? limited(words) : words;
    const child = spawn(program, args, {
      env: { ...own, TERM: 'dumb' },
      stdio: ['ignore', 'pipe', 'ignore'],
      detached: true,
    });
    let output = '';
    const settle = (path: string | null): void => {
      resolve(path);
      child.stdout.removeAllListeners('data');
      child.stdout.destroy();
    };
    const timer = setTimeout(() => {
      settle(null);
      hangUp(child, isLimited);
    }, LOGIN_SHELL_MS);
    const over = new Promise<void>((done) => {
      for (const event of ['exit', 'error'] as const) child.once(event, () => done());
    });
    const end = async (): Promise<void> => {
      settle(null);
      hangUp(child, isLimited);
      await over;
    };
    running.add(end);
    void over.then(() => running.delete(end));
    child.on('error', () => {
      clearTimeout(timer);
      settle(null);
    });
    child.on('exit', () => {
      clearTimeout(timer);
      // What it printed may still be in the pipe.
      setTimeout(() => settle(null), 100).unref();
    });
    child.stdout.setEncoding('utf8');
    child.stdout.on('data', (text: string) => {
      output += text;
      const start = output.indexOf(marker);
      const end = start === -1 ? -1 : output.indexOf(marker, start + marker.length);
      if (end !== -1) settle(output.slice(start + marker.length, end));
      else if (output.length > OUTPUT_MAX) settle(null);
    });
    child.unref();
  });
}
