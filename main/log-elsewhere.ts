import type { Roll } from '../app/roll/schema.ts';
import { rowName } from '../app/text/words.ts';

/** The sentence that says why no program here can open a server's log: it is on another host. Null when it is here. */
export function logElsewhere({ servers, ended }: Pick<Roll, 'servers' | 'ended'>, id: string): string | null {
  const running = servers.find((server) => server.id === id);
  const over = ended.find(({ nonce }) => nonce === id);
  const host = running?.host ?? over?.host ?? 'local';
  if (host === 'local') return null;
  const name = running === undefined ? (over?.label ?? 'this server') : rowName(running);
  return `The log of ${name} is on ${host} and cannot be opened from here. Read it in this window.`;
}
