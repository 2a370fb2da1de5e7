/** One start at a time on a remote machine and account, however many clients ask. */
import { setTimeout as delay } from 'node:timers/promises';
import { StartHeld } from '../../host.ts';
import lockScript from '../remote/lock.sh';
import type { RemoteShell } from './shell.ts';

/** Seconds after which a lock is nobody's: no start takes longer. */
const STALE_S = 120;
/** Wait of one script, in milliseconds, and of all of them: longer than a dead holder's lock lasts. */
const PATIENCE_MS = 5000;
const LONGEST_MS = (STALE_S + 15) * 1000;
const SLACK_MS = 10_000;

export interface LockTimes {
  readonly staleSeconds?: number;
  readonly longestMs?: number;
}

/**
 * Takes the lock; resolves with its release, which never rejects.
 *
 * @throws StartHeld
 */
export async function takeStartLock(
  shell: RemoteShell,
  path: string,
  nonce: string,
  { staleSeconds = STALE_S, longestMs = LONGEST_MS }: LockTimes = {},
): Promise<() => Promise<void>> {
  const until = performance.now() + longestMs;
  const parameters = { lock: path, nonce, stale: staleSeconds };
  for (;;) {
    const patience = Math.max(0, Math.min(PATIENCE_MS, until - performance.now()));
    const answer = await shell.run(
      lockScript,
      { ...parameters, what: 'take', patience: Math.ceil(patience / 10) },
      patience + SLACK_MS,
    );
    if (answer.has('taken')) break;
    // It cannot be made there at all: a file system without room or locks must not keep anybody from starting.
    if (answer.has('without')) return async () => undefined;
    if (performance.now() >= until) throw new StartHeld(shell.host);
    await delay(100);
  }
  return async () => {
    try {
      await shell.run(lockScript, { ...parameters, what: 'release', patience: 0 }, SLACK_MS);
    } catch {
      // It goes stale by itself.
    }
  };
}
