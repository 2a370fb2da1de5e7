import { plainLine } from '../plain-line.ts';
import { redactText } from '../redact.ts';

/** Longest title and longest clause that is kept of a session, in characters. */
const TITLE_MAX = 200;
const CLAUSE_MAX = 200;
/** Longest folder that is believed, in UTF-16 units. */
const FOLDER_MAX = 4096;

/** What a server says of itself about one session, whether in an event or in a list. */
export interface SessionInfo {
  readonly id: string;
  readonly title: string;
  readonly directory: string | null;
  readonly parent: string | null;
  /** By the server's clock, in milliseconds since the epoch. */
  readonly createdAt: number | null;
  readonly updatedAt: number | null;
  /** A person has put it away. */
  readonly archived: boolean;
}

/** A status in the server's own words: `unknown` for a word that this version does not know. */
export type Status =
  | { readonly type: 'idle' | 'busy' }
  | { readonly type: 'retrying' | 'unknown'; readonly detail: string };

/** What one event tells of a session. */
export type SessionNews =
  /** `created`: it has only just been made, so nothing works in it yet. */
  | { readonly type: 'info'; readonly info: SessionInfo; readonly created: boolean }
  | { readonly type: 'deleted'; readonly id: string }
  | { readonly type: 'status'; readonly id: string; readonly status: Status }
  /** It waits for a person; `what` says for what. */
  | { readonly type: 'asked'; readonly id: string; readonly request: string; readonly what: string }
  | { readonly type: 'answered'; readonly id: string; readonly request: string }
  /** Its turn failed; null when it was only interrupted. */
  | { readonly type: 'failed'; readonly id: string; readonly why: string | null }
  /** A part of a message: it works, whatever its status is. */
  | { readonly type: 'works'; readonly id: string }
  /** Anything else that happened in it. */
  | { readonly type: 'heard'; readonly id: string }
  /** The server has let go of a folder (null: of all of them), so nothing works there any more. */
  | { readonly type: 'disposed'; readonly directory: string | null };

export interface SessionEvent {
  readonly news: SessionNews;
  /** Folder whose instance sent it; null where none is named, or where the event does not prove that the instance runs. */
  readonly instance: string | null;
}

type Fields = Readonly<Record<string, unknown>>;

/** The value's own fields; none for anything but an object. */
export function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null ? (value as Fields) : {};
}

/** An id goes into paths and into a command that a person copies, so anything that is not plainly one is none. */
export function eventIdOf(value: unknown): string | null {
  return typeof value === 'string' && /^[A-Za-z0-9][\w-]{0,99}$/u.test(value) ? value : null;
}

/** An absolute folder of either family of systems; null for anything else. */
export function folderOf(value: unknown): string | null {
  if (typeof value !== 'string' || value.length > FOLDER_MAX || /\p{Cc}/u.test(value)) return null;
  return /^(?:\/|[A-Za-z]:[\\/]|\\\\)/u.test(value) ? value : null;
}

/** What opencode calls a session until its model has found a title. */
const NO_TITLE = /^(?:New|Child) session - \d{4}-\d\d-\d\dT[\d:.]+Z$/u;

function titleOf(value: unknown): string {
  const title = typeof value === 'string' ? plainLine(value, TITLE_MAX) : '';
  return NO_TITLE.test(title) ? '' : title;
}

function timeOf(value: unknown): number | null {
  return typeof value === 'number' && Number.isFinite(value) && value > 0 ? value : null;
}

function clause(value: unknown): string {
  return typeof value === 'string' ? plainLine(redactText(value.slice(0, 4 * CLAUSE_MAX)), CLAUSE_MAX) : '';
}

/** Reads a session as `/api/session` or an event describes it; null where it has no id. */
export function sessionInfoOf(value: unknown): SessionInfo | null {
  const about = fieldsOf(value);
  const id = eventIdOf(about['id']);
  if (id === null) return null;
  const time = fieldsOf(about['time']);
  return {
    id,
    title: titleOf(about['title']),
    // Bare in an event, under `location` in a list.
    directory: folderOf(about['directory']) ?? folderOf(fieldsOf(about['location'])['directory']),
    parent: eventIdOf(about['parentID']),
    createdAt: timeOf(time['created']),
    updatedAt: timeOf(time['updated']),
    archived: timeOf(time['archived']) !== null,
  };
}

