/** The part of the tray menu that lists the servers of a host. */

import type { Ended, Roll, Server } from '../app/roll/schema.ts';
import { isAwaited, startAgainLabel } from '../app/text/ended-words.ts';
import { busyByServer } from '../app/text/session-words.ts';
import { byProblem, formatBytes, pathTail, serverLabel, standingSign, withoutHost } from '../app/text/words.ts';
import { SEPARATOR, showing, type TrayItem } from './tray-model.ts';
import { menuLabel } from './tray-text.ts';

/** A submenu that would list more servers than this ends with one item that shows all. */
export const LISTED_LIMIT = 12;

const ACTING: Readonly<Record<Roll['tasks'][number]['act'], string>> = {
  start: 'starting…',
  stop: 'stopping…',
  restart: 'restarting…',
  reap: 'reaping…',
};

/** What is under way for a row: `stopping…`; null when nothing is. */
export function underWay(roll: Pick<Roll, 'tasks'>, id: string): string | null {
  const task = roll.tasks.find(
    (one) => one.state === 'running' && one.rows.some((row) => row.id === id && row.outcome === null),
  );
  return task === undefined ? null : ACTING[task.act];
}

/** What a row says after its name: what is under way, else what matters for its standing. */
function remark(roll: Roll, server: Server, busySessions: number): string | null {
  const acting = underWay(roll, server.id);
  if (acting !== null) return acting;
  switch (server.standing) {
    case 'leaked':
    case 'suspect':
      return formatBytes(server.memoryBytes).text;
    case 'owned':
      return server.owner === null ? null : `${server.owner.label}’s`;
    default:
      if (busySessions > 0) return `${busySessions} busy`;
      return server.busy === 'busy' ? 'busy' : null;
  }
}

function joined(name: string, rest: string | null): string {
  return rest === null ? name : `${name}, ${rest}`;
}

/**
 * A line for each server of one host. Directories are left out unless two would read the same; the PID is added
 * where even the directory does not tell them apart.
 */
export function serverLines(roll: Roll, servers: readonly Server[]): readonly string[] {
  const names = [
    (server: Server) => serverName(server),
    (server: Server) =>
      server.directory === null ? serverName(server) : `${serverName(server)} in ${pathTail(server.directory)}`,
    (server: Server) => `${serverName(server)}, PID ${server.pid}`,
  ];
  const busy = busyByServer(roll.sessions);
  const remarks = servers.map((server) => remark(roll, server, busy.get(server.id) ?? 0));
  const lines = (name: (server: Server) => string): string[] =>
    servers.map((server, index) => `${standingSign(server.standing)} ${joined(name(server), remarks[index] ?? null)}`);
  const variants = names.map(lines);
  const twice = (all: readonly string[], line: string | undefined): boolean =>
    all.filter((other) => other === line).length > 1;
  return servers.map((_, index) => {
    const chosen = variants.find((all) => !twice(all, all[index])) ?? variants.at(-1) ?? [];
    return menuLabel(chosen[index] ?? '');
  });
}

/** `codex stdio` is a name in the list, where a column tells it; the menu has `codex, Zed’s`. */
function serverName(server: Server): string {
  return server.listening.length === 0 && server.duplicates <= 1 ? server.kind : serverLabel(server);
}

function serverItems(roll: Roll, server: Server): readonly TrayItem[] {
  const idle = underWay(roll, server.id) === null;
  const select = (dialog: 'none' | 'plan-server' | 'stop-server' | 'restart-server'): TrayItem & { type: 'act' } => ({
    type: 'act',
    label: '',
    enabled: true,
    on: showing({ server: server.id, dialog }),
  });
  const items: TrayItem[] = [{ ...select('none'), label: 'Show' }];
  if (server.url !== null) {
    items.push({ type: 'act', label: 'Open in browser', enabled: true, on: { act: 'open-url', server: server.id } });
    items.push({ type: 'act', label: 'Copy URL', enabled: true, on: { act: 'copy-url', server: server.id } });
  }
  items.push(SEPARATOR);
  if (server.standing === 'supervised') {
    items.push({ ...select('restart-server'), label: 'Restart…', enabled: idle && server.restart.allowed !== 'no' });
    items.push({ ...select('stop-server'), label: 'Stop…', enabled: idle && server.stop.allowed !== 'no' });
  } else {
    items.push({ ...select('plan-server'), label: 'Reap…', enabled: idle && server.reap.allowed !== 'no' });
  }
  return items;
}

/** What a row of one that ended says; a countdown would change the menu each second. */
function endedRemark(ended: Ended): string {
  if (ended.state === 'planned') return 'starting…';
  if (ended.state === 'failed') return 'gave up';
  return isAwaited(ended) ? 'ended, restarts by itself' : 'ended';
}

/** The row of a server that exited unexpectedly: what became of it, and its ways on. */
function endedItem(ended: Ended): TrayItem {
  const { nonce, label, state, logPath } = ended;
  const sign = state === 'failed' ? '▲' : '△';
  const enabled = state !== 'planned';
  const items: TrayItem[] = [
    {
      type: 'act',
      label: startAgainLabel(ended),
      enabled,
      on: { act: 'run', command: { command: 'start-again', nonce } },
    },
    { type: 'act', label: 'Show', enabled: true, on: showing({ ended: nonce }) },
  ];
  if (logPath !== null) {
    items.push({ type: 'act', label: 'Show log…', enabled: true, on: showing({ ended: nonce, dialog: 'log' }) });
  }
  items.push(SEPARATOR, {
    type: 'act',
    label: 'Forget',
    enabled,
    on: { act: 'run', command: { command: 'forget', nonce } },
  });
  return { type: 'menu', label: menuLabel(`${sign} ${withoutHost(label)}, ${endedRemark(ended)}`), items };
}

/** The rows of one host's submenu: what ended, then its servers, leaked first, then by memory. */
export function hostRows(roll: Roll, host: string): readonly TrayItem[] {
  const servers = roll.servers.filter((server) => server.host === host).sort(byProblem);
  const ended = roll.ended.filter((each) => each.host === host);
  const shown = servers.length > LISTED_LIMIT ? servers.slice(0, LISTED_LIMIT) : servers;
  const lines = serverLines(roll, shown);
  const items: TrayItem[] = [
    // Given up first, as the worst stands first everywhere.
    ...ended.toSorted((a, b) => Number(b.state === 'failed') - Number(a.state === 'failed')).map(endedItem),
    ...shown.map(
      (server, index): TrayItem => ({
        type: 'menu',
        label: lines[index] ?? '',
        items: serverItems(roll, server),
      }),
    ),
  ];
  if (shown.length < servers.length) {
    items.push({ type: 'act', label: `Show all ${servers.length}…`, enabled: true, on: showing({ host }) });
  }
  return items;
}
