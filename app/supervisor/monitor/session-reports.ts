/** What the servers of a look tell of their sessions, for the book. Carriers keep their object as long as they are the same. */
import { identityKey } from '../../identity/identity.ts';
import type { Server } from '../../roll/schema.ts';
import type { SessionFact, SessionReading } from '../../servers/kind.ts';
import type { SessionReport, SessionSource } from '../../sessions/session-source.ts';
import type { JudgedServer } from '../judged-server.ts';
import type { Probes } from './probes.ts';

const NONE: ReadonlySet<string> = new Set();

interface Kept {
  readonly carrier: SessionSource;
  readonly signature: string;
  /** Of a process that carries one session of its own, and says nothing of it. */
  readonly own: SessionReading | null;
}

export class SessionReports {
  #kept = new Map<string, Kept>();

  /** @param told ids of sessions that are told of by other means: a server that was started for one of them does not tell of it again */
  of(servers: readonly JudgedServer[], probes: Pick<Probes, 'sessions'>, told: ReadonlySet<string>): SessionReport[] {
    const kept = new Map<string, Kept>();
    const others = servers.filter(({ session }) => session === null || !told.has(session));
    const reports = others.map((server): SessionReport => {
      const { carrier, own } = this.#keep(server, kept);
      const told = server.row.ownUid ? probes.sessions(server.leader.identity) : null;
      const reading = own ?? told;
      return { carrier, reading, why: whyUnknown(server), by: 'server' };
    });
    this.#kept = kept;
    return reports;
  }

  #keep(server: JudgedServer, kept: Map<string, Kept>): Kept {
    const { row, leader, kind, endpoint, session } = server;
    const key = identityKey(leader.identity);
    const noActs = whyNoActs(server);
    const signature = JSON.stringify([row.id, carrierLabel(row), row.directory, row.url, noActs, session]);
    const before = this.#kept.get(key);
    if (before?.signature === signature) {
      kept.set(key, before);
      return before;
    }
    const acts = endpoint === null ? null : (kind?.sessionActs ?? null);
    const { url } = row;
    const carrier: SessionSource = {
      identity: leader.identity,
      kind: row.kind,
      row: row.id,
      label: carrierLabel(row),
      directory: row.directory,
      startedAt: leader.startedAt,
      proved: row.ownUid,
      acts: noActs === null,
      noActs: noActs ?? '',
      attach: (id) => (acts === null || url === null ? null : acts.attach(url, id)),
    };
    const own = session === null ? null : ownSession(session, row);
    const entry = { carrier, signature, own };
    kept.set(key, entry);
    return entry;
  }
}

/** What carries a session, as rows name it. */
export function carrierLabel(row: Server): string {
  const port = row.listening[0]?.port ?? null;
  return port === null ? `${row.kind}, PID ${row.pid}` : `${row.kind} :${port}`;
}

/** A process that was started for one session: that is all it says. */
function ownSession(id: string, row: Server): SessionReading {
  const startedAt = Date.parse(row.startedAt);
  const fact: SessionFact = {
    id,
    title: '',
    directory: row.directory,
    parent: null,
    state: 'unknown',
    detail: 'its process does not say what it does',
    createdAt: null,
    updatedAt: startedAt,
    heardAt: null,
  };
  return { why: null, sessions: new Map([[id, fact]]), deleted: NONE, truncated: false };
}

function whyNoActs({ row, kind, endpoint }: JudgedServer): string | null {
  if (!row.ownUid) return 'It belongs to another user, whose processes Rollcall leaves alone.';
  if ((kind?.sessionActs ?? null) === null) return `${row.kind} offers no way to interrupt it from outside.`;
  if (endpoint === null) return 'There is no way to its server from here.';
  return row.health === 'locked' ? 'Its server is locked behind a password.' : null;
}

function whyUnknown({ row, kind, endpoint }: JudgedServer): string {
  if (!row.ownUid) return 'it belongs to another user';
  if (kind === null || kind.watch === null) return kind?.sessionsWhy ?? `${row.kind} does not tell of its sessions`;
  if (row.health === 'locked') return 'it is locked behind a password';
  if (endpoint === null) return 'it opens no port on this machine';
  return row.health === 'ok' ? 'it has not told of them yet' : 'it does not answer';
}
