import type { SessionFact } from '../kind.ts';
import type { SessionInfo, Status } from './session-event.ts';

const NOT_HEARD = 'nothing was heard of it since it is watched';
const NOT_HEARD_AGAIN = 'nothing was heard of it since the event stream came back';
const NOT_SAID = 'its events have not said yet what it does';

/** What is kept of one session; its own object, changed as the server tells of it. */
export interface SessionEntry {
  readonly id: string;
  title: string;
  directory: string | null;
  parent: string | null;
  createdAt: number | null;
  updatedAt: number | null;
  /** A person has put it away: it is gone as soon as it does nothing. */
  archived: boolean;
  /** The last whole list did not have it. */
  missing: boolean;
  /** Folder whose instance in the server told of it. */
  instance: string | null;
  heardAt: number | null;
  /** An event of this very connection told of it. */
  heardNow: boolean;
  /** Null as long as nothing has said it on this connection. */
  status: Status | null;
  /** When a part of a message came while the status was not known. */
  worksAt: number | null;
  failed: string | null;
  /** What it waits for, by request. */
  readonly asked: Map<string, string>;
  /** What was last read of it; null when that is no longer true. */
  fact: SessionFact | null;
}

export function newEntry(id: string): SessionEntry {
  return {
    id,
    title: '',
    directory: null,
    parent: null,
    createdAt: null,
    updatedAt: null,
    archived: false,
    missing: false,
    instance: null,
    heardAt: null,
    heardNow: false,
    status: null,
    worksAt: null,
    failed: null,
    asked: new Map(),
    fact: null,
  };
}

/** Nothing that was said on an earlier connection counts any more. */
export function doubt(entry: SessionEntry): void {
  entry.status = null;
  entry.worksAt = null;
  entry.heardNow = false;
  entry.failed = null;
  entry.asked.clear();
  entry.fact = null;
}

export function isEntryAtWork({ status, worksAt, asked }: SessionEntry): boolean {
  return asked.size > 0 || worksAt !== null || (status !== null && status.type !== 'idle');
}

/** Who is kept when there are too many: what works, then what was heard of, then what was updated last. */
export function byWorth(a: SessionEntry, b: SessionEntry): number {
  const rank = (entry: SessionEntry): number => (isEntryAtWork(entry) ? 2 : entry.heardAt === null ? 0 : 1);
  return rank(b) - rank(a) || (b.updatedAt ?? 0) - (a.updatedAt ?? 0) || (b.heardAt ?? 0) - (a.heardAt ?? 0);
}

/** @param broken why the stream is not open, a clause about the server; null while it is */
export function stateOf(entry: SessionEntry, broken: string | null): Pick<SessionFact, 'state' | 'detail'> {
  if (broken !== null) return { state: 'unknown', detail: broken };
  const { status, failed } = entry;
  const what = [...entry.asked.values()].at(-1);
  if (what !== undefined) return { state: 'waiting', detail: what };
  if (status === null) {
    if (entry.worksAt !== null) return { state: 'busy', detail: null };
    if (failed !== null) return { state: 'error', detail: failed };
    if (entry.heardNow) return { state: 'unknown', detail: NOT_SAID };
    return { state: 'unknown', detail: entry.heardAt === null ? NOT_HEARD : NOT_HEARD_AGAIN };
  }
  if (status.type === 'retrying' || status.type === 'unknown') return { state: status.type, detail: status.detail };
  if (status.type === 'busy') return { state: 'busy', detail: null };
  return failed === null ? { state: 'idle', detail: null } : { state: 'error', detail: failed };
}

export function factOf(entry: SessionEntry, broken: string | null): SessionFact {
  const { id, title, directory, parent, createdAt, updatedAt, heardAt, instance } = entry;
  return {
    id,
    title,
    directory: directory ?? instance,
    parent,
    ...stateOf(entry, broken),
    createdAt,
    updatedAt,
    heardAt,
    instance,
  };
}

/** Takes what is said about it. `sign` when only its time has changed. */
export function describeEntry(entry: SessionEntry, info: SessionInfo): 'news' | 'sign' | 'nothing' {
  const directory = info.directory ?? entry.directory;
  const createdAt = info.createdAt ?? entry.createdAt;
  const same =
    entry.title === info.title &&
    entry.directory === directory &&
    entry.parent === info.parent &&
    entry.createdAt === createdAt;
  const later = info.updatedAt !== null && info.updatedAt !== entry.updatedAt;
  entry.archived = info.archived;
  entry.missing = false;
  entry.title = info.title;
  entry.directory = directory;
  entry.parent = info.parent;
  entry.createdAt = createdAt;
  entry.updatedAt = info.updatedAt ?? entry.updatedAt;
  if (!same) return 'news';
  return later ? 'sign' : 'nothing';
}

/** Takes a status. True when its state reads differently for it. */
export function setStatus(entry: SessionEntry, status: Status): boolean {
  const before = stateOf(entry, null);
  entry.status = status;
  entry.worksAt = null;
  // What was asked and never answered ends with the turn; and it must not stand before a word that is not known.
  if (status.type === 'idle' || status.type === 'unknown') entry.asked.clear();
  if (status.type === 'busy' || status.type === 'retrying') entry.failed = null;
  const after = stateOf(entry, null);
  return before.state !== after.state || before.detail !== after.detail;
}
