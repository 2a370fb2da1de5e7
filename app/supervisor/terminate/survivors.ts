/**
 * What is left of a server of ours that has gone, or never came to be one: what belonged to it when it was last seen and still is the same
 * process, and what carries its start's nonce. Pure.
 */
import type { Look, ProcessInfo } from '../../hosts/host.ts';
import { isFinished } from '../../hosts/process-info.ts';
import { isSameProcess, type ProcessIdentity, type StartTime } from '../../identity/identity.ts';
import { nonceOf } from '../../records/judge.ts';
import type { ServerGroup } from '../../servers/recognition/group.ts';
import { isDetached } from '../standing/detached.ts';
import { groupsOf, isUnproved, markedPid, otherServers, reasonToKeep, selfProcesses } from '../standing/server-tree.ts';
import { ancestorsOf, startedNoEarlier, treeBelow } from '../standing/tree.ts';

export interface SurvivorsInput {
  readonly look: Look;
  readonly nonce: string;
  /** The process that did the work, or was to do it; it may be gone. */
  readonly server: ProcessIdentity;
  /** Everything that belonged to it when it was last seen. */
  readonly processes: readonly ProcessIdentity[];
  /** Our uid; null where there are none. */
  readonly uid: number | null;
}

/**
 * The topmost of the remains; the rest descends from them. Other servers have a standing of their own, and what
 * something else speaks for is not taken on the word of an inherited mark.
 */
export function survivorsOf(input: SurvivorsInput): ProcessInfo[] {
  const { look, uid } = input;
  const recorded = input.processes;
  // Its own wrappers, and what they have started anew, are recognised like servers; they are not "others" here.
  const others = otherServers(
    groupsOf(look).filter((group) => !isOwn(group, look, input.nonce, recorded)),
    null,
  );
  // A wrapper of ours is a child of ours, so only what we descend from is beyond doubt not part of it.
  const above = new Set(look.ownPids.flatMap((own) => [own, ...ancestorsOf(look, own).map(({ pid }) => pid)]));
  const self = selfProcesses(look);
  const mayEnd = (info: ProcessInfo): boolean =>
    !isFinished(info) &&
    !above.has(info.pid) &&
    !others.has(info.pid) &&
    !isUnproved(look, info.pid) &&
    (uid === null || info.uid === uid) &&
    !isDetached(info, null);
  const seen = [...look.processes.values()].filter((info) => isRecorded(info, recorded) && mayEnd(info));
  const marked = [...look.processes.values()].filter(
    (info) => !isRecorded(info, recorded) && !self.has(info.pid) && isMarked(info, input) && mayEnd(info),
  );
  const sure = marked.filter(
    (info) =>
      reasonToKeep(
        look,
        treeBelow(look, [info.pid], (below) => !mayEnd(below)),
        null,
      ) === null,
  );
  const all = [...seen, ...sure];
  return all.filter((info) => !all.some((other) => other.pid === info.ppid && startedNoEarlier(info, other)));
}

function isOwn(
  { leader, pids, recognition }: ServerGroup,
  look: Look,
  nonce: string,
  recorded: readonly ProcessIdentity[],
): boolean {
  const info = look.processes.get(leader);
  if (info !== undefined && nonceOf(info, recognition.kind) === nonce) return true;
  return pids.some((pid) => isRecorded(look.processes.get(pid), recorded));
}

function isRecorded(info: ProcessInfo | undefined, recorded: readonly ProcessIdentity[]): boolean {
  return info !== undefined && recorded.some((identity) => isSameProcess(identity, info.identity));
}

function isMarked(info: ProcessInfo, { nonce, server, look }: SurvivorsInput): boolean {
  if (info.marks?.ROLLCALL_NONCE === nonce) return true;
  // The number in the mark means our server only while nobody else has it, and only in what started after it.
  const holder = look.processes.get(server.pid);
  if (holder !== undefined && !isSameProcess(holder.identity, server)) return false;
  if (!startedAfter(info.startTime, server.startTime)) return false;
  return markedPid(info, 'OPENCODE_PID', look) === server.pid || markedPid(info, 'KILO_PID', look) === server.pid;
}

/** Elsewhere than on Linux start times are too coarse to tell. */
function startedAfter(later: StartTime, earlier: StartTime): boolean {
  if (!later.startsWith('linux:') || !earlier.startsWith('linux:')) return false;
  return BigInt(later.slice(6)) >= BigInt(earlier.slice(6));
}
