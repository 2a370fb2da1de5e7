import { useMemo, useState } from 'react';
import type { Roll, Session } from '../../app/roll/schema.ts';
import { sessionName } from '../../app/text/session-words.ts';
import { useActs, useRollcall, useWindow } from '../state/context.tsx';
import { type Scope, select } from '../state/store.ts';
import { steppedAge } from '../view/age.ts';
import { type SessionAct, sessionActs } from '../view/sessionActs.ts';
import {
  nextSessionSort,
  noSessions,
  type SessionColumn,
  type SessionItem,
  sessionItems,
  sessionNames,
  sessionsFooter,
  stateSince,
} from '../view/sessionItems.ts';
import { Footer } from './Footer.tsx';
import { Grid, type Point } from './Grid.tsx';
import { GridHeads, type HeadColumn } from './GridHeads.tsx';
import { Menu } from './Menu.tsx';
import { ScopeLine } from './ScopeLine.tsx';
import { SessionCells } from './SessionCells.tsx';
import { useFrozenOrder, waitingWords } from './useFrozenOrder.ts';
import type { RowKey } from './useGridKeys.ts';

const HEADS: readonly HeadColumn<SessionColumn>[] = [
  { column: 'state', word: 'State', classes: '' },
  { column: 'session', word: 'Session', classes: '' },
  { column: 'server', word: 'Server', classes: 'col-carrier' },
  { column: 'directory', word: 'Directory', classes: 'col-directory' },
  { column: 'host', word: 'Host', classes: '' },
  { column: 'for', word: 'For', classes: 'num' },
];

/** What a row's key asks of a session. */
function keyAct({ attach }: Session, key: 'open' | 'copy' | 'end'): SessionAct {
  if (key !== 'copy') return key;
  return attach === null ? 'copy-id' : 'copy-attach';
}

function nothingWords(roll: Roll, host: string | null, filter: string, scope: Scope | null): string {
  if (filter !== '') return `No session matches “${filter}”.`;
  if (scope === null) return noSessions(roll, host);
  const server = roll.servers.find(({ id }) => id === scope.id);
  if (server === undefined) return `${scope.name} is gone, and so are its sessions.`;
  return server.sessions.known
    ? `${scope.name} carries no session now.`
    : `The sessions of ${scope.name} are not known: ${server.sessions.why}.`;
}

/** The list of the sessions of the chosen host, or of one server. */
export function SessionsView({ roll, home }: { readonly roll: Roll; readonly home: string }) {
  const { store } = useRollcall();
  const acts = useActs();
  const host = useWindow((state) => state.host);
  const filter = useWindow((state) => state.filter);
  const scope = useWindow((state) => state.scope);
  const sort = useWindow((state) => state.sessionSort);
  const selected = useWindow((state) => state.selected.sessions);
  const [menu, setMenu] = useState<{ readonly item: SessionItem; readonly point: Point } | null>(null);

  const now = Date.parse(roll.takenAt);
  const server = scope?.type === 'server' ? scope.id : null;
  // Only what the order depends on: a roll in which no session changed must not sort five thousand again.
  const { sessions, hosts } = roll;
  const fresh = useMemo(
    () => sessionItems({ sessions, hosts, host, server, filter, sort }),
    [sessions, hosts, host, server, filter, sort],
  );
  const choice = [host, server, filter, sort.column, String(sort.descending)].join('\n');
  const list = useFrozenOrder(fresh, choice, menu !== null);
  const footer = useMemo(() => sessionsFooter(list.items), [list.items]);

  const actsOf = ({ session }: SessionItem) =>
    sessionActs(
      session,
      roll.servers.find(({ id }) => id === session.server) ?? null,
      hosts.find(({ name }) => name === session.host),
    );
  const onRowKey = (item: SessionItem, what: Exclude<RowKey, 'enter'>, point: Point): void => {
    if (list.gone.has(item.key)) return;
    if (what === 'menu') setMenu({ item, point });
    else acts.openSession(item.session, keyAct(item.session, what));
  };
  return (
    <section className="list" aria-label="Sessions">
      <ScopeLine />
      {list.items.length === 0 ? (
        <p className="nothing">{nothingWords(roll, host, filter, scope)}</p>
      ) : (
        <Grid<SessionItem>
          label="Sessions"
          columns="cols-sessions"
          head={
            <GridHeads
              columns="cols-sessions"
              heads={HEADS}
              sort={sort}
              onSort={(column) => store.setState({ sessionSort: nextSessionSort(sort, column) })}
            />
          }
          items={list.items}
          selected={selected}
          onSelect={(key) => select(store, 'sessions', key)}
          cells={({ key, session, depth }) => {
            const since = stateSince(session);
            return (
              <SessionCells
                session={session}
                depth={depth}
                gone={list.gone.has(key)}
                age={since === null ? null : steppedAge(since, now)}
                home={home}
              />
            );
          }}
          rowClass={({ key, past }) => (past || list.gone.has(key) ? 'past' : '')}
          names={sessionNames}
          onRowKey={onRowKey}
        />
      )}
      <Footer roll={roll} left={footer} live>
        {waitingWords(list.waiting)}
      </Footer>
      {menu === null ? null : (
        <Menu
          label={sessionName(menu.item.session)}
          items={actsOf(menu.item)}
          point={menu.point}
          onClose={() => setMenu(null)}
          onPick={(act) => acts.openSession(menu.item.session, act)}
        />
      )}
    </section>
  );
}
