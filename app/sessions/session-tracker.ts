/**
 * The sessions of one host: which are alive, on what, in which state and since when; and which have ended, and why. It is
 * told what servers say and which servers are gone, keeps the ledger of it, and asks and signals nothing itself.
 */
import { randomUUID } from 'node:crypto';
import type { ProcessIdentity } from '../identity/identity.ts';
import type { Session } from '../roll/schema.ts';
import type { SessionFact, SessionReading } from '../servers/kind.ts';
import type { EndReasons } from './end-reasons.ts';
import { EndedSessions, type Last } from './ended-sessions.ts';
import { endedRow, liveRow } from './rows.ts';
import type { SessionEnd, SessionRun } from './session-run.ts';
import {
  isLiveOn,
  isWorking,
  type ReportedSession,
  reportToShow,
  type SessionReport,
  type SessionSource,
  sessionKey,
  sourceKey,
  type Was,
} from './session-source.ts';

/** An ended session is shown for this long, in milliseconds, and no more of them than this. */
const SHOW_ENDED_MS = 3600 * 1000;
const SHOW_ENDED = 200;
/** Work that took less is no event of the timeline, in milliseconds. */
const WORTH_TELLING_MS = 1000;
const REMEMBER_GONE = 1000;
/** A server lists what it has every minute: one that is in no list for this long was deleted while nobody watched. Milliseconds. */
const MISSED_MS = 150_000;

const DELETED = { reason: 'deleted', text: 'it was deleted or put away' } as const;
const ENDED_BY_TOOL = { reason: 'ended', text: 'its tool ended it' } as const;

/** Where lives are written down. */
export interface SessionStore {
  /** ServerRegistry that have not ended, by key, of every host. */
  open(): ReadonlyMap<string, SessionRun>;
  begin(lives: readonly SessionRun[]): void;
  carry(lives: readonly SessionRun[]): void;
  end(endings: readonly { readonly life: SessionRun; readonly ending: SessionEnd }[]): void;
  recentlyEnded(): readonly { readonly life: SessionRun; readonly ending: SessionEnd }[];
}

/** What happened to a session, for the timeline. */
export type TrackerEvent =
  | { readonly type: 'started' | 'idle'; readonly life: SessionRun }
  | { readonly type: 'ended'; readonly life: SessionRun; readonly ending: SessionEnd };

export interface TrackerView {
  readonly hostId: string;
  /** Null where it is not known. */
  readonly bootId: string | null;
  readonly reports: readonly SessionReport[];
}

interface Entry {
  readonly key: string;
  life: SessionRun | null;
  carrier: SessionSource | null;
  fact: SessionFact;
  /** When its carrier last told of it, also over an earlier stream; on the monotonic clock. */
  heardAt: number | null;
  row: Session;
  /** Milliseconds since the epoch; null where its beginning was not seen. */
  since: number | null;
  /** Since when its server has not listed it although it lists everything, on the monotonic clock. */
  missedSince: number | null;
}

interface EndedEntry {
  readonly row: Session;
  readonly at: number;
}

export interface SessionTrackerDeps {
  /** Name of the host in the roll. */
  readonly host: string;
  /** Null where nothing is written: a command that only reads. */
  readonly ledger: SessionStore | null;
  readonly causes: EndReasons;
  /** Everything that one call has brought about. */
  readonly onEvents: (events: readonly TrackerEvent[]) => void;
  /** Milliseconds since the epoch. */
  readonly now?: () => number;
  /** Monotonic milliseconds. */
  readonly ticks?: () => number;
}

export class SessionTracker {
  readonly #parts: SessionTrackerDeps;
  readonly #now: () => number;
  readonly #ticks: () => number;
  readonly #entries = new Map<string, Entry>();
  /** Those that are still shown. */
  readonly #ended = new Map<string, EndedEntry>();
  readonly #over = new EndedSessions();
  /** Keys of facts: what did not change is not hashed again. */
  readonly #keys = new WeakMap<SessionFact, string>();
  /** Of readings: what they tell of that was worked on since their server runs. */
  readonly #alive = new WeakMap<
    SessionReading['sessions'],
    { readonly startedAt: number; readonly facts: ReadonlySet<SessionFact> }
  >();
  /** Carriers that are gone: a look that began before may still show them. */
  readonly #gone = new Set<string>();
  #events: TrackerEvent[] = [];
  #view: TrackerView | null = null;
  #rows: readonly Session[] = [];
  #counts: ReadonlyMap<string, { readonly live: number; readonly busy: number }> = new Map();

