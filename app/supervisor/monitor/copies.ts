/**
 * Copies of one session: a program that resumes a conversation again and again without ending the process before
 * leaves a dozen that all carry it. They are one row. Reaping it ends the surplus, never the newest. Pure.
 */
import type { ProcessInfo } from '../../hosts/host.ts';
import { type Server, STANDINGS } from '../../roll/schema.ts';
import type { ServerGroup } from '../../servers/recognition/group.ts';
import { plural } from '../../text/words.ts';
import type { JudgedServer } from '../judged-server.ts';
import { reapPermission, stopPermission } from '../standing/permissions.ts';
import type { ClientFact } from '../standing/standing.ts';
import { sumOrNull } from './server-words.ts';

/** Session ids are long; a sentence needs no more of one to tell it from others. */
const ID_LENGTH = 12;

function shortId(session: string): string {
  return session.length > ID_LENGTH ? `${session.slice(0, ID_LENGTH)}…` : session;
}

/** Rows as they are shown: what carries one session becomes one, in the place of its first. */
export function collapseCopies(servers: readonly JudgedServer[]): JudgedServer[] {
  const bySession = new Map<string, JudgedServer[]>();
  for (const server of servers) {
    if (server.session === null) continue;
    const key = JSON.stringify([server.row.kind, server.session, server.leader.uid]);
    bySession.set(key, [...(bySession.get(key) ?? []), server]);
  }
  const first = new Map<JudgedServer, JudgedServer>();
  const dropped = new Set<JudgedServer>();
  for (const copies of bySession.values()) {
    const [place, ...rest] = copies;
    if (place === undefined || rest.length === 0) continue;
    first.set(place, oneRow(copies));
    for (const each of rest) dropped.add(each);
  }
  return servers.filter((server) => !dropped.has(server)).map((server) => first.get(server) ?? server);
}

/** The copy that most likely carries the conversation on: the newest of those that somebody wants, else of all. */
function keptOf(copies: readonly JudgedServer[]): JudgedServer | undefined {
  return [...copies].sort(
    (a, b) => rank(a) - rank(b) || startOf(b.leader) - startOf(a.leader) || b.row.pid - a.row.pid,
  )[0];
}

/** 0 for a copy under a living owner or one that is meant to stay; 1 for the rest. */
function rank({ row }: JudgedServer): number {
  return row.standing === 'suspect' || row.standing === 'leaked' ? 1 : 0;
}

/** Order of starts within one boot: ticks where there are some. */
function startOf({ startTime, startedAt }: ProcessInfo): number {
  return startTime.startsWith('linux:') ? Number(startTime.slice('linux:'.length)) : startedAt;
}

function oneRow(copies: readonly JudgedServer[]): JudgedServer {
  const kept = keptOf(copies);
  if (kept === undefined) throw new Error('a session has no copies');
  const surplus = copies.filter((copy) => copy !== kept);
  const all = [...surplus, kept];
  const rows = all.map(({ row }) => row);
  const sum = (of: (row: Server) => number): number => rows.reduce((total, row) => total + of(row), 0);
  // The best of their standings: as long as somebody wants one copy, none of them is anybody's to take unasked.
  const decides = [...all].sort((a, b) => STANDINGS.indexOf(a.row.standing) - STANDINGS.indexOf(b.row.standing))[0];
  const deciding = decides === undefined || decides.row.standing === kept.row.standing ? kept.row : decides.row;
  const atWork = busiest(rows);
  const permission = {
    standing: deciding.standing,
    ...busiest(surplus.map(({ row }) => row)),
    uid: kept.leader.uid,
    ownUid: kept.row.ownUid,
    // Each copy proves itself again when its turn comes.
    unproved: null,
    reason: deciding.reasons[0] ?? '',
  };
  const row: Server = {
    ...kept.row,
    pids: rows.flatMap(({ pids }) => pids),
    standing: deciding.standing,
    reasons: [...deciding.reasons, copiesSentence(kept, all.length)],
    checks: deciding.checks,
    owner: deciding.owner,
    ...atWork,
    processes: rows.flatMap(({ processes }) => processes),
    rssBytes: sum(({ rssBytes }) => rssBytes),
    memoryBytes: sum(({ memoryBytes }) => memoryBytes),
    cpuPercent: sumOrNull(rows.map(({ cpuPercent }) => cpuPercent)),
    duplicates: rows.length,
    keeps: { pid: kept.row.pid, memoryBytes: kept.row.memoryBytes },
    growing: rows.find(({ growing }) => growing !== null)?.growing ?? null,
    reap: reapPermission(permission),
    stop: stopPermission(permission),
    restart: stopPermission(permission),
  };
  return { ...kept, row, roots: all.flatMap(({ roots }) => roots), surplus };
}

function copiesSentence({ row, session }: JudgedServer, count: number): string {
  const carry = `${plural(count, 'process', 'processes')} carry the session ${shortId(session ?? '')}`;
  return `${carry}; PID ${row.pid} is kept when the rest are reaped`;
}

/** Busy if one is; unknown if that of one is; else idle. */
function busiest(rows: readonly Server[]): Pick<Server, 'busy' | 'busySign'> {
  const found = rows.find(({ busy }) => busy === 'busy') ?? rows.find(({ busy }) => busy === 'unknown') ?? rows[0];
  return { busy: found?.busy ?? 'unknown', busySign: found?.busySign ?? '' };
}

/** A server that carries sessions in processes of their own is used by whoever speaks in them; null when it carries none. */
export function carriedFact(leader: number, groups: readonly ServerGroup[]): ClientFact | null {
  const carried = groups.filter(({ within, recognition }) => within === leader && recognition.subject !== null);
  if (carried.length === 0) return null;
  const sessions = new Set(carried.map(({ recognition }) => recognition.subject)).size;
  const processes = plural(carried.length, 'process', 'processes');
  return { state: 'some', count: sessions, fact: `it carries ${plural(sessions, 'session')} in ${processes}` };
}
