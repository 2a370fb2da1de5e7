import type { SessionFact, SessionReading } from '../kind.ts';
import {
  byWorth,
  describeEntry,
  doubt,
  factOf,
  isEntryAtWork,
  newEntry,
  type SessionEntry,
  setStatus,
} from './session-entry.ts';
import type { SessionEvent, SessionInfo, SessionNews, Status } from './session-event.ts';

/** Sessions kept of one server, and how many more may come before the least of them are dropped. */
export const SESSIONS_MAX = 2000;
const SLACK = 200;
/** Ids kept of sessions that are gone, and requests kept of one session. */
const GONE_MAX = 1000;
const ASKED_MAX = 20;
/** A mere sign of life of a session is worth a new reading this often, in milliseconds. */
const SIGN_MS = 5000;
/** How long a part of a message shows that its session works, in milliseconds, as long as its status is not known. */
const PART_SIGN_MS = 10_000;

/** Why nothing is told before the first list, a clause about the server. */
export const NOT_LISTED = 'its sessions are not listed yet';

/** Whether a reading has changed in a way that somebody should be told of. */
export type Worth = 'news' | 'nothing';

/** What a server has told of its sessions. Every `now` is in milliseconds on the monotonic clock. */
export interface FeedState {
  /** The stream is open: nothing of an earlier one counts as known. */
  opened(): void;
  /** @param why a clause about the server */
  broke(why: string): void;
  take(event: SessionEvent, now: number): Worth;
  /** A page of the list of all sessions. */
  listed(infos: readonly SessionInfo[]): Worth;
  /**
   * The list was read to its end. What misses in two lists in a row is gone: much hangs on the end of a session, so one
   * list alone does not decide it.
   *
   * @param seen ids in it; null when it is longer than what is read, so that nothing follows from what is missing
   * @param since when its first page was asked for
   */
  complete(seen: ReadonlySet<string> | null, since: number): Worth;
  /** The last list missed something for the first time. */
  hasMissing(): boolean;
  /** Why the list cannot be had, a clause about the server; a list that this connection had before stays true. */
  unlisted(why: string): Worth;
  /**
   * What the instance of a folder says of all its sessions at once; those it leaves out are idle. It only fills in what
   * events have not said yet: they come in order, while the answer may be older or newer than any of them.
   *
   * @param since when it was asked
   */
  statuses(directory: string, statuses: ReadonlyMap<string, Status>, since: number, now: number): Worth;
  /** Lets signs of work fade that no status has confirmed. */
  fade(now: number): Worth;
  /** An event named a session of which nothing else is known, and no list was begun since. */
  hasStrangers(): boolean;
  reading(): SessionReading;
}

/** Adds to a set of which only the newest are kept. */
function remember(set: Set<string>, id: string): void {
  set.delete(id);
  set.add(id);
  const [oldest] = set;
  if (set.size > GONE_MAX && oldest !== undefined) set.delete(oldest);
}

