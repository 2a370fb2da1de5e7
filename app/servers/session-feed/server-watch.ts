import { throttle } from '../../util/throttle.ts';
import { jsonObject, versionText } from '../client/health.ts';
import { ask } from '../client/http.ts';
import type { Endpoint, ServerWatch } from '../kind.ts';
import { followEvents, TIMING as STREAM_TIMING, type StreamTiming } from './event-stream.ts';
import { readSessionEvent } from './session-event.ts';
import { askStatuses, listSessions } from './session-list.ts';
import { createSessionState, type Worth } from './session-state.ts';

/** Folders whose instances are asked on one connection. */
const FOLDERS_MAX = 100;
/** A list that takes long is asked for less often: at most this part of the time goes into it. */
const LIST_SHARE = 0.02;
const HEALTH_DEADLINE_MS = 5000;
/** What was let go of is not asked about because of a tool that is seen there, for this long in milliseconds. */
const LET_GO_MS = 30_000;

export interface FeedTiming extends StreamTiming {
  /** Changes within this long are told together. */
  readonly gatherMs: number;
  /** Between two lists while all is well. */
  readonly pollMs: number;
  /**
   * Before a list that failed is asked for again; doubles up to `pollMs`. Also before another list is asked for what
   * the last one did not have: a session that an event named, or one that was known.
   */
  readonly relistMs: number;
  /** Before a folder whose instance did not answer is asked again. */
  readonly askAgainMs: number;
  /** How often it is noticed that a sign of work has faded. */
  readonly fadeMs: number;
}

const TIMING: FeedTiming = {
  ...STREAM_TIMING,
  gatherMs: 100,
  pollMs: 60_000,
  relistMs: 5000,
  askAgainMs: 10_000,
  fadeMs: 5000,
};

/**
 * Whether a version of the server lists its sessions without loading anything; else why it is not asked, a clause
 * about it. Null stands for a version that it did not tell.
 */
export type ListsPassively = (version: string | null) => true | string;

/**
 * Watches a server of opencode's family: busyness and sessions by its global event stream, and by its list of sessions
 * when the stream opens, after each reconnect, and now and then. Everything it asks is passive; the statuses of a folder
 * are asked only while events of this very connection show that its instance runs. Its timers keep no process alive.
 */
