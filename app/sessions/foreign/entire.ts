/**
 * The sessions that entire tells of: `entire-sessions/<id>.json` in the common git folder of a repository, and pointers to
 * the active ones of all repositories in `live-sessions/` of its cache folder. Pure.
 */
import { isAbsolute, join } from 'node:path';
import { findProcess, type Place, type ProcessReading, pidIn } from './find-process.ts';
import { type ForeignSession, idIn, objectOf, pathIn, textIn, timeIn, titleIn, UNPROVED } from './session.ts';

/** Who entire saw a session carried by. */
export interface EntireOwner {
  readonly pid: number;
  /** Field 22 of /proc/PID/stat on Linux, seconds and microseconds on macOS; null where it has none. */
  readonly start: string | null;
  readonly boot: string | null;
  readonly host: string | null;
  readonly name: string | null;
}

export interface EntireRecord {
  readonly tool: 'entire';
  readonly id: string;
  readonly directory: string | null;
  /** In entire's words; null in old files. */
  readonly phase: string | null;
  /** It has ended, moved to another repository, or was never live here (an import). */
  readonly over: 'ended' | 'elsewhere' | null;
  readonly owner: EntireOwner | null;
  readonly startedAt: number | null;
  readonly updatedAt: number | null;
}

/** A pointer to an active session of some repository. */
export interface EntirePointer {
  readonly tool: 'entire-live';
  readonly id: string;
  /** Its common git folder, where its own file lies. */
  readonly commonDir: string | null;
  readonly directory: string | null;
  readonly updatedAt: number | null;
}

/** How long entire itself takes a session without any sign for a live one, in milliseconds. */
export const ENTIRE_TTL_MS = 12 * 60 * 60 * 1000;

const SUFFIX = '.json';

export function isEntireFile(name: string): boolean {
  return name.endsWith(SUFFIX) && idIn(name.slice(0, -SUFFIX.length)) !== null;
}

/** Folder of the pointers, in entire's cache folder, which is the same on all systems. */
export function entireLiveFolder(env: Readonly<Record<string, string | undefined>>, home: string): string {
  const cache = env['XDG_CACHE_HOME'];
  return join(cache !== undefined && isAbsolute(cache) ? cache : join(home, '.cache'), 'entire', 'live-sessions');
}

/** Folder of the session files of a repository. @param commonDir its common git folder: `.git` of the main worktree */
export function entireFolder(commonDir: string): string {
  return join(commonDir, 'entire-sessions');
}

function ownerIn(value: unknown): EntireOwner | null {
  if (typeof value !== 'object' || value === null) return null;
  const fields = value as Readonly<Record<string, unknown>>;
  const pid = pidIn(fields['pid']);
  if (pid === null) return null;
  const text = (name: string): string | null => textIn(fields[name], 256);
  return { pid, start: text('start'), boot: text('boot'), host: text('host'), name: text('name') };
}

function namedIn(name: string, text: string): { id: string; fields: Readonly<Record<string, unknown>> } | null {
  const fields = objectOf(text);
  const id = idIn(fields?.['session_id']);
  // A file that was copied to another name is no session of its own.
  return fields === null || id === null || name !== `${id}${SUFFIX}` ? null : { id, fields };
}

/** Parses the file of a session; null for what is none, or not wholly written. Never throws. */
export function parseEntire(name: string, text: string): EntireRecord | null {
  const named = namedIn(name, text);
  if (named === null) return null;
  const { id, fields } = named;
  const phase = textIn(fields['phase'], 64);
  const moved = textIn(fields['adopted_into_worktree_path']) !== null || fields['kind'] === 'imported';
  const ended = phase === 'ended' || timeIn(fields['ended_at']) !== null;
  return {
    tool: 'entire',
    id,
    directory: pathIn(fields['worktree_path']),
    phase,
    over: moved ? 'elsewhere' : ended ? 'ended' : null,
    owner: ownerIn(fields['owner']),
    startedAt: timeIn(fields['started_at']),
    updatedAt: timeIn(fields['last_interaction_time']),
  };
}

/** Parses a pointer; null for what is none, or not wholly written. Never throws. */
export function parseEntirePointer(name: string, text: string): EntirePointer | null {
  const named = namedIn(name, text);
  if (named === null) return null;
  const { id, fields } = named;
  return {
    tool: 'entire-live',
    id,
    commonDir: pathIn(fields['common_dir']),
    directory: pathIn(fields['worktree_path']),
    updatedAt: timeIn(fields['last_interaction_time']),
  };
}

/** No sign of it for so long that entire itself forgets it. @param now milliseconds since the epoch */
function isStale(at: number | null, now: number): boolean {
  return at === null || now - at > ENTIRE_TTL_MS;
}

function stateOf(phase: string | null): Pick<ForeignSession, 'state' | 'detail'> {
  switch (phase) {
    case 'active':
    case 'active_committed':
      return { state: 'busy', detail: null };
    case 'idle':
    case null: // what files from before there were phases mean
      return { state: 'idle', detail: null };
    default:
      return { state: 'unknown', detail: `entire says "${titleIn(phase)}", which this version does not know` };
  }
}

/**
 * What a record says, as far as the process that it names stands for it. Null for one that is not of here, and for one
 * that names no process and was last used long ago.
 *
 * @param seen what stands at its owner's PID
 * @param now milliseconds since the epoch
 */
export function judgeEntire(
  record: EntireRecord,
  path: string,
  seen: ProcessReading,
  place: Place,
  now: number,
): ForeignSession | null {
  const { id, directory, owner, startedAt, updatedAt } = record;
  const base = {
    tool: 'entire',
    id,
    title: '',
    directory,
    carrier: owner?.name ?? 'entire',
    pid: owner?.pid ?? null,
    startedAt,
    updatedAt,
    path,
    ...UNPROVED,
  } as const;
  if (record.over === 'elsewhere') return null;
  if (record.over === 'ended') return { ...base, state: 'ended', endedBy: 'tool', detail: 'entire wrote down its end' };
  if (owner === null) {
    if (isStale(updatedAt ?? startedAt, now)) return null;
    return { ...base, state: 'unknown', detail: 'entire did not write down which process carries it' };
  }
  if (owner.host !== null && owner.host !== place.hostname) {
    return { ...base, pid: null, state: 'unknown', detail: `it runs on another machine, ${owner.host}` };
  }
  if (owner.boot !== null && owner.boot !== place.observer.bootId) {
    return { ...base, state: 'ended', endedBy: 'carrier', detail: 'the machine has booted since' };
  }
  const at = seen.found === 'process' ? seen.info.identity : null;
  const carrier = findProcess(owner.pid, owner.start, seen);
  switch (carrier.carried) {
    case 'gone':
      return { ...base, state: 'ended', endedBy: 'carrier', detail: carrier.why };
    case 'unknown':
      return { ...base, state: 'unknown', detail: carrier.why, at };
    case 'same':
      return { ...base, ...stateOf(record.phase), identity: carrier.info.identity, at };
  }
}

/** What a pointer alone says: its session's own file could not be found. Null for a stale one. */
export function judgePointer(pointer: EntirePointer, path: string, now: number): ForeignSession | null {
  const { id, directory, updatedAt } = pointer;
  if (isStale(updatedAt, now)) return null;
  return {
    tool: 'entire',
    id,
    title: '',
    directory,
    state: 'unknown',
    detail: 'its own file could not be found',
    pid: null,
    carrier: 'entire',
    ...UNPROVED,
    startedAt: null,
    updatedAt,
    path,
  };
}
