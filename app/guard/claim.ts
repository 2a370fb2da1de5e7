/** The writer's lock for a guard whose app has gone, and the question whether somebody is there already. */
import type { Paths } from '../config/paths.ts';
import { acquireWriter, WriterHeld, type WriterLock } from '../writer/writer-lock.ts';

/** How often the lock is tried, in milliseconds. */
const RETRY_MS = 100;
/** The kernel closes a dead process's files one after the other; a lock held longer is held by a living app. */
const RELEASED_BY_MS = 10_000;

export interface ClaimFor {
  readonly paths: Pick<Paths, 'writerLock' | 'runtimeDir' | 'controlSocket'>;
  readonly version: string;
  /** PID of the app that this guard watched. */
  readonly appPid: number;
  /** The app said that it was going, and may take its time. */
  readonly goodbye: boolean;
  readonly signal: AbortSignal;
}

/**
 * Takes the lock as soon as it is free. A command that holds it is waited for, and so is another guard: it may be
 * killed.
 *
 * @returns why there is nothing to do for this guard: an app is in charge, or it was asked to go
 * @throws WriterUnavailable when the state folder cannot be locked
 */
export async function claimAfter(request: ClaimFor): Promise<WriterLock | string> {
  const { paths, version, appPid } = request;
  const since = performance.now();
  for (;;) {
    try {
      return await acquireWriter(paths.writerLock, {
        holder: 'guard',
        version,
        fallbackFolder: paths.runtimeDir,
        socketPath: paths.controlSocket,
      });
    } catch (error) {
      if (!(error instanceof WriterHeld)) throw error;
      if (error.holder === 'app' && error.pid !== appPid) return `another app, PID ${error.pid}, is in charge`;
      const patient = request.goodbye || performance.now() - since < RELEASED_BY_MS;
      if (error.holder === 'app' && !patient) return 'the app lives and has another guard';
    }
    if (request.signal.aborted) return 'it was asked to go';
    await new Promise((done) => setTimeout(done, RETRY_MS));
  }
}
