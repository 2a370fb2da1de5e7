import type { Supervised } from '../supervisor/core.ts';
import type { GuardClient } from './guard-client.ts';

export interface DetachedGuard {
  /** Why nobody watches, as a sentence; null when the guard does. */
  readonly why: string | null;
  /** Whether it is still there. */
  stays(): boolean;
}

/**
 * Starts a guard that stays when this process goes, to stop servers when the processes they are bound to go away. It
 * waits for the writer's lock, and then finds on disk what was started meanwhile.
 */
export async function detachGuard(keeper: GuardClient, servers: readonly Supervised[]): Promise<DetachedGuard> {
  keeper.update(servers);
  keeper.open({ changed: () => undefined, note: () => undefined });
  const why = (await keeper.startNow()) ?? (await keeper.shutdown('watch-owners'));
  return { why, stays: () => keeper.stays };
}
