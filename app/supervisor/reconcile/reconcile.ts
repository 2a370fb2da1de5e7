/**
 * Putting the records in order before anything else happens: what is corrupt is moved aside, what a crash left half
 * written is completed from the process that carries its nonce. Done by the one writer only.
 */

import type { Audit } from '../../audit/audit.ts';
import type { Host, Look } from '../../hosts/host.ts';
import { refOf } from '../../hosts/process-info.ts';
import type { RecordFile } from '../../records/files.ts';
import { corruptEntry, isUnderWayElsewhere, processOfRecord, refOfRecord } from '../../records/judge.ts';
import type { ServerRecord } from '../../records/schema.ts';
import { RecordChanged, type RecordStore, RecordStuck } from '../../records/store.ts';
import type { RecordEntry } from '../../roll/schema.ts';
import { WriteFailed } from '../../util/atomic-write.ts';
import { type LostRecordsDeps, rebuildLost } from './lost-records.ts';

type RecordOnDisk = Extract<RecordFile, { readonly problem: null }>;

export interface Reconciled {
  /** Entries of the files that were moved aside, for this run's list of records. */
  readonly moved: readonly RecordEntry[];
  /** Why something could not be written down, in a sentence; null when everything could. */
  readonly problem: string | null;
}

export interface ReconcileDeps extends LostRecordsDeps {
  /** Records as the app last had them; empty but in a guard. */
  readonly handed: readonly ServerRecord[];
}

/**
 * Puts the records in order for a writer that has just opened. A state folder that cannot be written hides nothing: the
 * servers are shown anyway, with the reason why nothing can be kept.
 */
export async function reconcile(deps: ReconcileDeps, look: () => Promise<Look>): Promise<Reconciled> {
  const { store, audit, host, self, handed } = deps;
  const moved = await setAsideCorrupt(await store.list(), store, audit, host.name, self);
  try {
    await restoreHanded(handed, store, audit, host, self);
    const seen = await look();
    await bindCutOffStarts(await store.list(), seen, deps);
    await rebuildLost(seen, deps);
    return { moved, problem: await store.problem() };
  } catch (error) {
    if (!(error instanceof WriteFailed)) throw error;
    return { moved, problem: error.message };
  }
}

/** @returns entries of the files that were moved aside */
async function setAsideCorrupt(
  files: readonly RecordFile[],
  store: RecordStore,
  audit: Audit,
  host: string,
  by: string,
): Promise<RecordEntry[]> {
  const moved: RecordEntry[] = [];
  for (const file of files) {
    // What could not be read at all, or belongs to a later Rollcall, stays where it is and is shown.
    if (file.record !== null || file.newer || file.sha256 === '') continue;
    try {
      const path = await store.setAside(file.path, file.sha256, Date.now());
      const text = `${file.path} is no record (${file.problem}); it was moved aside to ${path}`;
      audit.note({ event: 'set-aside', by, subject: 'record', text });
      moved.push({
        ...corruptEntry(host, path, file.sha256, file.problem, false),
        detail: `was no record: ${file.problem}; it was moved aside`,
        clearable: false,
        keptBecause: 'It is out of the way already; delete the file when you no longer need it.',
      });
    } catch (error) {
      // Written anew just now: the next look judges what it is. Stuck: it stays listed, as what it is.
      if (!(error instanceof RecordChanged || error instanceof RecordStuck)) throw error;
    }
  }
  return moved;
}

/** Starts that nobody is at any more, though their record never came to say who listens. */
function cutOffStarts(files: readonly RecordFile[], pending: ReadonlySet<string>): RecordOnDisk[] {
  return files.filter(
    (file): file is RecordOnDisk =>
      file.record !== null && file.record.state !== 'bound' && !pending.has(file.record.nonce),
  );
}

/**
 * A start that was cut off between spawn and record: the process that carries its nonce is bound, if there is one.
 * One that is still under way in another process, on another computer most likely, is that one's; one of our own that is
 * not pending has failed without being able to end what it had started.
 *
 * @throws WriteFailed when a record cannot be written
 */
export async function bindCutOffStarts(
  files: readonly RecordFile[],
  look: Look,
  { store, audit, host, pending, self: by, writer }: Omit<LostRecordsDeps, 'logsDir'>,
): Promise<void> {
  const cutOff = cutOffStarts(files, pending);
  if (cutOff.length === 0) return;
  const self = await writer().catch(() => null);
  for (const { path, sha256, record } of cutOff) {
    if (await isUnderWayElsewhere(record, host, self)) continue;
    const carrier = processOfRecord(record, look);
    if (carrier === null || (await host.verify(refOf(carrier))).verdict !== 'same') continue;
    // Ended or written anew since it was read: then that stands.
    if ((await store.read(path))?.sha256 !== sha256) continue;
    const listening = look.listening.find(({ pid }) => pid === carrier.pid) ?? null;
    await store.write({
      ...record,
      state: 'bound',
      server: refOf(carrier),
      listening: listening === null ? null : { address: listening.address, port: listening.port },
    });
    const text = `${record.kind} in ${record.directory}, PID ${carrier.pid}, was adopted: its start had been cut off`;
    audit.note({
      event: 'adopted',
      by,
      pid: carrier.pid,
      identity: carrier.identity,
      subject: record.kind,
      text,
    });
  }
}

/**
 * Records that the guard was handed and that the disk has lost: each is written again if its process is still the
 * recorded one. A record that can be read wins over what was handed, and one of a later Rollcall is left alone.
 */
async function restoreHanded(
  handed: readonly ServerRecord[],
  store: RecordStore,
  audit: Audit,
  host: Host,
  by: string,
): Promise<void> {
  for (const record of handed) {
    const file = await store.read(store.pathOf(record.nonce));
    // What is no record was moved aside before; what still stands there could not be.
    if (file !== null) continue;
    const ref = refOfRecord(record);
    if (ref === null || (await host.verify(ref)).verdict !== 'same') continue;
    await store.write(record);
    const { pid } = ref.identity;
    const text = `The record of ${record.kind} in ${record.directory}, PID ${pid}, was lost and is written again`;
    audit.note({ event: 'adopted', by, pid, identity: ref.identity, subject: record.kind, text });
  }
}
