import { identityKey, type ProcessIdentity } from '../../identity/identity.ts';
import type { SessionFact } from '../../servers/kind.ts';
import type { SessionReport, SessionSource } from '../session-source.ts';
import type { ForeignSession } from './session.ts';

/** The row of a server, for a session that it carries. */
export interface RowOf {
  readonly row: string;
  readonly label: string;
}

interface Carried {
  readonly session: ForeignSession;
  readonly carrier: SessionSource;
  readonly fact: SessionFact;
}

interface Group {
  readonly carrier: SessionSource;
  readonly facts: Map<string, SessionFact>;
  readonly deleted: Set<string>;
}

/** Says what the files of other tools tell in the words of the book of sessions. Pure but for its memory of what it said. */
export class ForeignReports {
  readonly #carriers = new Map<string, SessionSource>();
  /** By id; also of ended ones, as long as they are listed. */
  #carried: ReadonlyMap<string, Carried> = new Map();
  #groups: ReadonlyMap<string, { readonly group: Group; readonly telling: SessionReport }> = new Map();

  /**
   * One telling for each process that carries sessions. What does not change is the same object again. A process that is
   * gone is told of no more, so that whoever kept its identity asks after it. A session of which no process is known,
   * since it runs elsewhere or could not be looked at, is in none.
   *
   * @param rowOf the listed server with that identity; null for a process that is none
   */
  of(sessions: readonly ForeignSession[], rowOf: (identity: ProcessIdentity) => RowOf | null): SessionReport[] {
    const carried = new Map<string, Carried>();
    const groups = new Map<string, Group>();
    const gone = new Set<string>();
    for (const session of sessions) {
      const before = this.#carried.get(session.id);
      // It has ended with its process: that is for whoever kept the identity to prove.
      if (session.endedBy === 'carrier') {
        if (before === undefined) continue;
        carried.set(session.id, before);
        gone.add(keyOf(before.carrier));
        continue;
      }
      const carrier = this.#carrierOf(session, before, rowOf);
      if (carrier === null) continue;
      const key = keyOf(carrier);
      const group = groups.get(key) ?? { carrier, facts: new Map(), deleted: new Set() };
      groups.set(key, group);
      const same = before?.session === session && before.carrier === carrier;
      const fact = same ? before.fact : factOf(session);
      carried.set(session.id, { session, carrier, fact });
      if (session.state === 'ended') group.deleted.add(session.id);
      else group.facts.set(session.id, fact);
    }
    for (const key of gone) groups.delete(key);
    this.#carried = carried;
    this.#groups = new Map([...groups].map(([key, group]) => [key, this.#told(key, group)]));
    for (const key of this.#carriers.keys()) if (!groups.has(key)) this.#carriers.delete(key);
    return [...this.#groups.values()].map(({ telling }) => telling);
  }

  #carrierOf(session: ForeignSession, before: Carried | undefined, rowOf: (id: ProcessIdentity) => RowOf | null) {
    if (session.endedBy === 'tool') return before?.carrier ?? null;
    const identity = session.identity ?? session.at;
    // Not to be read for a moment: it is where it was.
    if (identity === null) return before !== undefined && session.pid === before.session.pid ? before.carrier : null;
    if (session.identity === null && before?.carrier.proved === true) return before.carrier;
    const row = rowOf(identity);
    const carrier: SessionSource = {
      identity,
      kind: session.tool,
      row: row?.row ?? null,
      label: row?.label ?? `${session.carrier}, PID ${identity.pid}`,
      directory: session.directory,
      startedAt: session.startedAt ?? 0,
      proved: session.identity !== null,
      acts: false,
      noActs: `Rollcall can only watch sessions that ${session.tool} tells of. Use ${session.carrier} itself.`,
      attach: () => null,
    };
    const known = this.#carriers.get(keyOf(carrier));
    if (known !== undefined && sameCarrier(known, carrier)) return known;
    this.#carriers.set(keyOf(carrier), carrier);
    return carrier;
  }

  #told(key: string, group: Group): { group: Group; telling: SessionReport } {
    const before = this.#groups.get(key);
    if (before !== undefined && sameGroup(before.group, group)) return before;
    const { carrier, facts, deleted } = group;
    const reading = { why: null, sessions: facts, deleted, truncated: false };
    return { group, telling: { carrier, reading, why: '', by: 'files' } };
  }
}

function keyOf({ identity, kind }: SessionSource): string {
  return `${kind} ${identityKey(identity)}`;
}

function factOf(session: ForeignSession): SessionFact {
  const { id, title, directory, state, detail, startedAt, updatedAt } = session;
  return {
    id,
    title,
    directory,
    parent: null,
    state: state === 'ended' ? 'unknown' : state,
    detail,
    createdAt: startedAt,
    updatedAt,
    // Its file tells of this very process, however long ago it was written.
    heardAt: performance.now(),
  };
}

function sameCarrier(one: SessionSource, other: SessionSource): boolean {
  return (
    one.row === other.row &&
    one.label === other.label &&
    one.directory === other.directory &&
    one.startedAt === other.startedAt &&
    one.proved === other.proved
  );
}

function sameGroup(one: Group, other: Group): boolean {
  return (
    one.carrier === other.carrier &&
    one.facts.size === other.facts.size &&
    [...other.facts].every(([id, fact]) => one.facts.get(id) === fact) &&
    one.deleted.size === other.deleted.size &&
    [...other.deleted].every((id) => one.deleted.has(id))
  );
}
