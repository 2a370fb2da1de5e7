import { matches } from '../../app/roll/matching.ts';
import type { HostEntry, Leftover, Roll, Server, Standing } from '../../app/roll/schema.ts';
import { hostStatus, isReachable } from '../../app/text/host-words.ts';
import {
  byProblem,
  clockTime,
  formatBytes,
  leftoverName,
  NOTHING,
  plural,
  serverLabel,
  shortenPath,
  standingWord,
  totalMemory,
} from '../../app/text/words.ts';

export const SERVER_COLUMNS = ['standing', 'server', 'owner', 'sessions', 'cpu', 'memory', 'age'] as const;
export type ServerColumn = (typeof SERVER_COLUMNS)[number];

export interface Sort {
  readonly column: ServerColumn;
  readonly descending: boolean;
}

export interface GroupItem {
  readonly type: 'group';
  readonly key: string;
  readonly title: string;
  readonly note: string;
  readonly figure: string;
}
export interface ServerItem {
  readonly type: 'server';
  readonly key: string;
  readonly server: Server;
  /** Not just seen: its host does not answer. */
  readonly past: boolean;
}
export interface LeftoverItem {
  readonly type: 'leftover';
  readonly key: string;
  readonly leftover: Leftover;
  readonly past: boolean;
}
export type RollItem = GroupItem | ServerItem | LeftoverItem;

