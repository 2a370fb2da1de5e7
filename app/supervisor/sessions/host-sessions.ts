/**
 * The sessions of one host as its supervisor keeps them: fed with every sight and with what only the streams tell, and told
 * which servers are gone, so that none of their sessions is left without an end.
 */
import { isDeepStrictEqual } from 'node:util';
import type { Audit } from '../../audit/audit.ts';
import type { ExitStatus, Host } from '../../hosts/host.ts';
import { identityKey, isSameProcess, type ProcessIdentity, type ProcessRef } from '../../identity/identity.ts';
import type { Server, Session, Task } from '../../roll/schema.ts';
import { type Cause, EndReasons } from '../../sessions/end-reasons.ts';
import { ForeignReports, type RowOf } from '../../sessions/foreign/foreign-reports.ts';
import type { ForeignSessions } from '../../sessions/foreign/watcher.ts';
import type { SessionRun } from '../../sessions/session-run.ts';
import type { ReportedSession, SessionReport } from '../../sessions/session-source.ts';
import { type SessionStore, SessionTracker, type TrackerEvent } from '../../sessions/session-tracker.ts';
import { rowName } from '../../text/words.ts';
import type { Mode } from '../core.ts';
import type { JudgedServer } from '../judged-server.ts';
import { exitWords, isCrash } from '../lifecycle/lifecycle.ts';
import type { JudgedLook } from '../monitor/host-monitor.ts';
import { carrierLabel } from '../monitor/session-reports.ts';

/** All that is kept of a carrier is its identity. */
const NO_EVIDENCE = { executable: null, argvHash: null };
/** More events of one kind at once are told in one line. */
const MAX_LINES = 20;
const MANY = { started: 'are alive', idle: 'are idle', ended: 'have ended' } as const;

export interface HostSessionsDeps {
  readonly host: Host;
  readonly audit: Audit;
  readonly self: 'app' | 'guard';
  /** A command that only reads writes no line either. */
  readonly mode: Mode;
  /** Null where nothing is known of earlier lives. */
  readonly keeping: SessionStore | null;
  /** Sessions that other tools tell of in files there; null where none are read. */
  readonly foreign: ((onChange: () => void) => ForeignSessions) | null;
}

export class HostSessions {
  readonly #parts: HostSessionsDeps;
  readonly #causes = new EndReasons();
  readonly #book: SessionTracker;
  readonly #foreign: ForeignSessions | null;
  readonly #foreignTellings = new ForeignReports();
  readonly #shown = new WeakMap<Server, Server>();
  #byRow: ReadonlyMap<string, SessionReport> = new Map();
  /** Carriers that are being asked after: their key, so that each is asked once at a time. */
  readonly #asked = new Set<string>();
  /** Endings under way, by the key of the leader: a second one may be refused while the first goes on. */
  readonly #endings = new Map<string, number>();
  #closed = false;

