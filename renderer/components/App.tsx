import { useEffect, useRef } from 'react';
import type { Roll } from '../../app/roll/schema.ts';
import { THIS_MACHINE } from '../../app/text/host-words.ts';
import { Dialogs } from '../dialogs/Dialogs.tsx';
import { Questions } from '../dialogs/Questions.tsx';
import { useRollcall, useWindow } from '../state/context.tsx';
import { DetailsPane } from './DetailsPane.tsx';
import { FirstRun } from './FirstRun.tsx';
import { Hosts } from './Hosts.tsx';
import { RecordsView } from './RecordsView.tsx';
import { ServersView } from './ServersView.tsx';
import { SessionPane } from './SessionDetails.tsx';
import { SessionsView } from './SessionsView.tsx';
import { SettingsView } from './SettingsView.tsx';
import { ProblemBar, StripBar } from './StripBar.tsx';
import { TimelineView } from './TimelineView.tsx';
import { Toolbar } from './Toolbar.tsx';
import { useShortcuts } from './useShortcuts.ts';

function useWindowFocus(): void {
  const { store } = useRollcall();
  useEffect(() => {
    const set = (): void => store.setState({ focused: document.hasFocus() });
    set();
    addEventListener('focus', set);
    addEventListener('blur', set);
    return () => {
      removeEventListener('focus', set);
      removeEventListener('blur', set);
    };
  }, [store]);
}

function CurrentView({ roll, home }: { readonly roll: Roll; readonly home: string }) {
  const view = useWindow((state) => state.view);
  const host = useWindow((state) => state.host);
  // At most one strip: what just went wrong stands before everything until it is dismissed.
  const troubled = useWindow((state) => state.problem !== null);
  switch (view) {
    case 'servers':
      return (
        <>
          {troubled ? null : <StripBar roll={roll} />}
          {roll.servers.length === 0 && roll.leftovers.length === 0 && (host === null || host === THIS_MACHINE) ? (
            <FirstRun roll={roll} />
          ) : (
            <div className="body">
              <ServersView roll={roll} home={home} />
              <DetailsPane roll={roll} home={home} />
            </div>
          )}
        </>
      );
    case 'sessions':
      return (
        <div className="body">
          <SessionsView roll={roll} home={home} />
          <SessionPane roll={roll} home={home} />
        </div>
      );
    case 'records':
      return <RecordsView roll={roll} home={home} />;
    case 'timeline':
      return <TimelineView roll={roll} />;
    case 'settings':
      return <SettingsView roll={roll} home={home} />;
  }
}

/** The connection manager: hosts, views, details, and at most one question over them. */
export function App() {
  const roll = useWindow((state) => state.roll);
  const home = useWindow((state) => state.info?.home ?? '');
  const announcement = useWindow((state) => state.announcement);
  const filterField = useRef<HTMLInputElement>(null);
  useShortcuts(filterField);
  useWindowFocus();
  return (
    <>
      {roll === null ? (
        <main className="waiting">
          <ProblemBar />
          <p className="nothing">Waiting for the first look…</p>
        </main>
      ) : (
        <div className="window">
          <Hosts roll={roll} />
          <main className="content">
            <Toolbar roll={roll} filterField={filterField} />
            <ProblemBar />
            <CurrentView roll={roll} home={home} />
          </main>
          <Dialogs roll={roll} home={home} />
          <Questions questions={roll.questions} />
        </div>
      )}
      <div className="unseen" aria-live="polite">
        {announcement}
      </div>
    </>
  );
}
