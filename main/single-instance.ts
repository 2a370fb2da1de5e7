/**
 * One app per state folder, settled by the writer's lock before any record is touched.
 *
 * Electron's own single-instance lock is not used. On Linux it is a symbolic link `host-PID` that survives SIGKILL: a
 * reused PID or a changed host name makes every launch end silently, and Chromium SIGKILLs the PID in it when that
 * does not answer for 20 s (process_singleton_posix.cc), which may be a stranger. The kernel releases ours.
 */
import { ControlAbsent, connectControl } from '../app/control/client.ts';
import { acquireWriter, holderLabel, WriterHeld, type WriterLock } from '../app/control/writer-lock.ts';

/** How long a CLI command, the guard, or an app that is just ending may keep the lock before we give up. */
const PATIENCE_MS = 15_000;
const RETRY_MS = 200;
const SHOW_LIMIT_MS = 5_000;

export type Claim =
  | { readonly first: true; readonly lock: WriterLock }
  /** What to print, and the exit code: 0 when the first one's window was shown. */
  | { readonly first: false; readonly exitCode: 0 | 1; readonly message: string };

export interface ClaimRequest {
  readonly writerLock: string;
  readonly controlSocket: string;
  readonly runtimeDir: string;
  readonly version: string;
  readonly patienceMs?: number;
}

/**
 * Takes the writer's lock for the app, or shows the window of the app that has it.
 *
 * @throws WriterUnavailable when the state folder cannot be locked at all
 */
export async function claimWriter(request: ClaimRequest): Promise<Claim> {
  const until = Date.now() + (request.patienceMs ?? PATIENCE_MS);
  for (;;) {
    const held = await tryLock(request);
    if (!(held instanceof WriterHeld)) return { first: true, lock: held };
    if (held.holder === 'app' || held.holder === null) {
      const shown = await showFirst(request);
      if (shown !== null)
        return { first: false, exitCode: 0, message: `Rollcall already runs, PID ${shown}. Its window is shown.` };
    }
    if (Date.now() >= until) return { first: false, exitCode: 1, message: refusal(held) };
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
async function showFirst(request: ClaimRequest): Promise<number | null> {
  try {
    const client = await connectControl(request.controlSocket, SHOW_LIMIT_MS, { version: request.version });
    try {
      await client.show(null);
      return client.app.pid;
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
