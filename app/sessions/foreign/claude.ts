/**
 * The sessions that Claude Code tells of in `sessions/<pid>.json` of its folder. Pure.
 *
 * Two generations lie there: `<pid>.json` with the start of its process, and `pid-<n>.json` without, of which most are
 * left behind. The second kind never proves anything. The keys beside them (`*.key`) are secrets and are never read.
 */
import { isAbsolute, join } from 'node:path';
import type { ProcessInfo } from '../../hosts/host.ts';
import { hashedHostId, namespaceId } from '../../hosts/local/process/observer.ts';
import { invocationOf } from '../../servers/recognition/argv.ts';
import { findProcess, lstartIn, type Place, type ProcessReading, pidIn } from './find-process.ts';
import { type ForeignSession, idIn, objectOf, pathIn, textIn, timeIn, titleIn, UNPROVED } from './session.ts';

export interface ClaudeRecord {
  readonly tool: 'claude';
  readonly id: string;
  readonly pid: number;
  readonly title: string;
  readonly directory: string | null;
  /** In Claude's words; null where it says nothing, as in sessions that another program drives. */
  readonly status: string | null;
  /** Field 22 of /proc/PID/stat, or what `ps` says in UTC; null in old files. */
  readonly procStart: string | null;
  /** Machine and PID namespace that the PID is of; null in old files. */
  readonly pidDomain: string | null;
  readonly startedAt: number | null;
  readonly updatedAt: number | null;
}

const CURRENT = /^(\d{1,7})\.json$/u;
const LEGACY = /^pid-(\d{1,7})\.json$/u;

/** Folder of the session files. `CLAUDE_CONFIG_DIR` moves it. */
export function claudeFolder(env: Readonly<Record<string, string | undefined>>, home: string): string {
  const moved = env['CLAUDE_CONFIG_DIR'];
  return join(moved !== undefined && isAbsolute(moved) ? moved : join(home, '.claude'), 'sessions');
}

export function isClaudeFile(name: string): boolean {
  return CURRENT.test(name) || LEGACY.test(name);
}

/** Parses one file by its name and text; null for what is no session, or not wholly written. Never throws. */
export function parseClaude(name: string, text: string): ClaudeRecord | null {
  const legacy = LEGACY.exec(name)?.[1];
  const pid = pidIn(Number(legacy ?? CURRENT.exec(name)?.[1]));
  const fields = objectOf(text);
  if (pid === null || fields === null) return null;
  const id = idIn(fields[legacy === undefined ? 'sessionId' : 'session_id']);
  // A file that was copied to another name is of neither process.
  if (id === null || (legacy === undefined && fields['pid'] !== pid)) return null;
  const startText = fields['procStart'];
  return {
    tool: 'claude',
    id,
    pid,
    title: titleIn(fields['name']),
    directory: pathIn(fields['cwd']),
    status: textIn(fields['status'], 64),
    procStart: legacy === undefined ? textIn(typeof startText === 'number' ? String(startText) : startText, 64) : null,
    pidDomain: textIn(fields['pidDomain'], 256),
    startedAt: timeIn(fields['startedAt']),
    updatedAt: timeIn(fields['updatedAt']) ?? timeIn(fields['statusUpdatedAt']),
  };
}

/** Why a PID is no number of this place, as a clause; null where nothing says so. `linux:<machine id>:pid:[<number>]` */
function elsewhere(domain: string | null, { observer }: Place): string | null {
  const [, machine, namespace] = /^linux:([^:]*):(.*)$/u.exec(domain ?? '') ?? [];
  if (machine !== undefined && machine !== '' && hashedHostId(machine) !== observer.hostId) {
    return 'it runs on another machine';
  }
  if (namespace !== undefined && namespace !== '' && namespaceId(namespace) !== observer.pidNamespace) {
    return 'it runs in a container, and what it does cannot be told from here';
  }
  return null;
}

/** By name alone, which proves nothing: enough not to list what certainly is none. */
function looksLikeClaude({ comm, argv, executable }: ProcessInfo): boolean {
  const invocation = invocationOf({ comm, argv, executablePath: executable?.path ?? null });
  const program = invocation?.program ?? '';
  return (
    comm === 'claude' || invocation?.stem === 'claude' || /\/(?:@anthropic-ai\/claude-code|ccd-cli)\//u.test(program)
  );
}

function stateOf(status: string | null): Pick<ForeignSession, 'state' | 'detail'> {
  switch (status) {
    case 'busy':
    case 'idle':
    case 'waiting':
      return { state: status, detail: null };
    case 'shell':
      return { state: 'idle', detail: 'a command that it started still runs in the background' };
    case null:
      return { state: 'unknown', detail: 'Claude does not say what it does' };
    default:
      return { state: 'unknown', detail: `Claude says "${titleIn(status)}", which this version does not know` };
  }
}

/**
 * What a record says, as far as its process stands for it. Null for an old one that nothing stands for.
 *
 * @param seen what stands at the record's PID
 */
export function judgeClaude(
  record: ClaudeRecord,
  path: string,
  seen: ProcessReading,
  place: Place,
): ForeignSession | null {
  const { id, pid, title, directory, procStart, updatedAt } = record;
  const startedAt = record.startedAt ?? (procStart === null ? null : lstartIn(procStart));
  const base = {
    tool: 'claude',
    id,
    title,
    directory,
    carrier: 'claude',
    startedAt,
    updatedAt,
    path,
    ...UNPROVED,
  } as const;
  const away = elsewhere(record.pidDomain, place);
  if (away !== null) return { ...base, state: 'unknown', detail: away, pid: null };
  if (procStart === null) {
    if (seen.found !== 'process' || !looksLikeClaude(seen.info)) return null;
    return {
      ...base,
      state: 'unknown',
      detail: `its file does not prove that PID ${pid} is its process`,
      pid,
      at: seen.info.identity,
    };
  }
  const at = seen.found === 'process' ? seen.info.identity : null;
  const carrier = findProcess(pid, procStart, seen);
  switch (carrier.carried) {
    case 'gone':
      return { ...base, state: 'ended', endedBy: 'carrier', detail: carrier.why, pid };
    case 'unknown':
      return { ...base, state: 'unknown', detail: carrier.why, pid, at };
    case 'same':
      return {
        ...base,
        ...stateOf(record.status),
        pid,
        identity: carrier.info.identity,
        at,
        startedAt: startedAt ?? carrier.info.startedAt,
      };
  }
}
