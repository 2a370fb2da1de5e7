/** One start at a time on a remote machine and account, however many clients ask. */
import { setTimeout as delay } from 'node:timers/promises';
import { StartHeld } from '../../host.ts';
import lockScript from '../remote/lock.sh';
import type { RemoteShell, ScriptAnswer } from './shell.ts';

/** Seconds after which a lock is nobody's: no start takes longer. */
const STALE_S = 120;
/** Wait of one script, in milliseconds, and of all of them: longer than a dead holder's lock lasts. */
const PATIENCE_MS = 5000;
const MAX_MS = (STALE_S + 15) * 1000;
const SLACK_MS = 10_000;

export interface LockTimes {
  readonly staleSeconds?: number;
  readonly longestMs?: number;
}

/** Nonces of starts of this process that are over and may hold a lock still, by its path: the link was lost meanwhile. */
const unreleased = new Map<string, Set<string>>();

function mayHold(path: string, nonce: string): void {
  const nonces = unreleased.get(path) ?? new Set();
  unreleased.set(path, nonces.add(nonce));
}

/**
 * Takes the lock; resolves with its release, which never rejects.
 *
 * @throws StartHeld, SshFailed when the link is lost, and the reason of `abort` once that fires
 */
export async function takeStartLock(
  shell: RemoteShell,
  path: string,
  nonce: string,
  { staleSeconds = STALE_S, longestMs = MAX_MS }: LockTimes = {},
  abort: AbortSignal | null = null,
): Promise<() => Promise<void>> {
  const until = performance.now() + longestMs;
  const parameters = { lock: path, nonce, stale: staleSeconds };
  const release = async (): Promise<void> => {
    try {
      await shell.run(lockScript, { ...parameters, mine: '', what: 'release', patience: 0 }, SLACK_MS);
    } catch {
      mayHold(path, nonce);
    }
  };
  const ask = async (): Promise<ScriptAnswer> => {
    const patience = Math.max(0, Math.min(PATIENCE_MS, until - performance.now()));
    const mine = [...(unreleased.get(path) ?? [])];
    try {
      const more = { mine: mine.join(' '), what: 'take', patience: Math.ceil(patience / 10) };
      const answer = await shell.run(lockScript, { ...parameters, ...more }, patience + SLACK_MS);
      // Whoever has it now, none of these has.
      if (answer.has('taken')) for (const each of mine) unreleased.get(path)?.delete(each);
      return answer;
    } catch (error) {
      mayHold(path, nonce);
      throw error;
    }
  };
  const returned = new AbortController();
  const stopped = new Promise<null>((resolve) => {
    abort?.addEventListener('abort', () => resolve(null), { once: true, signal: returned.signal });
  });
  try {
    for (;;) {
      abort?.throwIfAborted();
      const asked = ask();
      const answer = await Promise.race([asked, stopped]);
      if (answer === null) {
        // That script goes on to its end, and what it gets is given back.
        void asked.then((late) => (late.has('taken') ? release() : undefined)).catch(() => undefined);
        throw abort?.reason;
      }
      if (answer.has('taken')) return release;
      // It cannot be made there at all: a file system without room or locks must not keep anybody from starting.
      if (answer.has('without')) return async () => undefined;
      if (performance.now() >= until) throw new StartHeld(shell.host);
      await delay(100);
    }
  } finally {
    returned.abort();
  }
}
