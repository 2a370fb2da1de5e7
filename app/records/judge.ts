/** What our records say of the processes that run now: which verify, which are stale and why. */
import type { Host, Look, ProcessInfo } from '../hosts/host.ts';
import type { ProcessRef, Verdict } from '../identity/identity.ts';
import type { RecordEntry } from '../roll/schema.ts';
import type { RecordFile } from './files.ts';
import type { ServerRecord } from './schema.ts';

/** What a start may take whose writer cannot be asked, in milliseconds. */
const MAX_START_MS = 120_000;

/** A record whose process verifies `same`. */
export interface LiveRecord {
  readonly path: string;
  readonly record: ServerRecord;
  /** The process it names: its listener, or what was spawned while that is still starting. */
  readonly ref: ProcessRef;
}

export interface JudgedRecords {
  readonly live: readonly LiveRecord[];
  readonly stale: readonly RecordEntry[];
  /** Planned or spawned by a start that is under way now: neither live nor stale yet. */
  readonly pending: readonly ServerRecord[];
}

/** The reference a record stands by: the listener once it is bound, else the direct child. */
export function refOfRecord(record: ServerRecord): ProcessRef | null {
  return record.server ?? record.spawned;
}

/** "names PID 4711, which is now postgres". */
export function staleSentence(pid: number, verdict: Verdict): string {
  switch (verdict.verdict) {
    case 'same':
      return `names PID ${pid}, which is the recorded process`;
    case 'gone':
      return `names PID ${pid}, which is gone: ${verdict.why}`;
    case 'zombie':
      return `names PID ${pid}, which has exited and waits to be collected by its parent`;
    case 'reused':
      return `names PID ${pid}, which is now ${verdict.by.name}`;
    case 'thread':
      return `names PID ${pid}, which is now a thread of ${verdict.of.name}, PID ${verdict.of.pid}`;
    case 'foreign':
      return `names PID ${pid}, but ${verdict.why}`;
    case 'unknown':
      return `names PID ${pid}, whose identity could not be proved: ${verdict.why}`;
  }
}

/** Why a record with this verdict stays where it is; null when it may be moved aside. */
function keptBecause(verdict: Verdict): string | null {
  if (verdict.verdict === 'foreign') return 'This record is kept: it belongs to another host or namespace.';
  if (verdict.verdict === 'unknown') return 'This record is kept: its process may still be the recorded one.';
  return null;
}

/**
 * Whether the start that wrote this record may still be under way in another process. A writer on another computer
 * cannot be asked: it gets as long as a start takes. On this computer, who holds the writer's lock is the only one.
 *
 * @param self this process; null where it cannot be read
 */
export async function isUnderWayElsewhere(
  { state, writer, writtenAt }: ServerRecord,
  host: Pick<Host, 'verify'>,
  self: ProcessRef | null,
): Promise<boolean> {
  if (state === 'bound') return false;
  const { pid, hostId } = writer.identity;
  const here = self === null || self.identity.hostId === hostId;
  // A start of our own that is not among them is over, however it ended: its record counts like any other.
  if (here && pid === process.pid) return false;
  const { verdict } = await host.verify(writer);
  if (verdict !== 'foreign') return verdict === 'same';
  if (self !== null && here) return false;
  return Math.abs(Date.now() - Date.parse(writtenAt)) < MAX_START_MS;
}

/**
 * Verifies every record against the host.
 *
 * @param pendingNonces nonces of starts that run in this process
 * @param self this process, as records name their writer; null where it cannot be read
 */
export async function judgeRecords(
  files: readonly RecordFile[],
  host: Host,
  pendingNonces: ReadonlySet<string>,
  self: ProcessRef | null,
): Promise<JudgedRecords> {
  const live: LiveRecord[] = [];
  const stale: RecordEntry[] = [];
  const pending: ServerRecord[] = [];
  for (const file of files) {
    if (file.record === null) {
      stale.push(corruptEntry(host.name, file.path, file.sha256, file.problem, file.newer));
      continue;
    }
    const { record } = file;
    const ref = refOfRecord(record);
    if (pendingNonces.has(record.nonce) || (await isUnderWayElsewhere(record, host, self))) {
      pending.push(record);
      continue;
    }
    const verdict: Verdict =
      ref === null
        ? { verdict: 'gone', why: 'it was planned, but no process was ever started for it' }
        : await host.verify(ref);
    if (ref !== null && verdict.verdict === 'same') live.push({ path: file.path, record, ref });
    else stale.push(staleEntry(host.name, file.path, file.sha256, record, verdict));
  }
  return { live, stale, pending };
}

function staleEntry(host: string, path: string, sha256: string, record: ServerRecord, verdict: Verdict): RecordEntry {
  const pid = refOfRecord(record)?.identity.pid ?? null;
  const kept = keptBecause(verdict);
  return {
    host,
    source: 'rollcall',
    path,
    pid,
    verdict: verdict.verdict,
    detail: pid === null ? 'was planned, but no process was ever started for it' : staleSentence(pid, verdict),
    clearable: kept === null,
    keptBecause: kept,
    sha256,
    kind: record.kind,
    directory: record.directory,
    writtenAt: record.writtenAt,
  };
}

/** An entry for a file that is no record. */
export function corruptEntry(host: string, path: string, sha256: string, problem: string, newer: boolean): RecordEntry {
  return {
    host,
    source: 'rollcall',
    path,
    pid: null,
    verdict: 'corrupt',
    detail: `is no record: ${problem}`,
    clearable: sha256 !== '' && !newer,
    keptBecause: newer
      ? 'This record is kept: a later Rollcall wrote it.'
      : sha256 === ''
        ? 'This file is kept: it could not be read.'
        : null,
    sha256,
    kind: null,
    directory: null,
    writtenAt: null,
  };
}

/** The nonce a process of this kind was started with; not one inherited from a server of ours that it belongs to. */
export function nonceOf({ marks }: ProcessInfo, kind: string): string | null {
  if (marks === null) return null;
  if (marks.OPENCODE_PID !== undefined || marks.KILO_PID !== undefined || marks.ROLLCALL_KIND !== kind) return null;
  return marks.ROLLCALL_NONCE ?? null;
}

/** The living process that carries a start's nonce in its environment: the server of a start nobody finished. */
export function processOfRecord({ nonce, kind }: Pick<ServerRecord, 'nonce' | 'kind'>, look: Look): ProcessInfo | null {
  const carriers = [...look.processes.values()].filter((info) => nonceOf(info, kind) === nonce && info.state !== 'Z');
  const served = carriers.find(({ pid }) => look.candidates.some((candidate) => candidate.pid === pid));
  // A start that was cut off while a package runner was still fetching the program has no server yet, only a chain.
  return served ?? carriers.find(({ ppid }) => !carriers.some(({ pid }) => pid === ppid)) ?? null;
}
