import { matches } from '../../app/roll/matching.ts';
import type { Roll, Session, SessionState } from '../../app/roll/schema.ts';
import { isReachable } from '../../app/text/host-words.ts';
import { isLive, sessionCounts, sessionName, sessionStateWord } from '../../app/text/session-words.ts';
import { pathTail, plural } from '../../app/text/words.ts';
import type { GlyphName } from './shapes.ts';

export const SESSION_COLUMNS = ['state', 'session', 'server', 'directory', 'host', 'for'] as const;
export type SessionColumn = (typeof SESSION_COLUMNS)[number];

export interface SessionSort {
  readonly column: SessionColumn;
  readonly descending: boolean;
}

export interface SessionItem {
  readonly type: 'session';
  readonly key: string;
  readonly session: Session;
  /** How far it is indented under the session that started it; 0 where that is not the row above. */
  readonly depth: number;
  /** Over, or not just seen: its host does not answer. */
  readonly past: boolean;
}

export interface SessionsRequest {
  readonly sessions: readonly Session[];
  readonly hosts: Roll['hosts'];
  readonly host: string | null;
  /** Row of the server whose sessions alone are wanted; null for all. */
  readonly server: string | null;
  readonly filter: string;
  readonly sort: SessionSort;
}

/** Every word of the filter must occur in what the row or its details say. */
export function sessionMatches(session: Session, filter: string): boolean {
  const { carrier, directory, host, state, detail, id } = session;
  return matches([sessionName(session), carrier, directory, host, sessionStateWord(state), detail, id], filter);
}

/** What is at work or wants a person stands before what rests; what is over comes last. */
const STATE_RANK: Readonly<Record<SessionState, number>> = {
  busy: 0,
  retrying: 1,
  waiting: 2,
  error: 3,
  idle: 4,
  unknown: 5,
  ended: 6,
};

function compareTimes(a: string | null, b: string | null): number {
  const [one, other] = [a ?? '', b ?? ''];
  return one < other ? -1 : one > other ? 1 : 0;
}

/** By state, then the one that did something last; the key decides between equals. */
function byState(a: Session, b: Session): number {
  return (
    STATE_RANK[a.state] - STATE_RANK[b.state] ||
    compareTimes(b.lastActivityAt, a.lastActivityAt) ||
    (a.key < b.key ? -1 : a.key > b.key ? 1 : 0)
  );
}

// One collator: `localeCompare` makes a new one for each of the many comparisons of a long list.
const { compare: compareText } = new Intl.Collator('en', { numeric: true });

/** Since when a session is in its state, as its column counts: else since it last did something, else since it began. */
export function stateSince({ since, lastActivityAt, startedAt }: Session): string | null {
  return since ?? lastActivityAt ?? startedAt;
}

const COMPARE: Readonly<Record<Exclude<SessionColumn, 'state'>, (a: Session, b: Session) => number>> = {
  session: (a, b) => compareText(sessionName(a), sessionName(b)),
  server: (a, b) => compareText(a.carrier, b.carrier),
  directory: (a, b) => compareText(a.directory ?? '', b.directory ?? ''),
  host: (a, b) => compareText(a.host, b.host),
  // The longest is the most.
  for: (a, b) => compareTimes(stateSince(b), stateSince(a)),
};

/** The sort after a click on a column's head: the other way round on the chosen one, else its natural direction. */
export function nextSessionSort(sort: SessionSort, column: SessionColumn): SessionSort {
  if (sort.column === column) return { column, descending: !sort.descending };
  return { column, descending: column === 'state' || column === 'for' };
}

interface Family {
  readonly roots: readonly Session[];
  readonly childrenOf: ReadonlyMap<string, readonly Session[]>;
}

/** Who stands under whom. A session whose parent is not listed, or is its own descendant, stands for itself. */
function familyOf(sessions: readonly Session[]): Family {
  const byKey = new Map(sessions.map((session) => [session.key, session]));
  const isRoot = (session: Session): boolean => {
    const above = session.parent === null ? undefined : byKey.get(session.parent);
    if (above === undefined) return true;
    // Mostly its parent has none, and nothing needs to be remembered on the way up.
    if (above.parent === null) return false;
    const seen = new Set([session.key]);
    let { parent } = session;
    while (parent !== null && byKey.has(parent)) {
      if (seen.has(parent)) return parent === session.key;
      seen.add(parent);
      parent = byKey.get(parent)?.parent ?? null;
    }
    return false;
  };
  const roots: Session[] = [];
  const childrenOf = new Map<string, Session[]>();
  for (const session of sessions) {
    if (session.parent === null || isRoot(session)) {
      roots.push(session);
      continue;
    }
    const siblings = childrenOf.get(session.parent);
    if (siblings === undefined) childrenOf.set(session.parent, [session]);
    else siblings.push(session);
  }
  return { roots, childrenOf };
}