export interface ListRequest {
  readonly roll: Roll;
  readonly host: string | null;
  readonly filter: string;
  readonly sort: Sort;
  readonly home: string;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/** Who a server runs for, as its column says it. */
export function ownerWords(server: Pick<Server, 'owner' | 'standing'>): string {
  if (server.owner === null)
    return server.standing === 'service' || server.standing === 'supervised' ? '–' : 'not found';
  return server.owner.alive ? server.owner.label : `was ${server.owner.label}`;
}

export interface Tag {
  readonly word: string;
  readonly why: string;
  /** Something is wrong with it; else it is only worth knowing. */
  readonly problem: boolean;
}

/** The one tag of a row, the worst that holds: what its standing does not say. */
export function tagOf(server: Pick<Server, 'health' | 'healthDetail' | 'growing' | 'supervised'>): Tag | null {
  const { health, healthDetail, growing, supervised } = server;
  if (health === 'unresponsive')
    return { word: 'unresponsive', why: healthDetail ?? 'It does not answer.', problem: true };
  // It answers, but an ending did not end it.
  if (supervised?.state === 'unresponsive') {
    return { word: 'unresponsive', why: 'It was to be ended and is still there.', problem: true };
  }
  if (growing !== null) return { word: 'growing', why: growing, problem: true };
  const outdated = supervised?.outdated ?? null;
  return outdated === null ? null : { word: 'outdated', why: `${outdated} A restart would renew it.`, problem: false };
}

/** Every word of the filter must occur in what the row or its details say. */
export function serverMatches(server: Server, filter: string): boolean {
  return matches(
    [
      serverLabel(server),
      server.host,
      standingWord(server.standing),
      ownerWords(server),
      server.directory,
      server.health,
      tagOf(server)?.word ?? null,
      server.busy === 'busy' ? 'busy' : null,
      ...server.pids.map(String),
    ],
    filter,
  );
}

export function leftoverMatches(leftover: Leftover, filter: string): boolean {
  return matches(
    [leftoverName(leftover), leftover.kind, 'leftover', leftover.command, leftover.directory, String(leftover.ofPid)],
    filter,
  );
}

function compareText(a: string, b: string): number {
  return a.localeCompare(b, 'en', { numeric: true });
}

/** Busy before idle, many before few; what is not known is less than none. */
function sessionsRank({ sessions, busy }: Pick<Server, 'sessions' | 'busy'>): number {
  if (sessions.known) return sessions.busy * 100_000 + sessions.live;
  return busy === 'busy' ? 99_999 : -1;
}

export interface SessionsWords {
  readonly word: string;
  /** At work, and so worth a stronger ink. */
  readonly busy: boolean;
  /** All of it, or why nothing is known. */
  readonly tooltip: string;
}

/** What a server's column says of its sessions: `2 busy`, `3 idle`, `0`; `–` or its own sign of work where they are not known. */
export function sessionsWords({
  sessions,
  busy,
  busySign,
}: Pick<Server, 'sessions' | 'busy' | 'busySign'>): SessionsWords {
  if (!sessions.known) {
    const tooltip = `Its sessions are not known: ${sessions.why}. Activity: ${busySign}.`;
    return busy === 'busy' ? { word: 'busy', busy: true, tooltip } : { word: NOTHING, busy: false, tooltip };
  }
  const { live } = sessions;
  const tooltip = `${plural(live, 'session')}, ${sessions.busy} busy. Activity: ${busySign}.`;
  if (sessions.busy > 0) return { word: `${sessions.busy} busy`, busy: true, tooltip };
  return { word: live === 0 ? '0' : `${live} idle`, busy: false, tooltip };
}

/** Ascending comparison by one column; `standing` is the natural order and goes through `byTrouble`. */
const COMPARE: Readonly<Record<Exclude<ServerColumn, 'standing'>, (a: Server, b: Server) => number>> = {
  server: (a, b) => compareText(serverLabel(a), serverLabel(b)),
  owner: (a, b) => compareText(ownerWords(a), ownerWords(b)),
  sessions: (a, b) => sessionsRank(a) - sessionsRank(b),
  cpu: (a, b) => (a.cpuPercent ?? -1) - (b.cpuPercent ?? -1),
  memory: (a, b) => a.memoryBytes - b.memoryBytes,
  age: (a, b) => b.startedAt.localeCompare(a.startedAt),
};

/** Leaked, suspect, then the rest, each by memory; or by the chosen column, equals in that same order. */
export function compareServers(sort: Sort): (a: Server, b: Server) => number {
  if (sort.column === 'standing') return sort.descending ? byProblem : (a, b) => byProblem(b, a);
  const compare = COMPARE[sort.column];
  return (a, b) => (sort.descending ? compare(b, a) : compare(a, b)) || byProblem(a, b);
}

/** The sort after a click on a column's head: the other way round on the chosen one, else its natural direction. */
export function nextSort(sort: Sort, column: ServerColumn): Sort {
  if (sort.column === column) return { column, descending: !sort.descending };
  return { column, descending: column !== 'server' && column !== 'owner' };
}

/** What stands beside a host's name: its machine's name, or why its rows are from before. */
export function hostNote(host: HostEntry, now: number): string {
  if (host.state === 'connected') {
    const machine = host.ssh?.target ?? host.hostname;
    return machine === host.name ? '' : machine;
  }
  const asOf = host.lookedAt === null ? '' : `, shown as of ${clockTime(host.lookedAt, now)}`;
  return `${hostStatus({ ...host, ssh: null }, now)}${asOf}`;
}

function serversFigure(servers: readonly Server[]): string {
  return `${plural(servers.length, 'server')}, ${formatBytes(totalMemory(servers)).text}`;
}

/**
 * The rows of the servers list, in order: grouped by host in the order of the sidebar where several are shown, the
 * leftovers of each host after its servers.
 */
export function serverItems(request: ListRequest): readonly RollItem[] {
  const { roll, filter, sort } = request;
  const hosts = roll.hosts.filter((host) => request.host === null || host.name === request.host);
  const items: RollItem[] = [];
  for (const host of hosts) {
    const past = !isReachable(host);
    const servers = roll.servers
      .filter((server) => server.host === host.name && (filter === '' || serverMatches(server, filter)))
      .sort(compareServers(sort));
    const leftovers = roll.leftovers
      .filter((leftover) => leftover.host === host.name && (filter === '' || leftoverMatches(leftover, filter)))
      .sort((a, b) => b.rssBytes - a.rssBytes || compareText(a.id, b.id));
    if (hosts.length > 1 && servers.length > 0) {
      items.push({
        type: 'group',
        key: `host ${host.name}`,
        title: host.name,
        note: hostNote(host, request.now),
        figure: serversFigure(servers),
      });
    }
    for (const server of servers) items.push({ type: 'server', key: server.id, server, past });
    if (leftovers.length > 0) {
      const bytes = leftovers.reduce((sum, leftover) => sum + leftover.rssBytes, 0);
      items.push({
        type: 'group',
        key: `leftovers ${host.name}`,
        title: 'Leftovers',
        note: 'children whose server is gone',
        figure: `${plural(leftovers.length, 'process', 'processes')}, ${formatBytes(bytes).text}`,
      });
      for (const leftover of leftovers) items.push({ type: 'leftover', key: leftover.id, leftover, past });
    }
  }
  return items;
}

/** What typing letters is matched against: the name, then the folder. */
export function itemNames(item: RollItem, home: string): readonly string[] {
  if (item.type === 'group') return [];
  const [name, directory] =
    item.type === 'server'
      ? [serverLabel(item.server), item.server.directory]
      : [item.leftover.name, item.leftover.directory];
  if (directory === null) return [name];
  const short = shortenPath(directory, home);
  return [name, short, short.slice(short.lastIndexOf('/') + 1)];
}

/** What the footer says of the servers shown. */
export function footerWords(roll: Roll, host: string | null, shown: number, filter: string): string {
  const servers = roll.servers.filter((server) => host === null || server.host === host);
  const total = serversFigure(servers);
  return filter === '' ? total : `${shown} of ${total}`;
}

/** The question in a heading of the details: why it has the standing it has. */
export function whyQuestion(standing: Standing): string {
  return `Why is this ${standing === 'service' ? 'a service' : standing}?`;
}
