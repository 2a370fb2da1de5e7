/**
 * Servers of ours whose record is lost, by a torn disk or a hand that deleted it: the process carries the nonce of its
 * start, and the log of that start proves that this state folder made it. The record is written anew.
 */
import { join } from 'node:path';
import { z } from 'zod';
import type { Audit } from '../../audit/audit.ts';
import type { Host, Look, ProcessInfo } from '../../hosts/host.ts';
import { isFinished, refOf } from '../../hosts/process-info.ts';
import type { ProcessRef } from '../../identity/identity.ts';
import { nonceOf } from '../../records/judge.ts';
import { RECORD_VERSION, type ServerRecord } from '../../records/schema.ts';
import type { RecordStore } from '../../records/store.ts';
import type { ServerGroup } from '../../servers/recognition/group.ts';
import { redactArgv } from '../../servers/redact.ts';
import { groupsOf } from '../standing/server-tree.ts';

export interface LostRecordsDeps {
  readonly store: RecordStore;
  readonly audit: Audit;
  readonly host: Host;
  readonly logsDir: string;
  /** Our own uid; null where there are none. */
  readonly uid: number | null;
  /** Who acts where no person asked. */
  readonly self: 'app' | 'guard';
  /** Nonces of starts under way in this process, whose records are being written. */
  readonly pending: ReadonlySet<string>;
  /** This process, for the records. @throws ActFailed when it cannot be read */
  readonly writer: () => Promise<ProcessRef>;
}

interface Lost {
  readonly nonce: string;
  readonly kind: string;
  readonly logPath: string;
  /** The server's processes, wrappers first. */
  readonly chain: readonly ProcessInfo[];
  readonly leader: ProcessInfo;
}

const isNonce = (text: string): boolean => z.uuid().safeParse(text).success;

/**
 * Writes a record for every living server of this look that has none although this state folder started it. A record
 * that is there, whoever wrote it and whatever state it is in, is left alone; so is what a start under way will record.
 *
 * @returns the records that were written
 * @throws WriteFailed when one cannot be
 */
export async function rebuildLost(look: Look, deps: LostRecordsDeps): Promise<ServerRecord[]> {
  const { store, audit, host } = deps;
  const rebuilt: ServerRecord[] = [];
  for (const { nonce, kind, logPath, chain, leader } of lostOf(look, deps)) {
    // The look may be older than a stop or the end of a start: both are asked for once more.
    if ((await host.verify(refOf(leader))).verdict !== 'same') continue;
    if (deps.pending.has(nonce)) continue;
    if ((await store.read(store.pathOf(nonce))) !== null || !(await host.isFile(logPath))) continue;
    const listening = look.listening.find(({ pid }) => pid === leader.pid) ?? null;
    const record: ServerRecord = {
      version: RECORD_VERSION,
      nonce,
      kind,
      state: 'bound',
      directory: leader.cwd ?? '/',
      writtenAt: new Date().toISOString(),
      writer: await deps.writer(),
      port: null,
      // Nobody knows any more what was asked for, and a server that stays can still be stopped.
      keepRunning: true,
      owner: null,
      spawned: refOf(chain[0] ?? leader),
      server: refOf(leader),
      listening: listening === null ? null : { address: listening.address, port: listening.port },
      command: [...redactArgv(leader.argv)],
      logPath,
      program: null,
      planHash: null,
      attempt: 0,
      readyAt: null,
    };
    await store.write(record);
    rebuilt.push(record);
    const text = `${kind} in ${record.directory}, PID ${leader.pid}, was adopted: its record was lost and has been written anew`;
    audit.note({ event: 'adopted', by: deps.self, pid: leader.pid, identity: leader.identity, subject: kind, text });
  }
  return rebuilt;
}

/** The servers that may lack their record. What inherited a server's environment is recognised as none, or not as its kind. */
function lostOf(look: Look, deps: LostRecordsDeps): Lost[] {
  const lost = new Map<string, Lost>();
  for (const group of groupsOf(look)) {
    const found = lostServer(look, group, deps);
    // A second server of the nonce was started by the first, which began no later.
    const first = found === null ? undefined : lost.get(found.nonce);
    if (found !== null && (first === undefined || found.leader.startedAt < first.leader.startedAt)) {
      lost.set(found.nonce, found);
    }
  }
  return [...lost.values()];
}

function lostServer(look: Look, { leader: pid, pids, recognition }: ServerGroup, deps: LostRecordsDeps): Lost | null {
  const { kind } = recognition;
  const leader = look.processes.get(pid);
  if (leader === undefined || isFinished(leader)) return null;
  if (deps.uid !== null && leader.uid !== deps.uid) return null;
  // A number of another namespace could never be signalled from here, nor are its paths ours.
  if (leader.ownPidNamespace !== null && leader.ownPidNamespace !== look.observer.pidNamespace) return null;
  const nonce = nonceOf(leader, kind);
  if (nonce === null || !isNonce(nonce) || deps.pending.has(nonce)) return null;
  const logPath = join(deps.logsDir, `${kind}-${nonce}.log`);
  const chain = pids
    .map((each) => look.processes.get(each))
    .filter((info) => info !== undefined)
    .filter((info) => nonceOf(info, kind) === nonce);
  return { nonce, kind, logPath, chain, leader };
}
