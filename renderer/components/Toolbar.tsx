import type { RefObject } from 'react';
import type { Roll } from '../../app/roll/schema.ts';
import { isLive } from '../../app/text/session-words.ts';
import { useActs, useRollcall, useWindow } from '../state/context.tsx';
import type { ListView } from '../state/store.ts';
import { Glyph } from './Glyph.tsx';
import { Button } from './parts.tsx';

/** The views in the order of their tabs, and of Ctrl+1 to Ctrl+4. */
export const VIEWS: readonly { readonly view: ListView; readonly word: string }[] = [
  { view: 'servers', word: 'Servers' },
  { view: 'sessions', word: 'Sessions' },
  { view: 'records', word: 'Stale records' },
  { view: 'timeline', word: 'Timeline' },
];

function figure(roll: Roll, view: ListView, host: string | null): number | null {
  const here = (row: { readonly host: string }): boolean => host === null || row.host === host;
  if (view === 'servers') return roll.servers.filter(here).length;
  if (view === 'sessions') return roll.sessions.filter((session) => isLive(session) && here(session)).length;
  return view === 'records' ? roll.records.filter((record) => record.clearable && here(record)).length : null;
}

interface Props {
  readonly roll: Roll;
  readonly filterField: RefObject<HTMLInputElement | null>;
}

/** Views, filter, and the one thing that is started from everywhere. */
export function Toolbar({ roll, filterField }: Props) {
  const { store } = useRollcall();
  const acts = useActs();
  const view = useWindow((state) => state.view);
  const host = useWindow((state) => state.host);
  const filter = useWindow((state) => state.filter);
  return (
    <div className="bar">
      <nav className="tabs" aria-label="Views">
        {VIEWS.map((tab) => (
          <button
            key={tab.view}
            type="button"
            className="tab"
            aria-current={tab.view === view ? 'page' : undefined}
            onClick={() => acts.show(tab.view)}
          >
            {tab.word}
            <span className="tab-figure">{figure(roll, tab.view, host)}</span>
          </button>
        ))}
      </nav>
      {view === 'settings' ? null : (
        <label className="field filter">
          <Glyph name="search" />
          <input
            ref={filterField}
            type="text"
            placeholder="Filter"
            aria-label="Filter"
            value={filter}
            onChange={(event) => store.setState({ filter: event.target.value })}
          />
          <kbd>/</kbd>
        </label>
      )}
      <Button onClick={() => acts.ask({ type: 'start', kind: null })}>
        <Glyph name="plus" />
        Start server…
      </Button>
    </div>
  );
}
