/** The ledger as the book of sessions sees it: whatever ends there has its hooks run. */

import type { Hooks } from './hooks/hooks.ts';
import type { SessionStore } from './session-tracker.ts';
import type { SessionLedger } from './store/ledger.ts';

export function persistenceFor(ledger: SessionLedger, hooks: Pick<Hooks, 'hooksFor' | 'pump'>): SessionStore {
  return {
    open: () => ledger.open(),
    begin: (lives) => ledger.begin(lives),
    carry: (lives) => ledger.carry(lives),
    end: (endings) => {
      // Another life of the same session may have begun since.
      const own = endings.filter(({ life }) => ledger.open().get(life.key)?.life === life.life);
      const ended = ledger.end(own.map(({ life, ending }) => ({ key: life.key, ending, hooks: hooks.hooksFor(life) })));
      if (ended.length > 0) hooks.pump();
      return ended;
    },
    recentlyEnded: () => ledger.recentlyEnded(),
  };
}
