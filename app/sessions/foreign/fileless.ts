import { isFinished } from '../../hosts/process-info.ts';
import type { ProcessIdentity } from '../../identity/identity.ts';
import type { ProcessReading } from './find-process.ts';
import type { ForeignSession } from './session.ts';

interface Missed {
  /** As it is listed. */
  session: ForeignSession;
  readonly identity: ProcessIdentity;
  /** When its file was first missed, in milliseconds on the monotonic clock. */
  readonly since: number;
  /** When it was found to have ended; null while that is not decided. */
  endedAt: number | null;
}

export interface FilelessTiming {
  /** How long its process may live on before it counts as having left the session, in milliseconds. */
  readonly graceMs: number;
  /** How long an ended one is listed, in milliseconds. */
  readonly showEndedMs: number;
}

/**
 * Sessions that were alive and whose file is no longer there, or tells of another session now. Their process decides: one
 * that ends takes its file away a moment before it goes, and one that goes on has gone over to another session.
 */
export class Fileless {
  readonly #missed = new Map<string, Missed>();

  /** Of some it is not decided yet whether they have ended. */
  get waiting(): boolean {
    return [...this.#missed.values()].some(({ endedAt }) => endedAt === null);
  }

  /**
   * @param before all sessions as they were listed
   * @param now those that a file tells of, by id
   * @returns those that are to be listed besides
   */
  async follow(
    before: readonly ForeignSession[],
    now: ReadonlyMap<string, ForeignSession>,
    look: (pid: number) => Promise<ProcessReading>,
    timing: FilelessTiming,
  ): Promise<ForeignSession[]> {
    const time = performance.now();
    for (const session of before) {
      const { id, identity } = session;
      if (identity === null || now.has(id) || this.#missed.has(id)) continue;
      const detail = 'its file is gone, and its process is not';
      this.#missed.set(id, { session: { ...session, state: 'unknown', detail }, identity, since: time, endedAt: null });
    }
    for (const [id, missed] of this.#missed) {
      const shown = missed.endedAt !== null && time - missed.endedAt > timing.showEndedMs;
      if (shown || now.has(id)) this.#missed.delete(id);
      else if (missed.endedAt === null) judge(missed, await look(missed.identity.pid), time, timing.graceMs);
    }
    return [...this.#missed.values()].map(({ session }) => session);
  }
}

function judge(missed: Missed, seen: ProcessReading, time: number, graceMs: number): void {
  const end = (endedBy: 'carrier' | 'tool', detail: string): void => {
    missed.session = { ...missed.session, state: 'ended', endedBy, detail, identity: null, at: null };
    missed.endedAt = time;
  };
  const { identity } = missed;
  if (isGone(identity, seen)) end('carrier', `its process, PID ${identity.pid}, is gone`);
  else if (time - missed.since >= graceMs) end('tool', 'its tool took its file away');
}

function isGone({ startTime }: ProcessIdentity, seen: ProcessReading): boolean {
  if (seen.found !== 'process') return seen.found === 'absent';
  return seen.info.startTime !== startTime || isFinished(seen.info);
}
