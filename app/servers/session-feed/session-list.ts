import { jsonObject } from '../client/health.ts';
import { ask } from '../client/http.ts';
import type { Endpoint } from '../kind.ts';
import { eventIdOf, fieldsOf, type SessionInfo, type Status, sessionInfoOf, statusOf } from './session-event.ts';

/** Sessions asked for at once; fewer where an answer is too long. */
const PAGE = 200;
/** Sessions read of one list, and requests made for it at most. */
export const LIST_MAX = 5000;
const REQUESTS_MAX = 100;
/** Deadline of one request, in milliseconds. */
const DEADLINE_MS = 10_000;

export type Listing =
  /** @param seen ids of all of them */
  | { readonly state: 'all'; readonly seen: ReadonlySet<string> }
  /** It has more than are read. */
  | { readonly state: 'some' }
  /** @param why a clause about the server */
  | { readonly state: 'failed'; readonly why: string };

interface Page {
  readonly infos: readonly SessionInfo[];
  readonly count: number;
  readonly next: string | null;
}

function pageOf(body: string): Page | null {
  const answer = jsonObject(body);
  const data = answer?.['data'];
  if (!Array.isArray(data)) return null;
  const { next } = fieldsOf(answer?.['cursor']);
  return {
    infos: data.map(sessionInfoOf).filter((info) => info !== null),
    count: data.length,
    next: typeof next === 'string' && next !== '' && next.length < 10_000 ? next : null,
  };
}

/**
 * Reads the list of all sessions of the server's home, newest first, page by page. Passive: `/api/session` creates
 * nothing in the server. Never throws.
 *
 * @param onPage gets each page as it comes
 */
export async function listSessions(
  endpoint: Endpoint,
  onPage: (infos: readonly SessionInfo[]) => void,
  signal: AbortSignal,
): Promise<Listing> {
  const seen = new Set<string>();
  let limit = PAGE;
  let cursor: string | null = null;
  let read = 0;
  for (let request = 0; request < REQUESTS_MAX && read < LIST_MAX; request += 1) {
    const from: string = cursor === null ? '' : `&cursor=${encodeURIComponent(cursor)}`;
    const answer = await ask(endpoint, {
      method: 'GET',
      path: `/api/session?limit=${limit}${from}`,
      deadlineMs: DEADLINE_MS,
      signal,
    });
    if (answer.state === 'failed') {
      if (answer.tooLong !== true || limit === 1) return { state: 'failed', why: answer.why };
      limit = Math.max(1, Math.floor(limit / 4));
      continue;
    }
    if (answer.status !== 200) {
      return { state: 'failed', why: `it answered the question for its sessions with status ${answer.status}` };
    }
    const page = pageOf(answer.body);
    if (page === null) return { state: 'failed', why: 'its list of sessions cannot be read' };
    const before = seen.size;
    for (const { id } of page.infos) seen.add(id);
    read += page.count;
    onPage(page.infos);
    // A short page proves nothing: a server may give fewer than it was asked for.
    if (page.next === null || page.count === 0) return { state: 'all', seen };
    if (seen.size === before) return { state: 'failed', why: 'its list of sessions does not end' };
    cursor = page.next;
  }
  return { state: 'some' };
}

/**
 * Asks what the sessions of a folder do. Passive only while the folder's instance runs: it would be started otherwise.
 * Null when it did not answer as it should. Never throws.
 */
export async function askStatuses(
  endpoint: Endpoint,
  directory: string,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, Status> | null> {
  const path = `/session/status?directory=${encodeURIComponent(directory)}`;
  const answer = await ask(endpoint, { method: 'GET', path, deadlineMs: DEADLINE_MS, signal });
  if (answer.state === 'failed' || answer.status !== 200) return null;
  const body = jsonObject(answer.body);
  if (body === null) return null;
  const statuses = new Map<string, Status>();
  for (const [id, status] of Object.entries(body)) if (eventIdOf(id) !== null) statuses.set(id, statusOf(status));
  return statuses;
}
