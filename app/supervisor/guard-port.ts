import type { ProcessRef } from '../identity/identity.ts';
import type { Supervised } from './core.ts';

/**
 * What is left to do when this process has gone in order.
 *
 *   nothing       no server needs anybody
 *   watch-owners  servers are bound to a process: each is stopped when that goes away; the rest stays. Hooks that are due run
 *   end-servers   servers did not end in time: as after a crash, without waiting for a successor
 */
export type Afterwards = 'nothing' | 'watch-owners' | 'end-servers';

export interface GuardListener {
  /** `problem` has changed. */
  changed(): void;
  /** Something for the timeline. */
  note(text: string): void;
}

/** The guard as the supervisor of the app sees it. */
export interface GuardPort {
  /** Why nobody watches now, as a sentence; null while the guard runs or is only being started. */
  readonly problem: string | null;
  /** Begins to keep a guard. */
  open(listener: GuardListener): void;
  /** The full state. Handed over if it is news. */
  update(servers: readonly Supervised[]): void;
  /** Every ssh process that runs for this one. Handed over if it is news. */
  updateSsh(processes: readonly ProcessRef[]): void;
  /** Tries now, without waiting for the next attempt. Resolves with null when it watches, else with why it does not. */
  startNow(): Promise<string | null>;
  /**
   * Says goodbye and what is left to do; resolves when the guard knows, or when the time for that is up: then with why
   * nobody sees to what is left, as a sentence. Null when the guard knows or nothing is left.
   */
  shutdown(afterwards: Afterwards): Promise<string | null>;
}