  constructor(parts: SessionTrackerDeps) {
    this.#parts = parts;
    this.#now = parts.now ?? Date.now;
    this.#ticks = parts.ticks ?? (() => performance.now());
  }

  /** Live ones first come as they are; ended ones at the end. The same array as long as nothing changed. */
  get rows(): readonly Session[] {
    return this.#rows;
  }

  /** How many sessions a server carries, by its row. */
  countOf(row: string): { readonly live: number; readonly busy: number } {
    return this.#counts.get(row) ?? { live: 0, busy: 0 };
  }

  /** Live sessions on a server, by its row. */
  on(row: string): Session[] {
    return this.#rows.filter((session) => session.server === row && session.state !== 'ended');
  }

  /** The session as its carrier last told of it; null for one that is not alive. */
  told(key: string): ReportedSession | null {
    const entry = this.#entries.get(key);
    return entry === undefined || entry.carrier === null ? null : { carrier: entry.carrier, fact: entry.fact };
  }

  /**
   * Takes in what every carrier tells now.
   *
   * @returns carriers of live sessions that are not among them any more: gone, or only not recognised. `gone` says so.
   */
  observe(all: TrackerView): ProcessIdentity[] {
    const view = {
      ...all,
      reports: all.reports.filter(({ carrier }) => !this.#gone.has(sourceKey(carrier.identity))),
    };
    if (this.#view === null) this.#takeUp(view);
    this.#view = view;
    const told = this.#gather(view);
    const ends: { entry: Entry; ending: SessionEnd }[] = [];
    for (const entry of this.#entries.values()) {
      if (!told.has(entry.key)) this.#unheard(entry, view, ends);
    }
    const begun: SessionRun[] = [];
    const carried: SessionRun[] = [];
    for (const [key, each] of told) this.#hear(key, each, begun, carried);
    if (begun.length > 0) this.#parts.ledger?.begin(begun);
    if (carried.length > 0) this.#parts.ledger?.carry(carried);
    this.#end(ends);
    this.#conclude();
    return this.#missing(view);
  }

  /** A server or process is provably gone: every session it carried has ended. */
  gone(carrier: ProcessIdentity): void {
    const key = sourceKey(carrier);
    this.#gone.delete(key);
    this.#gone.add(key);
    const [oldest] = this.#gone;
    if (this.#gone.size > REMEMBER_GONE && oldest !== undefined) this.#gone.delete(oldest);
    const cause = this.#parts.causes.of(carrier, this.#view?.bootId ?? null);
    const ends = [...this.#entries.values()]
      .filter(({ life }) => life !== null && isOn(life, key))
      .map((entry) => ({ entry, ending: this.#ending(cause) }));
    this.#end(ends);
    if (ends.length > 0) this.#conclude();
  }

  /** A person ended it. @returns false when it is not alive */
  ended(key: string): boolean {
    const entry = this.#entries.get(key);
    if (entry === undefined) return false;
    this.#end([{ entry, ending: this.#ending({ reason: 'ended', text: 'it was ended by a person' }) }]);
    this.#conclude();
    return true;
  }

  #ending({ reason, text }: Omit<SessionEnd, 'at'>): SessionEnd {
    return { at: new Date(this.#now()).toISOString(), reason, text };
  }

  /** What the ledger knows of this machine: lives that were open when its last writer went, and what ended a while ago. */
  #takeUp({ hostId }: TrackerView): void {
    const { ledger, host } = this.#parts;
    for (const [key, life] of ledger?.open() ?? []) {
      if (life.carrier.identity?.hostId !== hostId) continue;
      const fact = factOfLife(life);
      this.#entries.set(key, {
        key,
        life,
        carrier: null,
        fact,
        heardAt: null,
        row: liveRow({ key, host, life, fact, carrier: null, since: null, parent: null }),
        since: null,
        missedSince: null,
      });
    }
    // The oldest first, so that the latest are kept.
    for (const { life, ending } of [...(ledger?.recentlyEnded() ?? [])].reverse()) {
      if (life.carrier.identity?.hostId !== hostId || this.#entries.has(life.key)) continue;
      this.#keepEnded(life, ending, null, null);
    }
  }

  /** What is alive, by key, each with the carrier it is on. */
  #gather({ hostId, reports }: TrackerView): Map<string, ReportedSession> {
    const all = new Map<string, ReportedSession[]>();
    const carried = this.#carried();
    for (const telling of reports) {
      const { carrier } = telling;
      for (const fact of this.#maybeAlive(telling, carried.get(sourceKey(carrier.identity)))) {
        const each = { carrier, fact };
        const key = this.#keyOf(hostId, carrier, fact);
        if (!this.#isAlive(key, each)) continue;
        const others = all.get(key);
        if (others === undefined) all.set(key, [each]);
        else others.push(each);
      }
    }
    const chosen = new Map<string, ReportedSession>();
    for (const [key, told] of all) {
      const best = reportToShow(told, this.#was(key));
      if (best !== null) chosen.set(key, best);
    }
    return chosen;
  }

  /**
   * What may be alive of all that a carrier tells. Every server of a home tells of all that is stored there, again and
   * again, so what is only stored must cost nothing.
   *
   * @param own ids of what is alive on it
   */
  *#maybeAlive({ carrier, reading }: SessionReport, own: ReadonlySet<string> | undefined): Iterable<SessionFact> {
    if (reading === null) return;
    const { sessions } = reading;
    const { startedAt } = carrier;
    let known = this.#alive.get(sessions);
    if (known === undefined || known.startedAt !== startedAt) {
      known = { startedAt, facts: new Set([...sessions.values()].filter((fact) => isLiveOn({ carrier, fact }))) };
      this.#alive.set(sessions, known);
    }
    yield* known.facts;
    for (const id of own ?? []) {
      const fact = sessions.get(id);
      if (fact !== undefined && !known.facts.has(fact)) yield fact;
    }
  }

  /** Ids of what is alive, by the identity that it is on. */
  #carried(): Map<string, Set<string>> {
    const carried = new Map<string, Set<string>>();
    for (const { life } of this.#entries.values()) {
      const identity = life?.carrier.identity ?? null;
      if (life === null || identity === null) continue;
      const key = sourceKey(identity);
      const ids = carried.get(key);
      if (ids === undefined) carried.set(key, new Set([life.id]));
      else ids.add(life.id);
    }
    return carried;
  }

  #was(key: string): Was | null {
    const entry = this.#entries.get(key);
    const identity = entry?.life?.carrier.identity ?? null;
    if (entry === undefined || identity === null) return null;
    return { carrier: sourceKey(identity), heardAt: entry.heardAt };
  }

  #keyOf(hostId: string, { kind }: SessionSource, fact: SessionFact): string {
    const known = this.#keys.get(fact);
    if (known !== undefined) return known;
    const key = sessionKey(hostId, kind, fact.id);
    this.#keys.set(fact, key);
    return key;
  }

  #isAlive(key: string, told: ReportedSession): boolean {
    const entry = this.#entries.get(key);
    const on = entry?.life?.carrier.identity ?? null;
    if (on !== null && sourceKey(on) === sourceKey(told.carrier.identity)) return true;
    if (!isLiveOn(told)) return false;
    return entry !== undefined || !this.#over.isRest(key, told);
  }

  /** A live session of which no carrier tells now. */
  #unheard(entry: Entry, { reports }: TrackerView, ends: { entry: Entry; ending: SessionEnd }[]): void {
    const was = entry.life?.carrier.identity ?? null;
    if (was === null) {
      // Its carrier was never proved to be one: nothing ends, it is only not there any more.
      this.#entries.delete(entry.key);
      return;
    }
    const key = sourceKey(was);
    const telling = reports.find(({ carrier }) => sourceKey(carrier.identity) === key);
    // Without its carrier it is seen to when that is proved gone.
    if (telling === undefined) return;
    const { carrier, reading, why, by } = telling;
    if (reading?.deleted.has(entry.fact.id) === true) {
      const ending = by === 'files' ? ENDED_BY_TOOL : DELETED;
      ends.push({ entry, ending: this.#ending(ending) });
      return;
    }
    if (isWhole(reading)) {
      entry.missedSince ??= this.#ticks();
      if (this.#ticks() - entry.missedSince >= MISSED_MS) {
        ends.push({ entry, ending: this.#ending(DELETED) });
        return;
      }
    } else entry.missedSince = null;
    const detail = reading === null ? why : (reading.why ?? 'its server does not list it now');
    if (entry.carrier === carrier && entry.fact.state === 'unknown' && entry.fact.detail === detail) return;
    this.#tell(entry, carrier, { ...entry.fact, state: 'unknown', detail });
  }

  #hear(key: string, { carrier, fact }: ReportedSession, begun: SessionRun[], carried: SessionRun[]): void {
    const known = this.#entries.get(key);
    if (known !== undefined) {
      known.missedSince = null;
      // It was told of before its carrier could be proved to be the one.
      const isProved = known.life === null && carrier.proved;
      if (isProved) known.life = this.#newLife(key, carrier, fact);
      this.#tell(known, carrier, fact);
      const { life } = known;
      if (isProved && life !== null) this.#begin(life, begun);
      else if (life !== null && isNews(life, carrier, fact)) {
        known.life = { ...life, title: fact.title, directory: fact.directory, carrier: carrierOfLife(carrier) };
        carried.push(known.life);
      }
      return;
    }
    this.#ended.delete(key);
    this.#over.forget(key);
    const life: SessionRun | null = carrier.proved ? this.#newLife(key, carrier, fact) : null;
    const since = fact.state === 'idle' ? fact.updatedAt : fact.heardAt === null ? null : this.#now();
    const { heardAt } = fact;
    const row = this.#row({ key, life, carrier, fact, heardAt, since, missedSince: null });
    this.#entries.set(key, { key, life, carrier, fact, heardAt, row, since, missedSince: null });
    if (life !== null) this.#begin(life, begun);
  }

  #begin(life: SessionRun, begun: SessionRun[]): void {
    begun.push(life);
    this.#events.push({ type: 'started', life });
  }

  #newLife(key: string, carrier: SessionSource, fact: SessionFact): SessionRun {
    return {
      life: randomUUID(),
      key,
      id: fact.id,
      kind: carrier.kind,
      host: this.#parts.host,
      directory: fact.directory,
      title: fact.title,
      carrier: carrierOfLife(carrier),
      openedAt: new Date(this.#now()).toISOString(),
    };
  }

  #tell(entry: Entry, carrier: SessionSource, fact: SessionFact): void {
    if (entry.carrier === carrier && entry.fact === fact) return;
    const before = entry.fact.state;
    const worked = isWorking(before) && entry.since !== null && this.#now() - entry.since >= WORTH_TELLING_MS;
    const first = entry.carrier === null;
    if (before !== fact.state) entry.since = first && fact.state === 'idle' ? fact.updatedAt : this.#now();
    else if (first && fact.state === 'idle') entry.since = fact.updatedAt;
    const moved = entry.carrier !== null && sourceKey(entry.carrier.identity) !== sourceKey(carrier.identity);
    entry.heardAt = moved ? fact.heardAt : (fact.heardAt ?? entry.heardAt);
    entry.carrier = carrier;
    entry.fact = fact;
    entry.row = this.#row(entry, entry.row);
    if (worked && fact.state === 'idle' && entry.life !== null) this.#events.push({ type: 'idle', life: entry.life });
  }

  #row(entry: Omit<Entry, 'row'>, before: Session | null = null): Session {
    const { fact, carrier } = entry;
    const hostId = this.#view?.hostId ?? '';
    const parent = fact.parent === null || carrier === null ? null : sessionKey(hostId, carrier.kind, fact.parent);
    const row = liveRow({ ...entry, host: this.#parts.host, parent });
    return before !== null && sameRow(before, row) ? before : row;
  }

  #end(ends: readonly { readonly entry: Entry; readonly ending: SessionEnd }[]): void {
    const lives = ends.flatMap(({ entry, ending }) => (entry.life === null ? [] : [{ life: entry.life, ending }]));
    if (lives.length > 0) this.#parts.ledger?.end(lives);
    for (const { entry, ending } of ends) {
      this.#entries.delete(entry.key);
      if (entry.life === null) continue;
      this.#keepEnded(entry.life, ending, entry.row, { ...entry.fact, heardAt: entry.heardAt });
      this.#events.push({ type: 'ended', life: entry.life, ending });
    }
  }

  #keepEnded(life: SessionRun, ending: SessionEnd, last: Session | null, fact: Last | null): void {
    this.#over.note(life.key, ending, fact);
    const at = Date.parse(ending.at);
    this.#ended.delete(life.key);
    this.#ended.set(life.key, { row: endedRow({ ...life, host: this.#parts.host }, ending, last), at });
    const [oldest] = this.#ended.keys();
    if (this.#ended.size > SHOW_ENDED && oldest !== undefined) this.#ended.delete(oldest);
  }

  #missing({ reports }: TrackerView): ProcessIdentity[] {
    const present = new Set(reports.map(({ carrier }) => sourceKey(carrier.identity)));
    const missing = new Map<string, ProcessIdentity>();
    for (const { life } of this.#entries.values()) {
      const identity = life?.carrier.identity ?? null;
      if (identity !== null && !present.has(sourceKey(identity))) missing.set(sourceKey(identity), identity);
    }
    return [...missing.values()];
  }

  /** Shows and tells what has changed. */
  #conclude(): void {
    this.#rebuild();
    if (this.#events.length > 0) this.#parts.onEvents(this.#events.splice(0));
  }

  #rebuild(): void {
    const now = this.#now();
    for (const [key, { at }] of this.#ended) if (now - at > SHOW_ENDED_MS) this.#ended.delete(key);
    const rows = [
      ...[...this.#entries.values()].map(({ row }) => row),
      ...[...this.#ended.values()].map(({ row }) => row).reverse(),
    ];
    if (rows.length === this.#rows.length && rows.every((row, index) => row === this.#rows[index])) return;
    this.#rows = rows;
    const counts = new Map<string, { live: number; busy: number }>();
    for (const { server, state } of rows) {
      if (server === null || state === 'ended') continue;
      const { live, busy } = counts.get(server) ?? { live: 0, busy: 0 };
      counts.set(server, { live: live + 1, busy: busy + (isWorking(state) ? 1 : 0) });
    }
    this.#counts = counts;
  }
}

/** It lists everything it has. */
function isWhole(reading: SessionReading | null): boolean {
  return reading !== null && reading.why === null && !reading.truncated;
}

function isOn({ carrier: { identity } }: SessionRun, key: string): boolean {
  return identity !== null && sourceKey(identity) === key;
}

function carrierOfLife({ label, identity }: SessionSource): SessionRun['carrier'] {
  return { label, identity };
}

function isNews(life: SessionRun, carrier: SessionSource, fact: SessionFact): boolean {
  const { identity } = life.carrier;
  const moved = identity === null || sourceKey(identity) !== sourceKey(carrier.identity);
  return moved || life.title !== fact.title || life.directory !== fact.directory;
}

/** What is known of a life that was open when its last writer went. */
function factOfLife({ id, title, directory, openedAt }: SessionRun): SessionFact {
  return {
    id,
    title,
    directory,
    parent: null,
    state: 'unknown',
    detail: 'its server has not told of it yet',
    createdAt: Date.parse(openedAt),
    updatedAt: null,
    heardAt: null,
  };
}

function sameRow(a: Session, b: Session): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
