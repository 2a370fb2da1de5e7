import { useMemo, useState } from 'react';
import type { HostEntry, Roll } from '../../app/roll/schema.ts';
import { sharedSentence } from '../../app/text/host-words.ts';
import { plural, serverLabel } from '../../app/text/words.ts';
import { useActs, useRollcall, useWindow } from '../state/context.tsx';
import { select } from '../state/store.ts';
import { steppedAge } from '../view/age.ts';
import { phases } from '../view/banners.ts';
import { leftoverActs, serverActs } from '../view/serverActs.ts';
import {
  footerWords,
  itemNames,
  nextSort,
  type RollItem,
  type ServerColumn,
  serverItems,
} from '../view/serverItems.ts';
import { Footer } from './Footer.tsx';
import { Grid, type Point } from './Grid.tsx';
import { GridHeads, type HeadColumn } from './GridHeads.tsx';
import { Menu } from './Menu.tsx';
import { LeftoverCells, ServerCells } from './ServerCells.tsx';
import { useFrozenOrder, waitingWords } from './useFrozenOrder.ts';
import type { RowKey } from './useGridKeys.ts';

const HEADS: readonly HeadColumn<ServerColumn>[] = [
  { column: 'standing', word: 'Standing', classes: '' },
  { column: 'server', word: 'Server', classes: '' },
  { column: 'owner', word: 'Owner', classes: 'col-owner' },
  { column: 'sessions', word: 'Sessions', classes: 'num' },
  { column: 'cpu', word: 'CPU %', classes: 'num col-cpu' },
  { column: 'memory', word: 'Memory', classes: 'num' },
  { column: 'age', word: 'Age', classes: 'num' },
];

/** An empty list says what was looked at, or why nothing was. */
function nothingWords(hosts: readonly HostEntry[], host: string | null): string {
  const [only] = hosts;
  if (host !== null && only !== undefined) {
    const shared = sharedSentence(only);
    if (shared !== null) return shared;
    if (only.lookedAt === null) return `${host} has not been looked at yet.`;
  }
  const counted = hosts.reduce((sum, entry) => sum + entry.counted, 0);
  return `No server on ${host ?? 'any host'}. ${plural(counted, 'process', 'processes')} looked at.`;
}

type Row = Exclude<RollItem, { type: 'group' }>;

/** The list of servers and leftovers of the chosen host. */
export function ServersView({ roll, home }: { readonly roll: Roll; readonly home: string }) {
  const { store } = useRollcall();
  const acts = useActs();
  const host = useWindow((state) => state.host);
  const filter = useWindow((state) => state.filter);
  const sort = useWindow((state) => state.sort);
  const selected = useWindow((state) => state.selected.servers);
  const [menu, setMenu] = useState<{ readonly item: Row; readonly point: Point } | null>(null);

  const now = Date.parse(roll.takenAt);
  const fresh = useMemo(
    () => serverItems({ roll, host, filter, sort, home, now }),
    [roll, host, filter, sort, home, now],
  );
  // What the person chose to see comes at once; only what changes by itself waits.
  const choice = `${host ?? ''}\n${filter}\n${sort.column}\n${sort.descending}`;
  const list = useFrozenOrder(fresh, choice, menu !== null);

  const underWay = useMemo(() => phases(roll), [roll]);
  const cells = (item: Row) =>
    item.type === 'server' ? (
      <ServerCells
        server={item.server}
        phase={underWay.get(item.key) ?? null}
        gone={list.gone.has(item.key)}
        age={steppedAge(item.server.startedAt, now)}
        live={!item.past && !list.gone.has(item.key)}
        home={home}
      />
    ) : (
      <LeftoverCells
        leftover={item.leftover}
        phase={underWay.get(item.key) ?? null}
        gone={list.gone.has(item.key)}
        age={steppedAge(item.leftover.startedAt, now)}
        home={home}
      />
    );

  const onRowKey = (item: Row, what: Exclude<RowKey, 'enter'>, point: Point): void => {
    if (list.gone.has(item.key)) return;
    if (what === 'menu') setMenu({ item, point });
    else if (item.type === 'leftover') acts.openLeftover(item.leftover, what === 'end' ? 'reap' : 'copy-pid');
    else {
      const end = item.server.standing === 'supervised' ? 'stop' : 'reap';
      acts.openServer(item.server, what === 'end' ? end : what === 'open' ? 'open' : 'copy-url');
    }
  };

  const hostOf = (row: { readonly host: string }) => roll.hosts.find(({ name }) => name === row.host);
  const servers = list.items.filter((item) => item.type === 'server').length;
  const rows = list.items.some((item) => item.type !== 'group');
  const hosts = roll.hosts.filter((entry) => host === null || entry.name === host);
  const partial = hosts.find((entry) => entry.partial !== null)?.partial ?? null;
  return (
    <section className="list" aria-label="Servers">
      {rows ? (
        <Grid<Row>
          label="Servers"
          columns="cols-servers"
          head={
            <GridHeads
              columns="cols-servers"
              heads={HEADS}
              sort={sort}
              onSort={(column) => store.setState({ sort: nextSort(sort, column) })}
            />
          }
          items={list.items}
          selected={selected}
          onSelect={(key) => select(store, 'servers', key)}
          cells={cells}
          rowClass={(item) => (item.past || list.gone.has(item.key) ? 'past' : '')}
          names={(item) => itemNames(item, home)}
          onRowKey={onRowKey}
        />
      ) : (
        <p className="nothing">{filter === '' ? nothingWords(hosts, host) : `No server matches “${filter}”.`}</p>
      )}
      <Footer roll={roll} left={footerWords(roll, host, servers, filter)}>
        {list.waiting > 0 ? waitingWords(list.waiting) : partial}
      </Footer>
      {menu === null ? null : (
        <Menu
          label={menu.item.type === 'server' ? serverLabel(menu.item.server) : menu.item.leftover.name}
          items={
            menu.item.type === 'server'
              ? serverActs(menu.item.server, hostOf(menu.item.server))
              : leftoverActs(menu.item.leftover, hostOf(menu.item.leftover))
          }
          point={menu.point}
          onClose={() => setMenu(null)}
          onPick={(act) =>
            menu.item.type === 'server'
              ? acts.openServer(menu.item.server, act)
              : acts.openLeftover(menu.item.leftover, act)
          }
        />
      )}
    </section>
  );
}
