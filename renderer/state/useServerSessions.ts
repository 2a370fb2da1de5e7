import type { Server, Session } from '../../app/roll/schema.ts';
import { liveSessionsOn } from '../../app/text/session-words.ts';
import { useWindow } from './context.tsx';

const NONE: readonly Session[] = [];

export interface Carried {
  /** Live sessions of these servers, as they are now: one may begin to work while the question is open. */
  readonly sessions: readonly Session[];
  /** How many session-end hooks the configuration has. */
  readonly hooks: number;
}

/** The sessions that these servers carry, and what is to run at their end. */
export function useServerSessions(servers: readonly Pick<Server, 'id'>[]): Carried {
  const sessions = useWindow((state) => state.roll?.sessions ?? NONE);
  const hooks = useWindow((state) => state.roll?.settings.hooks ?? 0);
  return { sessions: liveSessionsOn(sessions, servers), hooks };
}