/** Keeps what a server's events and its list tell of its sessions. Bounded, whatever they tell. */
export function createSessionState(): FeedState {
  const entries = new Map<string, SessionEntry>();
  const gone = new Set<string>();
  /** Deleted by the server's own word: a page of a list that was read before must not bring them back. */
  const buried = new Set<string>();
  /** Folders whose statuses this connection has told, with when they were asked: what is listed later is covered, too. */
  const answered = new Map<string, number>();
  let why: string | null = NOT_LISTED;
  let broken: string | null = 'its event stream is not open yet';
  let everListed = false;
  let truncated = false;
  let dropped = false;
  /** When an event last named a session that no list has told of. */
  let strangerAt: number | null = null;
  let missing = false;
  let reading: SessionReading | null = null;
  /** The copy of `gone` that was handed out; null when that is no longer true. */
  let deleted: ReadonlySet<string> | null = null;

  const changed = (entry: SessionEntry): Worth => {
    entry.fact = null;
    reading = null;
    return 'news';
  };

  const prune = (): void => {
    const sorted = [...entries.values()].sort(byWorth);
    for (const { id } of sorted.slice(SESSIONS_MAX)) entries.delete(id);
    dropped = true;
    reading = null;
  };

  const entryOf = (id: string): SessionEntry => {
    const known = entries.get(id);
    if (known !== undefined) return known;
    const entry = newEntry(id);
    entries.set(id, entry);
    if (gone.delete(id)) deleted = null;
    reading = null;
    if (entries.size > SESSIONS_MAX + SLACK) prune();
    return entry;
  };

  const end = (id: string): Worth => {
    entries.delete(id);
    remember(gone, id);
    deleted = null;
    reading = null;
    return 'news';
  };

  /** A sign of life is told of at once only if the last one that was read is long ago. */
  const sign = (entry: SessionEntry, now: number): Worth => {
    const { fact } = entry;
    if (fact === null || (fact.heardAt !== null && now - fact.heardAt < SIGN_MS)) return 'nothing';
    return changed(entry);
  };

  /** Idle by what its folder has said: left out of the statuses, and without a sign of work since. */
  const settle = (entry: SessionEntry, directory: string, since: number): Worth => {
    // A part of a message that came after the question shows a turn that the answer may not know.
    if (entry.status !== null || (entry.worksAt ?? since) > since) return 'nothing';
    if ((entry.instance ?? entry.directory) !== directory || !setStatus(entry, { type: 'idle' })) return 'nothing';
    return entry.archived ? end(entry.id) : changed(entry);
  };

  const dispose = (directory: string | null): Worth => {
    if (directory === null) answered.clear();
    else answered.delete(directory);
    let worth: Worth = 'nothing';
    for (const entry of entries.values()) {
      if (directory !== null && (entry.instance ?? entry.directory) !== directory) continue;
      if (setStatus(entry, { type: 'idle' })) worth = entry.archived ? end(entry.id) : changed(entry);
    }
    return worth;
  };

  /** True when it reads differently for it. */
  const apply = (
    entry: SessionEntry,
    news: Exclude<SessionNews, { type: 'deleted' | 'disposed' }>,
    now: number,
  ): boolean => {
    switch (news.type) {
      case 'info': {
        const isNew = describeEntry(entry, news.info) === 'news';
        return (news.created && entry.status === null && setStatus(entry, { type: 'idle' })) || isNew;
      }
      case 'status':
        return setStatus(entry, news.status);
      case 'asked':
        if (entry.asked.size >= ASKED_MAX || entry.asked.has(news.request)) return false;
        entry.asked.set(news.request, news.what);
        return true;
      case 'answered':
        return entry.asked.delete(news.request);
      case 'failed':
        if (entry.failed === news.why) return false;
        entry.failed = news.why;
        return true;
      case 'works': {
        if (entry.status !== null) return false;
        const isNew = entry.worksAt === null;
        entry.worksAt = now;
        return isNew;
      }
      case 'heard':
        return false;
    }
  };

  return {
    opened() {
      broken = null;
      why = NOT_LISTED;
      everListed = false;
      answered.clear();
      for (const entry of entries.values()) entry.fact = null;
      reading = null;
    },
    broke(cause) {
      broken = cause;
      why = cause;
      for (const entry of entries.values()) doubt(entry);
      reading = null;
    },
    take({ news, instance }, now) {
      if (news.type === 'disposed') return dispose(news.directory);
      const id = news.type === 'info' ? news.info.id : news.id;
      if (news.type === 'deleted') {
        remember(buried, id);
        return end(id);
      }
      if (buried.has(id)) return 'nothing';
      const isNew = !entries.has(id);
      // What was put away or vanished stays away until something describes it again, or it works.
      const works = news.type === 'status' ? news.status.type !== 'idle' : news.type === 'asked';
      if (isNew && !works && (news.type === 'info' ? news.info.archived : gone.has(id))) return 'nothing';
      const entry = entryOf(id);
      if (isNew && news.type !== 'info') strangerAt = now;
      const moved = instance !== null && entry.instance !== instance;
      if (moved) entry.instance = instance;
      const isNews = apply(entry, news, now) || isNew || moved || !entry.heardNow;
      entry.heardAt = now;
      entry.heardNow = true;
      if (entry.archived && !isEntryAtWork(entry)) return end(id);
      return isNews ? changed(entry) : sign(entry, now);
    },
    listed(infos) {
      let worth: Worth = 'nothing';
      for (const info of infos) {
        if (buried.has(info.id)) continue;
        const isNew = !entries.has(info.id);
        if (isNew && info.archived) continue;
        const entry = entryOf(info.id);
        if (describeEntry(entry, info) !== 'nothing' || isNew) worth = changed(entry);
        const folder = entry.instance ?? entry.directory;
        const since = folder === null ? undefined : answered.get(folder);
        if (entry.archived && !isEntryAtWork(entry)) worth = end(info.id);
        else if (folder !== null && since !== undefined && settle(entry, folder, since) === 'news') worth = 'news';
      }
      return worth;
    },
    complete(seen, since) {
      let worth: Worth = why === broken ? 'nothing' : 'news';
      if (seen !== null) {
        missing = false;
        for (const entry of [...entries.values()]) {
          if (seen.has(entry.id) || (entry.heardAt ?? Number.NEGATIVE_INFINITY) >= since) entry.missing = false;
          else if (entry.missing) worth = end(entry.id);
          else entry.missing = missing = true;
        }
      }
      const more = seen === null || dropped;
      if (more !== truncated) worth = 'news';
      truncated = more;
      dropped = false;
      if (strangerAt !== null && strangerAt < since) strangerAt = null;
      everListed = true;
      why = broken;
      if (worth === 'news') reading = null;
      return worth;
    },
    unlisted(cause) {
      strangerAt = null;
      if (everListed || broken !== null || why === cause) return 'nothing';
      why = cause;
      reading = null;
      return 'news';
    },
    statuses(directory, statuses, since, now) {
      let worth: Worth = 'nothing';
      for (const [id, status] of statuses) {
        if (buried.has(id)) continue;
        const entry = entryOf(id);
        entry.instance = directory;
        entry.heardAt = now;
        entry.heardNow = true;
        if (entry.status === null) setStatus(entry, status);
        worth = changed(entry);
      }
      answered.set(directory, since);
      for (const entry of entries.values()) if (settle(entry, directory, since) === 'news') worth = 'news';
      return worth;
    },
    fade(now) {
      let worth: Worth = 'nothing';
      for (const entry of entries.values()) {
        if (entry.worksAt === null || now - entry.worksAt <= PART_SIGN_MS) continue;
        entry.worksAt = null;
        worth = entry.archived ? end(entry.id) : changed(entry);
      }
      return worth;
    },
    hasStrangers: () => strangerAt !== null,
    hasMissing: () => missing,
    reading() {
      if (reading !== null) return reading;
      if (entries.size > SESSIONS_MAX) prune();
      const sessions = new Map<string, SessionFact>();
      for (const entry of entries.values()) {
        entry.fact ??= factOf(entry, broken);
        sessions.set(entry.id, entry.fact);
      }
      deleted ??= new Set(gone);
      reading = { why, sessions, deleted, truncated: truncated || dropped };
      return reading;
    },
  };
}
