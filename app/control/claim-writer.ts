/**
 * One app per state folder, settled by the writer's lock before any record is touched.
 *
 * Electron's own single-instance lock is not used. On Linux it is a symbolic link `host-PID` that survives SIGKILL: a
 * reused PID or a changed host name makes every launch end silently, and Chromium SIGKILLs the PID in it when that
 * does not answer for 20 s (process_singleton_posix.cc), which may be a stranger. The kernel releases ours.
 */

import { acquireWriter, holderLabel, socketOfHolder, WriterHeld, type WriterLock } from '../writer/writer-lock.ts';
import { ControlAbsent, type ControlClient, connectControl } from './client.ts';

/** How long the guard, or an app that is just ending, may keep the lock before we give up; milliseconds. */
const PATIENCE_MS = 15_000;
/** A command may be starting a server, which takes as long as that does. */
const COMMAND_PATIENCE_MS = 90_000;
/** Shorter than a command waits between two attempts, so that a row of commands does not keep an app from starting. */
const RETRY_MS = 50;
const SHOW_LIMIT_MS = 5_000;
/** What a guard has under way may take this long to be finished. */
const YIELD_LIMIT_MS = 10_000;
/** A guard that did not yield is asked again after this long. */
const YIELD_AGAIN_MS = 1_000;
const SHOW_AGAIN_MS = 200;

export type Claim =
  | { readonly first: true; readonly lock: WriterLock }
  /** What to print, and the exit code: 0 when the first one's window was shown. */
  | { readonly first: false; readonly exitCode: 0 | 1; readonly message: string };

export interface ClaimRequest {
  readonly writerLock: string;
  readonly controlSocket: string;
  readonly runtimeDir: string;
  readonly version: string;
  /** How long to wait for another app or the guard, in milliseconds. */
  readonly patienceMs?: number;
  /** How long to wait for a command, in milliseconds. */
  readonly commandPatienceMs?: number;
}

/**
 * Takes the writer's lock for the app, or shows the window of the app that has it. A guard is asked to let go; a
 * command is waited for.
 *
 * @throws WriterUnavailable when the state folder cannot be locked at all
 */
export async function claimWriter(request: ClaimRequest): Promise<Claim> {
  const since = performance.now();
  const patience = request.patienceMs ?? PATIENCE_MS;
  let askAgainAt = 0;
  let said = false;
  for (;;) {
    const held = await tryLock(request);
    if (!(held instanceof WriterHeld)) return { first: true, lock: held };
    const now = performance.now();
    if (held.holder === 'guard') {
      if (now >= askAgainAt && (await askGuard(request))) continue;
      askAgainAt = performance.now() + YIELD_AGAIN_MS;
    } else if (held.holder !== 'cli' && now >= askAgainAt) {
      const shown = await showFirst(request);
      if (shown !== null)
        return { first: false, exitCode: 0, message: `Rollcall already runs, PID ${shown}. Its window is shown.` };
      askAgainAt = performance.now() + SHOW_AGAIN_MS;
    }
    if (held.holder === 'cli' && !said) {
      said = true;
      const who = `${holderLabel(held.holder)}${held.pid === null ? '' : `, PID ${held.pid},`}`;
      console.error(`rollcall: ${who} is at work. Rollcall starts when it has finished.`);
    }
    const limit =
      held.holder === 'cli' ? Math.max(patience, request.commandPatienceMs ?? COMMAND_PATIENCE_MS) : patience;
    if (performance.now() - since >= limit) return { first: false, exitCode: 1, message: refusal(held) };
    await new Promise((done) => setTimeout(done, RETRY_MS));
  }
}

async function tryLock(request: ClaimRequest): Promise<WriterLock | WriterHeld> {
  try {
    return await acquireWriter(request.writerLock, {
      holder: 'app',
      version: request.version,
      fallbackFolder: request.runtimeDir,
      socketPath: request.controlSocket,
    });
  } catch (error) {
    if (error instanceof WriterHeld) return error;
    throw error;
  }
}

/** PID of the app whose window was shown; null when it does not answer (yet, or any more). */
function showFirst(request: ClaimRequest): Promise<number | null> {
  return ask(request, async (client) => {
    await client.show(null);
    return client.app.pid;
  });
}

/** True when the guard has let go of the lock. */
async function askGuard(request: ClaimRequest): Promise<boolean> {
  const yielded = await ask(request, async (client) => {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<null>((done) => {
      timer = setTimeout(() => done(null), YIELD_LIMIT_MS);
    });
    try {
      return await Promise.race([client.yield().then(() => true as const), late]);
    } finally {
      clearTimeout(timer);
    }
  });
  return yielded === true;
}

/** Asks the holder where the lock says that it listens: its runtime folder need not be the one of this launch. */
async function ask<T>(request: ClaimRequest, what: (client: ControlClient) => Promise<T>): Promise<T | null> {
  const socket = socketOfHolder(request.writerLock) ?? request.controlSocket;
  try {
    const client = await connectControl(socket, SHOW_LIMIT_MS, { version: request.version });
    try {
      return await what(client);
    } finally {
      client.close();
    }
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    // Still starting, just ending, or hung: the caller tries again until its patience ends, then says so.
    if (!(error instanceof ControlAbsent)) console.error(`rollcall: ${error.message}`);
    return null;
  }
}

function refusal(held: WriterHeld): string {
  const who = `${holderLabel(held.holder)}${held.pid === null ? '' : `, PID ${held.pid},`}`;
  const where = held.since === null ? '' : ` since ${held.since}`;
  return (
    `Rollcall was not started: ${who} is in charge of these servers${where} and does not answer. ` +
    `Wait until it has finished, or end ${held.pid === null ? 'that process' : `PID ${held.pid}`}, then start Rollcall again.`
  );
}
