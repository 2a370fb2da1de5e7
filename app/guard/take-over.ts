/**
 * The guard after the app has gone: the one writer, a supervisor without a face. It waits for a successor, ends what
 * nobody owns any more, and goes when nothing needs it.
 */

import { openLocalCore } from '../core/local-core.ts';
import { messageOf } from '../util/errors.ts';
import type { WriterLock } from '../writer/writer-lock.ts';
import { claimAfter } from './claim.ts';
import { endSsh } from './end-ssh.ts';
import { GRACE_MS, GRACE_VARIABLE } from './grace.ts';
import { Headless } from './headless.ts';
import { say } from './log.ts';
import { openIdempotencyStore } from './open-idempotency-store.ts';
import { latestRun } from './run-file.ts';
import type { Kept } from './watcher.ts';

/** A state folder that cannot be used now (a full disk) may be usable again. */
const AGAIN_MS = 10_000;
const ATTEMPTS = 30;

export interface TakeOver extends Kept {
  /** Which run of the app was said to be the latest when this one said hello. */
  readonly latestRun: string | null;
  /** Fires when somebody asks this process to go. */
  readonly signal: AbortSignal;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** Resolves when this process is not needed any more; never rejects for what only time can mend. */
export async function takeOver(work: TakeOver): Promise<void> {
  if (work.farewell === null) say('app-crashed');
  else say('farewell', work.farewell);
  // Also where another app is in charge already: that one has connections of its own.
  await endSsh(work.ssh, work.hello.paths);
  for (let attempt = 1; ; attempt += 1) {
    const lock = await claim(work);
    if (lock === null) return;
    try {
      return await supervise(work, lock);
    } catch (error) {
      await lock.release();
      say('take-over-failed', messageOf(error));
      if (attempt === ATTEMPTS || work.signal.aborted) throw error;
    }
    await new Promise((done) => setTimeout(done, AGAIN_MS));
  }
}

async function claim({ hello, farewell, signal, latestRun: before }: TakeOver): Promise<WriterLock | null> {
  const { paths, version, pid } = hello;
  const lock = await claimAfter({ paths, version, appPid: pid, goodbye: farewell !== null, signal });
  if (typeof lock === 'string') {
    say('nothing-to-do', lock);
    return null;
  }
  if (lock.warning !== null) say('lock', lock.warning);
  const latest = latestRun(paths);
  if (latest === null || latest === hello.runId || latest === before) return lock;
  say('nothing-to-do', 'another app has been in charge since');
  await lock.release();
  return null;
}

async function supervise(work: TakeOver, lock: WriterLock): Promise<void> {
  const { hello, servers } = work;
  const mission = work.farewell === 'watch-owners' ? 'watch-owners' : 'end-servers';
  const once = await openIdempotencyStore(hello.paths);
  try {
    const outcome = await once.run(`${mission} ${hello.runId}`, async () => {
      const core = await openLocalCore({
        paths: hello.paths,
        lock,
        mode: 'guard',
        handed: servers.map(({ record }) => record),
      });
      const headless = new Headless({
        core,
        paths: hello.paths,
        version: hello.version,
        mission,
        graceMs: work.farewell === null ? graceOf(work.env) : 0,
        signal: work.signal,
      });
      say('in-charge');
      try {
        say('finished', await headless.run());
      } catch (error) {
        // A core that is left open would look and end what has lost its owner, without the lock.
        await core.close(false, 0);
        throw error;
      }
    });
    if (outcome !== 'done') say('nothing-to-do', outcome === 'was-done' ? 'it was done before' : 'another is at it');
  } finally {
    await once.close();
    await lock.release();
  }
}

function graceOf(env: TakeOver['env']): number {
  const asked = Number(env[GRACE_VARIABLE] ?? Number.NaN);
  return Number.isFinite(asked) && asked >= 0 ? asked : GRACE_MS;
}
