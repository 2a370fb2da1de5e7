import { spawn as spawnChild } from 'node:child_process';
import { closeSync, constants, mkdirSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import type { ProcessRef } from '../../identity/identity.ts';
import { codeOf, messageOf } from '../../util/errors.ts';
import type { Libc } from '../../util/libc.ts';
import { signalChild } from '../../util/own-child.ts';
import { type ExitStatus, type Spawned, SpawnFailed, type SpawnRequest } from '../host.ts';

function failure(request: SpawnRequest, error: unknown): SpawnFailed {
  const code = codeOf(error);
  const what = code === 'ENOENT' ? 'it or its folder does not exist' : messageOf(error);
  return new SpawnFailed(
    request.argv[0],
    code,
    `${request.argv[0]} could not be started in ${request.cwd}: ${what}. Check the program's path and the folder.`,
  );
}

/** Opens the log so that each write goes to its end, whoever else writes to it; nobody else may read it. */
function openLog(path: string): number {
  try {
    // One level only: Node 20 never returns from a recursive mkdir where a file system answers ENOENT below an
    // existing folder, as procfs does.
    mkdirSync(dirname(path), { mode: 0o700 });
  } catch (error) {
    // There already, or the open says what is wrong with it.
    if (!(error instanceof Error && 'code' in error)) throw error;
  }
  const { O_APPEND, O_CREAT, O_WRONLY, O_NOFOLLOW } = constants;
  return openSync(path, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW, 0o600);
}

/**
 * Starts a process that outlives us: a session of its own (setsid), no standard input, both streams appended to the
 * log, none of our other descriptors, exactly the given environment. It is collected when it exits while we live.
 *
 * @param capture reads the child's identity; called before control returns to the event loop, which is what collects
 *   a dead child, so the number cannot mean another process by then
 * Throws `SpawnFailed`.
 */
export async function spawnDetached(
  request: SpawnRequest,
  libc: Libc | null,
  capture: (pid: number) => ProcessRef | null | Promise<ProcessRef | null>,
): Promise<Spawned> {
  const [program, ...args] = request.argv;
  let log: number;
  try {
    log = openLog(request.logPath);
  } catch (error) {
    throw new SpawnFailed(
      program,
      null,
      `The log ${request.logPath} could not be opened: ${messageOf(error)}. Nothing was started.`,
    );
  }
  try {
    // Chromium and whoever started us may have left descriptors open that would live on in the child.
    libc?.closeAllOnExec();
    const child = spawnChild(program, args, {
      cwd: request.cwd,
      env: { ...request.env },
      detached: true,
      stdio: ['ignore', log, log],
    });
    const exit = new Promise<ExitStatus>((resolve) => {
      child.once('exit', (code, signal) => resolve({ code, signal }));
    });
    const { pid } = child;
    if (pid === undefined) {
      const error = await new Promise<unknown>((resolve) => child.once('error', resolve));
      throw failure(request, error);
    }
    child.on('error', () => undefined); // sending and killing are never done through this object, so nothing is lost
    const ref = await capture(pid);
    if (ref === null) {
      // Without an identity nobody could ever end it. It is our own child and not collected yet: the number is its own.
      signalChild(child, 'SIGKILL');
      await exit;
      throw new SpawnFailed(
        program,
        null,
        `${program} was started, but could not be identified, and was ended again. Look at ${request.logPath}.`,
      );
    }
    child.unref();
    return { ref, exit };
  } catch (error) {
    throw error instanceof SpawnFailed ? error : failure(request, error);
  } finally {
    closeSync(log);
  }
}
