import type { Supervised } from '../supervisor/core.ts';
import type { GuardKeeper } from './keeper.ts';

/**
 * Starts a guard that stays when this process goes, to stop servers when the processes they are bound to go away. The
 * writer's lock must be free: the guard takes it.
 *
 * @returns why nobody watches, as a sentence; null when the guard does
 */
export async function leaveGuard(keeper: GuardKeeper, servers: readonly Supervised[]): Promise<string | null> {
  keeper.feed(servers);
  keeper.open({ changed: () => undefined, note: () => undefined });
  const why = await keeper.startNow();
  return why ?? keeper.farewell('watch-owners');
}
