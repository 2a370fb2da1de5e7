/** The session ledger for a command that only reads: nothing is written, kept aside or made smaller. */
import type { SessionStore } from '../session-tracker.ts';
import { LedgerFailed, readLedger } from './ledger-file.ts';
import { type DueHook, LedgerState, parseLine } from './ledger-lines.ts';

export interface LedgerView {
  /** Takes nothing in. */
  readonly lives: SessionStore;
  /** Hooks that are still to be run. */
  due(): readonly DueHook[];
  /** Hooks that have failed too often. */
  failed(): readonly DueHook[];
}

/** What the file says now. One that cannot be read says nothing: whoever writes it tells of that. */
export function viewLedger(path: string): LedgerView {
  const state = new LedgerState();
  for (const text of textOf(path).split('\n')) {
    const line = text === '' ? null : parseLine(text);
    if (line !== null) state.apply(line);
  }
  return {
    lives: {
      open: () => state.open,
      begin: () => undefined,
      carry: () => undefined,
      end: () => undefined,
      recentlyEnded: () => state.ended(),
    },
    due: () => state.hooks().filter(({ miss }) => miss?.final !== true),
    failed: () => state.hooks().filter(({ miss }) => miss?.final === true),
  };
}

function textOf(path: string): string {
  try {
    return readLedger(path);
  } catch (error) {
    if (!(error instanceof LedgerFailed)) throw error;
    return '';
  }
}