export function watchServer(
  endpoint: Endpoint,
  onChange: () => void,
  listsPassively: ListsPassively,
  timing: FeedTiming = TIMING,
): ServerWatch {
  const state = createSessionState();
  const changed = throttle(onChange, timing.gatherMs);
  /** Ends with the connection, and everything that is asked because of it. */
  let connection = new AbortController();
  let poll: NodeJS.Timeout | undefined;
  let failures = 0;
  let listing = false;
  let listedAt = Number.NEGATIVE_INFINITY;
  /** A list is set for a session that an event has named. */
  let lookingUp = false;
  /** Folders whose instances run, with the time before which they need no question. */
  const folders = new Map<string, number>();
  let asking = false;
  const queue = new Set<string>();

  /** When folders were let go of, and when all of them were: a tool that is seen there later may be on its way out. */
  const letGo = new Map<string, number>();
  let allLetGoAt = Number.NEGATIVE_INFINITY;
  let open = false;

  const tell = (worth: Worth): void => {
    if (worth === 'news') changed();
  };

  const listIn = (ms: number): void => {
    clearTimeout(poll);
    poll = setTimeout(() => void list(connection.signal), ms).unref();
  };

  const readList = async (signal: AbortSignal): Promise<void> => {
    const began = performance.now();
    const health = await ask(endpoint, {
      method: 'GET',
      path: '/global/health',
      deadlineMs: HEALTH_DEADLINE_MS,
      signal,
    });
    if (signal.aborted) return;
    const version = health.state === 'answered' ? versionText(jsonObject(health.body)?.['version']) : null;
    const passive = version === null ? 'it does not tell its version' : listsPassively(version);
    const listed =
      passive === true
        ? await listSessions(
            endpoint,
            (infos) => {
              if (!signal.aborted) tell(state.listed(infos));
            },
            signal,
          )
        : ({ state: 'failed', why: passive } as const);
    if (signal.aborted) return;
    listedAt = performance.now();
    if (listed.state === 'failed') {
      failures += 1;
      tell(state.unlisted(listed.why));
      listIn(Math.min(timing.pollMs, timing.relistMs * 2 ** (failures - 1)));
      return;
    }
    failures = 0;
    tell(state.complete(listed.state === 'all' ? listed.seen : null, began));
    const isOpen = state.hasMissing() || state.hasStrangers();
    listIn(isOpen ? timing.relistMs : Math.max(timing.pollMs, (listedAt - began) / LIST_SHARE));
  };

  const list = async (signal: AbortSignal): Promise<void> => {
    lookingUp = false;
    if (listing || signal.aborted) return;
    listing = true;
    try {
      await readList(signal);
    } finally {
      listing = false;
    }
    // The connection that it was for has ended meanwhile, and the next one waits for its own list.
    if (signal.aborted && !connection.signal.aborted) await list(connection.signal);
  };

  const askNext = async (signal: AbortSignal): Promise<void> => {
    if (asking) return;
    asking = true;
    for (const directory of queue) {
      queue.delete(directory);
      // Its instance may have gone since, and a question would bring it back.
      if (!folders.has(directory)) continue;
      const since = performance.now();
      const statuses = await askStatuses(endpoint, directory, signal);
      if (signal.aborted) break;
      const now = performance.now();
      if (!folders.has(directory)) continue;
      if (statuses === null) folders.set(directory, now + timing.askAgainMs);
      else tell(state.statuses(directory, statuses, since, now));
    }
    asking = false;
    if (queue.size > 0 && !connection.signal.aborted) await askNext(connection.signal);
  };

  const stream = followEvents(endpoint, '/global/event', () => changed(), timing, {
    opened() {
      open = true;
      connection = new AbortController();
      failures = 0;
      lookingUp = false;
      state.opened();
      void list(connection.signal);
    },
    event(value, now) {
      const event = readSessionEvent(value);
      if (event === null) return;
      tell(state.take(event, now));
      const { news, instance } = event;
      if (news.type === 'disposed') {
        if (news.directory === null) {
          folders.clear();
          letGo.clear();
          allLetGoAt = now;
        } else {
          folders.delete(news.directory);
          if (letGo.size < FOLDERS_MAX) letGo.set(news.directory, now);
          else allLetGoAt = now;
        }
      } else if (instance !== null && (folders.has(instance) || folders.size < FOLDERS_MAX)) {
        if (now >= (folders.get(instance) ?? now)) {
          folders.set(instance, Number.POSITIVE_INFINITY);
          queue.add(instance);
          void askNext(connection.signal);
        }
      }
      // One that is named while a list is under way is seen to at its end.
      if (state.hasStrangers() && !listing && !lookingUp) {
        lookingUp = true;
        listIn(Math.max(0, listedAt + timing.relistMs - now));
      }
    },
    broke(why) {
      open = false;
      connection.abort();
      clearTimeout(poll);
      folders.clear();
      queue.clear();
      state.broke(why);
    },
  });
  const fading = setInterval(() => tell(state.fade(performance.now())), timing.fadeMs).unref();

  return {
    reading: () => stream.reading(),
    lastSign: () => stream.lastSign(),
    brokeAt: () => stream.brokeAt(),
    sessions: () => state.reading(),
    worksIn(places) {
      const now = performance.now();
      if (!open) return;
      for (const place of places) {
        if (folders.has(place) || folders.size >= FOLDERS_MAX) continue;
        if (now - Math.max(allLetGoAt, letGo.get(place) ?? Number.NEGATIVE_INFINITY) < LET_GO_MS) continue;
        folders.set(place, Number.POSITIVE_INFINITY);
        queue.add(place);
      }
      if (queue.size > 0) void askNext(connection.signal);
    },
    close() {
      changed.stop();
      clearInterval(fading);
      clearTimeout(poll);
      stream.close();
      connection.abort();
    },
  };
}