  /** @param onForeign what files tell has changed */
  constructor(parts: HostSessionsDeps, onForeign: () => void) {
    this.#parts = parts;
    this.#foreign = parts.foreign?.(onForeign) ?? null;
    this.#book = new SessionTracker({
      host: parts.host.name,
      ledger: parts.keeping,
      causes: this.#causes,
      onEvents: (events) => this.#tell(events),
    });
  }

  get rows(): readonly Session[] {
    return this.#book.rows;
  }

  /** Ids of sessions that files tell of. */
  get toldByFiles(): ReadonlySet<string> {
    return new Set(this.#foreign?.sessions.map(({ id }) => id));
  }

  /** Processes that carry sessions which files tell of, so that their exits are told. */
  carriersByFiles(): ProcessRef[] {
    const identities = (this.#foreign?.sessions ?? []).map(({ identity }) => identity);
    return identities.filter((identity) => identity !== null).map((identity) => ({ identity, evidence: NO_EVIDENCE }));
  }

  /** Why not every file is seen, or later than it could be, in a sentence; null when all is well. */
  get problem(): string | null {
    return this.#foreign?.problem ?? null;
  }

  /** Resolves when the files have been read anew. Never rejects. */
  async readFiles(): Promise<void> {
    await this.#foreign?.refresh();
  }

  told(key: string): ReportedSession | null {
    return this.#book.told(key);
  }

  /** Live sessions on a server, by its row. */
  on(row: string): Session[] {
    return this.#book.on(row);
  }

  /**
   * Takes in what is told. Resolves when carriers that are not seen any more have been asked after.
   *
   * @param told what the servers of the sight tell now
   * @returns whether that changed anything
   */
  async observe({ look, servers }: JudgedLook, told: readonly SessionReport[]): Promise<boolean> {
    const { hostId, bootId } = look.observer;
    const reports = [...told, ...this.#byFiles(servers, told)];
    this.#byRow = new Map(reports.flatMap((each) => (each.carrier.row === null ? [] : [[each.carrier.row, each]])));
    const missing = this.#book.observe({ hostId, bootId, reports });
    const gone = await Promise.all(missing.map((identity) => this.#isGone(identity)));
    // Whoever comes next has the ledger by now, and asks for itself.
    if (this.#closed) return false;
    let changed = false;
    for (const [index, identity] of missing.entries()) {
      if (gone[index] !== true) continue;
      this.#book.gone(identity);
      changed = true;
    }
    return changed;
  }

  #byFiles(servers: readonly JudgedServer[], told: readonly SessionReport[]): SessionReport[] {
    if (this.#foreign === null) return [];
    this.#foreign.lookIn(new Set(servers.flatMap(({ row }) => row.directory ?? [])));
    // entire tells of sessions by the ids of their own tools: what a server tells of is not told again.
    const isTold = (id: string): boolean => told.some(({ reading }) => reading?.sessions.has(id) === true);
    const sessions = this.#foreign.sessions.filter(({ id, tool }) => tool !== 'entire' || !isTold(id));
    return this.#foreignTellings.of(sessions, (identity) => rowOf(servers, identity));
  }

  /** One that is only not recognised any more is alive, and so are its sessions. */
  async #isGone(identity: ProcessIdentity): Promise<boolean> {
    const key = identityKey(identity);
    if (this.#asked.has(key)) return false;
    this.#asked.add(key);
    try {
      const { verdict } = await this.#parts.host.verify({ identity, evidence: NO_EVIDENCE });
      return verdict === 'gone' || verdict === 'zombie' || verdict === 'reused' || verdict === 'thread';
    } finally {
      this.#asked.delete(key);
    }
  }

  /** Somebody is about to end a server. What ends its sessions is said before anything is signalled. */
  ending(server: JudgedServer, cause: Cause): void {
    for (const { leader } of [server, ...server.surplus]) {
      const key = identityKey(leader.identity);
      this.#endings.set(key, (this.#endings.get(key) ?? 0) + 1);
      this.#causes.note(leader.identity, cause);
    }
  }

  /** It is over: the server is gone and so are its sessions, or the ending did not come about. */
  ended(server: JudgedServer, gone: boolean): void {
    for (const { leader } of [server, ...server.surplus]) {
      const key = identityKey(leader.identity);
      const others = (this.#endings.get(key) ?? 1) - 1;
      if (others > 0) this.#endings.set(key, others);
      else this.#endings.delete(key);
      if (gone) this.#book.gone(leader.identity);
      else if (others === 0) this.#causes.withdraw(leader.identity);
    }
  }

  /** A process has exited: if it carried sessions, they have ended. */
  exited(identity: ProcessIdentity, status: ExitStatus | null): void {
    const cause: Cause =
      status !== null && isCrash(status)
        ? { reason: 'server-crashed', text: `its server ended unexpectedly: ${exitWords(status)}` }
        : { reason: 'server-gone', text: `its server is gone: ${exitWords(status)}` };
    this.#causes.note(identity, cause);
    this.#book.gone(identity);
  }

  /** A person ended it. @returns false when it is not alive (any more) */
  endedByPerson(key: string): boolean {
    return this.#book.ended(key);
  }

  /** The row with what is known of its sessions; the same object for the same row as long as that does not change. */
  withSessions(row: Server): Server {
    const telling = this.#byRow.get(row.id);
    if (telling === undefined) return row;
    const { reading, why } = telling;
    const known = reading !== null && reading.why === null;
    const sessions: Server['sessions'] = known
      ? { known: true, ...this.#book.countOf(row.id) }
      : { known: false, why: reading?.why ?? why };
    const before = this.#shown.get(row);
    if (before !== undefined && isDeepStrictEqual(before.sessions, sessions)) return before;
    const shown = { ...row, sessions };
    this.#shown.set(row, shown);
    return shown;
  }

  /** Nothing ends any more. */
  close(): void {
    this.#closed = true;
    this.#foreign?.close();
  }

  /** Each is a line of the timeline; of very many at once there is one, since every line waits for the disk. */
  #tell(events: readonly TrackerEvent[]): void {
    const { audit, self, host, mode } = this.#parts;
    if (mode === 'read') return;
    for (const type of ['started', 'idle', 'ended'] as const) {
      const some = events.filter((event) => event.type === type);
      const [first] = some;
      if (first === undefined) continue;
      if (some.length <= MAX_LINES) for (const event of some) this.#line(event);
      else {
        const text = `${some.length} sessions on ${host.name} ${MANY[type]}, ${nameOf(first.life)} among them`;
        audit.note({ event: `session-${type}`, by: self, host: host.name, subject: 'sessions', text });
      }
    }
  }

  #line(event: TrackerEvent): void {
    const { audit, self, host } = this.#parts;
    const { life } = event;
    const { label, identity } = life.carrier;
    const name = nameOf(life);
    const text = textOf(event, name, label);
    audit.note({
      event: `session-${event.type}`,
      by: self,
      host: host.name,
      pid: identity?.pid ?? null,
      identity,
      session: life.key,
      subject: name,
      text,
    });
  }
}

function textOf(event: TrackerEvent, name: string, carrier: string): string {
  switch (event.type) {
    case 'started':
      return `${name} is alive on ${carrier}`;
    case 'idle':
      return `${name} on ${carrier} is idle`;
    case 'ended':
      return `${name} ended: ${event.ending.text}`;
  }
}

function nameOf({ title, id }: SessionRun): string {
  return title === '' ? `session ${id}` : `session “${title}”`;
}

/** The server that a process is, or is a wrapper of. */
function rowOf(servers: readonly JudgedServer[], identity: ProcessIdentity): RowOf | null {
  const server = servers.find(({ roots }) => roots.some((root) => isSameProcess(root.identity, identity)));
  return server === undefined ? null : { row: server.row.id, label: carrierLabel(server.row) };
}

/** What ends the sessions of a server that is stopped or reaped, and by whom. */
export function causeOfAct(
  act: Task['act'],
  { by, quitting }: { readonly by: string; readonly quitting?: boolean },
  row: Server,
): Cause {
  if (quitting === true) return { reason: 'quit', text: 'its server was stopped with Rollcall' };
  if (by === 'guard') return { reason: 'app-killed', text: 'its server was stopped after Rollcall was gone' };
  const word = { start: 'replaced', stop: 'stopped', restart: 'restarted', reap: 'reaped' }[act];
  const who = by === 'app' ? 'Rollcall' : by === 'cli' ? 'a command' : `the ${by}`;
  return { reason: 'server-stopped', text: `its server, ${rowName(row)}, was ${word} by ${who}` };
}
