import { plainLine } from '../plain-line.ts';

/** How long a part of a message shows that its session works, in milliseconds, when no status was seen. */
const PART_SIGN_MS = 10_000;
/** Titles kept for wording, and sessions kept as busy; the oldest go first. */
const TITLES_MAX = 1000;
const BUSY_MAX = 2000;
/** Longest id that is believed, and longest title that is shown, in characters. */
const ID_MAX = 200;
const TITLE_MAX = 60;

/** Which sessions of a server are busy, as far as its events tell. `now` is in milliseconds on the monotonic clock. */
export interface BusyState {
  /** Takes one parsed event; anything that is none is ignored. True when it told of something that happened, which heartbeats do not. */
  take(event: unknown, now: number): boolean;
  /** Busy sessions, by title where one is known, else by id. */
  busy(now: number): readonly string[];
  /** Sessions, named likewise, that were busy when the stream broke and of which no event has told since. */
  doubtful(): readonly string[];
  /** The stream broke: what was busy is in doubt until an event tells of it; titles stay true. */
  forget(): void;
}

type Fields = Readonly<Record<string, unknown>>;

function fields(value: unknown): Fields {
  return typeof value === 'object' && value !== null ? (value as Fields) : {};
}

function text(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null;
}

/** One line: titles are written by models and may hold anything. */
function plainTitle(title: string): string {
  return plainLine(title, TITLE_MAX);
}

function sessionOf(value: unknown): string | null {
  const id = text(value);
  return id !== null && id.length <= ID_MAX ? id : null;
}

/** Drops the oldest where there are too many. */
function bound(kept: { readonly size: number; keys(): Iterator<string>; delete(key: string): boolean }): void {
  const oldest = kept.size > BUSY_MAX ? kept.keys().next().value : undefined;
  if (oldest !== undefined) kept.delete(oldest);
}

/**
 * Learns busyness from opencode's events: `session.status` (busy, retry, idle), `session.idle`, `session.deleted`.
 *
 * A stream that opens in the middle of a turn is told no status, so a `message.part.updated` counts as a sign for a few
 * seconds; the session's own word, when it comes, decides.
 */
export function createBusyState(): BusyState {
  const busy = new Set<string>();
  const parts = new Map<string, number>();
  const doubts = new Set<string>();
  const titles = new Map<string, string>();

  const named = (session: string): string => titles.get(session) ?? plainTitle(session);

  const rest = (session: string): void => {
    busy.delete(session);
    parts.delete(session);
  };

  return {
    take(event, now) {
      const outer = fields(event);
      // `/global/event` wraps what `/event` sends bare.
      const { type, properties } = 'payload' in outer ? fields(outer['payload']) : outer;
      const name = text(type);
      if (name === null || name === 'server.heartbeat' || name === 'server.connected') return false;
      const about = fields(properties);
      const info = fields(about['info']);
      const part = fields(about['part']);
      const session = sessionOf(about['sessionID']) ?? sessionOf(part['sessionID']) ?? sessionOf(info['id']);
      if (session === null) return true;
      const speaksOfWork = name === 'session.idle' || name === 'session.deleted' || name === 'session.status';
      if (speaksOfWork || name === 'message.part.updated') doubts.delete(session);
      const title = text(info['title']);
      if (title !== null && name.startsWith('session.')) {
        titles.delete(session);
        titles.set(session, plainTitle(title));
        const [oldest] = titles.keys();
        if (titles.size > TITLES_MAX && oldest !== undefined) titles.delete(oldest);
      }
      if (name === 'session.status') {
        const status = text(fields(about['status'])['type']);
        if (status === 'busy' || status === 'retry') {
          busy.add(session);
          bound(busy);
        } else if (status === 'idle') rest(session);
      } else if (name === 'session.idle' || name === 'session.deleted') {
        rest(session);
      } else if (name === 'message.part.updated') {
        parts.set(session, now);
        bound(parts);
      }
      return true;
    },
    busy(now) {
      for (const [session, at] of parts) if (now - at > PART_SIGN_MS) parts.delete(session);
      return [...new Set([...busy, ...parts.keys()])].map(named);
    },
    doubtful: () => [...doubts].map(named),
    forget() {
      for (const session of [...busy, ...parts.keys()]) {
        doubts.add(session);
        bound(doubts);
      }
      busy.clear();
      parts.clear();
    },
  };
}