/** The deepest indentation; what is further down stands at the same edge. */
const DEPTH_MAX = 3;

interface Placed {
  readonly session: Session;
  readonly depth: number;
}

/** In the natural order: each family at the place of the one of it that comes first, children under their parents. */
function inFamilies(sessions: readonly Session[], descending: boolean): readonly Placed[] {
  const { roots, childrenOf } = familyOf(sessions);
  if (childrenOf.size === 0) {
    return [...roots].sort(descending ? byState : (a, b) => byState(b, a)).map((session) => ({ session, depth: 0 }));
  }
  const leaders = new Map<string, Session>();
  const leaderOf = (session: Session): Session => {
    const children = childrenOf.get(session.key);
    if (children === undefined) return session;
    const known = leaders.get(session.key);
    if (known !== undefined) return known;
    let leader = session;
    for (const child of children) {
      const other = leaderOf(child);
      if (byState(other, leader) < 0) leader = other;
    }
    leaders.set(session.key, leader);
    return leader;
  };
  const compare = (a: Session, b: Session): number => byState(leaderOf(a), leaderOf(b));
  const placed: Placed[] = [];
  const place = (session: Session, depth: number): void => {
    placed.push({ session, depth });
    const children = childrenOf.get(session.key);
    if (children === undefined) return;
    for (const child of [...children].sort(compare)) place(child, Math.min(depth + 1, DEPTH_MAX));
  };
  for (const root of [...roots].sort(descending ? compare : (a, b) => compare(b, a))) place(root, 0);
  return placed;
}

/** The rows of the sessions list, in order. */
export function sessionItems(request: SessionsRequest): readonly SessionItem[] {
  const { host, server, filter, sort } = request;
  const away = new Set(request.hosts.filter((entry) => !isReachable(entry)).map(({ name }) => name));
  const wanted = request.sessions.filter(
    (session) =>
      (host === null || session.host === host) &&
      (server === null || session.server === server) &&
      (filter === '' || sessionMatches(session, filter)),
  );
  let placed: readonly Placed[];
  if (sort.column === 'state') placed = inFamilies(wanted, sort.descending);
  else {
    const compare = COMPARE[sort.column];
    placed = wanted
      .sort((a, b) => (sort.descending ? compare(b, a) : compare(a, b)) || byState(a, b))
      .map((session) => ({ session, depth: 0 }));
  }
  return placed.map(({ session, depth }) => ({
    type: 'session',
    key: session.key,
    session,
    depth,
    past: !isLive(session) || away.has(session.host),
  }));
}

/** What typing letters is matched against: the title, then the folder. */
export function sessionNames({ session }: SessionItem): readonly string[] {
  const name = sessionName(session);
  return session.directory === null ? [name] : [name, pathTail(session.directory)];
}

interface StateLook {
  readonly shape: GlyphName;
  readonly tone: string;
}

const STATE_LOOKS: Readonly<Record<SessionState, StateLook>> = {
  busy: { shape: 'busy', tone: 'busy' },
  waiting: { shape: 'waiting', tone: 'suspect' },
  retrying: { shape: 'retrying', tone: 'busy' },
  error: { shape: 'fault', tone: 'suspect' },
  idle: { shape: 'idle', tone: 'quiet' },
  ended: { shape: 'ended', tone: 'quiet' },
  unknown: { shape: 'unknown', tone: 'quiet' },
};

/** A state's shape and colour. */
export function stateLook(state: SessionState): StateLook {
  return STATE_LOOKS[state];
}

/** What the footer says of the sessions shown. */
export function sessionsFooter(items: readonly SessionItem[]): string {
  return sessionCounts(items.map(({ session }) => session));
}

/** Why the list is empty, in a line. */
export function noSessions(roll: Pick<Roll, 'servers' | 'hosts'>, host: string | null): string {
  const servers = roll.servers.filter((server) => host === null || server.host === host);
  const where = host ?? 'any host';
  const known = servers.filter(({ sessions }) => sessions.known).length;
  const first = `No session on ${where}.`;
  if (servers.length === 0) return `${first} There is no server that could carry one.`;
  const looked = known === 0 ? '' : ` ${plural(known, 'server')} ${known === 1 ? 'was' : 'were'} asked.`;
  const hidden = servers.length - known;
  return hidden === 0
    ? `${first}${looked}`
    : `${first}${looked} Of ${plural(hidden, 'server')} the sessions cannot be seen; the servers view says why.`;
}