/** Reads a status as `session.status` or `/session/status` gives it. */
export function statusOf(value: unknown): Status {
  const { type, attempt, message } = fieldsOf(value);
  if (type === 'idle' || type === 'busy') return { type };
  if (type === 'retry') {
    const nth = typeof attempt === 'number' && Number.isSafeInteger(attempt) ? `attempt ${attempt}` : 'another attempt';
    const why = clause(message);
    return { type: 'retrying', detail: why === '' ? nth : `${nth}: ${why}` };
  }
  const word = typeof type === 'string' ? plainLine(type, 40) : '';
  return {
    type: 'unknown',
    detail: word === '' ? 'its status has no name' : `its status “${word}” is not known to this version`,
  };
}

function permissionClause(about: Fields): string {
  const name = clause(about['permission'] ?? about['action']);
  const patterns = about['patterns'] ?? about['resources'];
  const what = Array.isArray(patterns) ? clause(patterns.slice(0, 3).filter(isText).join(', ')) : '';
  const asked = name === '' ? 'a permission' : `permission for ${name}`;
  return what === '' || what === '*' ? asked : plainLine(`${asked}: ${what}`, CLAUSE_MAX);
}

function questionClause(about: Fields): string {
  const [first] = Array.isArray(about['questions']) ? about['questions'] : [];
  const { question, header } = fieldsOf(first);
  const text = clause(question) || clause(header);
  return text === '' ? 'an answer' : plainLine(`an answer to “${text}”`, CLAUSE_MAX);
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}

/** What failed, in the server's words; null for an interruption, which is no failure. */
function failureOf(error: unknown): string | null {
  const { name, data, message } = fieldsOf(error);
  if (name === 'MessageAbortedError') return null;
  return clause(fieldsOf(data)['message']) || clause(message) || clause(name) || 'its last turn failed';
}

/** Events of these families come out of an instance that runs, and out of nothing else. */
const OF_AN_INSTANCE = /^(?:message\.|permission\.|question\.|session\.(?:status|idle|diff|error|compacted)$)/u;

/**
 * Reads one event of `/global/event`, already parsed; null where it tells of no session. Names and fields are those of
 * opencode 1.18.33; `permission.v2.*` and `question.v2.*` of its next line say the same with `data` for `properties`.
 */
export function readSessionEvent(event: unknown): SessionEvent | null {
  const outer = fieldsOf(event);
  const inner = 'payload' in outer ? fieldsOf(outer['payload']) : outer;
  const { type } = inner;
  if (typeof type !== 'string' || type.length > 100) return null;
  const about = fieldsOf(inner['properties'] ?? inner['data']);
  if (type === 'global.disposed') return { news: { type: 'disposed', directory: null }, instance: null };
  if (type === 'server.instance.disposed') {
    const directory = folderOf(about['directory']) ?? folderOf(outer['directory']);
    return directory === null ? null : { news: { type: 'disposed', directory }, instance: null };
  }
  const news = newsOf(type, about);
  if (news === null) return null;
  return { news, instance: OF_AN_INSTANCE.test(type) ? folderOf(outer['directory']) : null };
}

function newsOf(type: string, about: Fields): SessionNews | null {
  if (type === 'session.created' || type === 'session.updated') {
    const info = sessionInfoOf(about['info']);
    return info === null ? null : { type: 'info', info, created: type === 'session.created' };
  }
  const id =
    eventIdOf(about['sessionID']) ??
    eventIdOf(fieldsOf(about['part'])['sessionID']) ??
    eventIdOf(fieldsOf(about['info'])['sessionID']);
  if (type === 'session.deleted') {
    const deleted = id ?? eventIdOf(fieldsOf(about['info'])['id']);
    return deleted === null ? null : { type: 'deleted', id: deleted };
  }
  if (id === null) return null;
  switch (type.replace('.v2.', '.')) {
    case 'session.status':
      return { type: 'status', id, status: statusOf(about['status']) };
    case 'session.idle':
      return { type: 'status', id, status: { type: 'idle' } };
    case 'session.error':
      return { type: 'failed', id, why: failureOf(about['error']) };
    case 'permission.asked':
    case 'question.asked': {
      const request = eventIdOf(about['id']);
      if (request === null) return null;
      const what = type.startsWith('permission') ? permissionClause(about) : questionClause(about);
      return { type: 'asked', id, request, what };
    }
    case 'permission.replied':
    case 'question.replied':
    case 'question.rejected': {
      const request = eventIdOf(about['requestID']);
      return request === null ? null : { type: 'answered', id, request };
    }
    case 'message.part.updated':
    case 'message.part.delta':
      return { type: 'works', id };
    default:
      return type.startsWith('session.') || type.startsWith('message.') ? { type: 'heard', id } : null;
  }
}
