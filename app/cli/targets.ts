import type { Leftover, Server } from '../roll/schema.ts';
import type { Core } from '../supervisor/core.ts';
import { leftoverName, rowName } from '../text/words.ts';
import { UsageError } from './io.ts';

export type CliTarget =
  | {
      readonly found: 'server';
      readonly server: Server;
      readonly id: string;
      readonly pid: number;
      readonly label: string;
    }
  | {
      readonly found: 'leftover';
      readonly leftover: Leftover;
      readonly id: string;
      readonly pid: number;
      readonly label: string;
    }
  /** No recognised server or leftover; `text` says what it is. */
  | { readonly found: 'nothing'; readonly target: string; readonly pid: number; readonly text: string };

/** Whether a word can name a row: a PID in digits, or at least 4 hex digits of an id. */
export function checkTarget(word: string): void {
  if (/^\d{1,16}$/u.test(word) || /^[0-9a-f]{4,16}$/u.test(word)) return;
  throw new UsageError(`${word} is neither a PID nor an id.`, 'rollcall list shows PIDs, list --json ids.');
}

/**
 * Finds the row a word names, as the core sees it now.
 *
 * @param host whose PID it is, this machine's where it is null; an id is one of any host
 */
export async function findTarget(core: Core, word: string, host: string | null): Promise<CliTarget> {
  const { server, leftover, text } = await core.explain(word, host);
  if (server !== null) return { found: 'server', server, id: server.id, pid: server.pid, label: rowName(server) };
  if (leftover !== null) {
    return { found: 'leftover', leftover, id: leftover.id, pid: leftover.pid, label: leftoverName(leftover) };
  }
  return { found: 'nothing', target: word, pid: /^\d{1,10}$/u.test(word) ? Number(word) : 0, text };
}
