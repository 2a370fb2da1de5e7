/** Leftovers: what a dead server's tools and helpers left behind, found by the mark in their environment. */
import type { Host, Look, MarkName, ProcessInfo } from '../../hosts/host.ts';
import { isFinished, memoryOf } from '../../hosts/process-info.ts';
import { idOf } from '../../identity/ids.ts';
import type { Leftover } from '../../roll/schema.ts';
import { oneLine, redactArgv } from '../../servers/redact.ts';
import { isDetached } from '../standing/detached.ts';
import { nameOf, ownerLabel } from '../standing/owner-label.ts';
import { leftoverPermission } from '../standing/permissions.ts';
import { isUnproved, markedPid, reasonToKeep, selfProcesses } from '../standing/server-tree.ts';
import { childrenOf, startedNoEarlier, type TreeNode, treeBelow } from '../standing/tree.ts';
import { processRows } from './process-rows.ts';

/** Marks that name a server's PID, and the kind that leaves them. */
const SERVER_MARKS: readonly { readonly mark: MarkName; readonly kind: string }[] = [
  { mark: 'OPENCODE_PID', kind: 'opencode' },
  { mark: 'KILO_PID', kind: 'kilo' },
];

export interface JudgedLeftover {
  readonly row: Leftover;
  readonly root: ProcessInfo;
}

interface Marked {
  readonly info: ProcessInfo;
  readonly kind: string;
  readonly ofPid: number;
}

function marksOf(look: Look): Marked[] {
  return [...look.processes.values()].flatMap((info) =>
    SERVER_MARKS.flatMap(({ mark, kind }) => {
      const ofPid = markedPid(info, mark, look);
      return ofPid === null ? [] : [{ info, kind, ofPid }];
    }),
  );
}

/** What stands at the PIDs that marks name: null for nobody, `unknown` where it could not be read. */
export type Holders = ReadonlyMap<number, ProcessInfo | null | 'unknown'>;

/**
 * Reads what stands now at the PIDs that marks name and the look does not show. A TUI leaves marks too and is no
 * server, so its life must be asked for.
 */
export async function holdersOf(look: Look, host: Host): Promise<Holders> {
  const pids = new Set(marksOf(look).map(({ ofPid }) => ofPid));
  const holders = new Map<number, ProcessInfo | null | 'unknown'>();
  for (const pid of pids) {
    const seen = look.processes.get(pid);
    if (seen !== undefined) holders.set(pid, seen);
    else {
      try {
        holders.set(pid, await host.inspect(pid));
      } catch {
        // A process that may exist and cannot be read proves nothing: its marks are not leftovers.
        holders.set(pid, 'unknown');
      }
    }
  }
  return holders;
}

function isOrphan({ info, ofPid }: Marked, holders: Holders): boolean {
  const holder = holders.get(ofPid);
  if (holder === undefined || holder === 'unknown') return false;
  // A holder that started after the child has the number by reuse: the server that left the mark is gone.
  return holder === null || isFinished(holder) || !startedNoEarlier(info, holder);
}

/** @param inServers PIDs that belong to a listed server or its tree */
export function findLeftovers(
  look: Look,
  hostName: string,
  holders: Holders,
  inServers: ReadonlySet<number>,
  uid: number | null,
): JudgedLeftover[] {
  const children = childrenOf(look);
  const self = selfProcesses(look);
  const orphans = marksOf(look).filter(
    (marked) =>
      !isFinished(marked.info) &&
      !inServers.has(marked.info.pid) &&
      !self.has(marked.info.pid) &&
      !isUnproved(look, marked.info.pid) &&
      isOrphan(marked, holders),
  );
  const pids = new Set(orphans.map(({ info }) => info.pid));
  const tops = orphans.filter(({ info }) => !pids.has(info.ppid));
  return tops.map((marked) => {
    const stop = (info: ProcessInfo): boolean =>
      inServers.has(info.pid) || self.has(info.pid) || isUnproved(look, info.pid);
    const tree = treeBelow(look, [marked.info.pid], stop, children);
    return { row: leftoverRow(look, hostName, marked, tree, uid), root: marked.info };
  });
}

function leftoverRow(
  look: Look,
  host: string,
  { info, kind, ofPid }: Marked,
  tree: readonly TreeNode[],
  uid: number | null,
): Leftover {
  const ownUid = uid === null || info.uid === uid;
  const parent = look.processes.get(info.ppid);
  const orphaned = parent === undefined || parent.pid === 1 || look.reapers.includes(parent.pid);
  const reasons = [
    `it carries the mark of ${kind}, PID ${ofPid}, which is gone`,
    orphaned ? 'its parent is gone, too' : `its parent is ${ownerLabel(parent)}, PID ${parent.pid}`,
  ];
  // What ends with it: a part that was meant to stay, or is another user's, is left alone.
  const ends = tree.filter(
    (node) => node.info === info || (!isDetached(node.info, info) && node.info.uid === info.uid),
  );
  return {
    id: idOf(info.identity),
    host,
    kind,
    pid: info.pid,
    identity: info.identity,
    ofPid,
    name: nameOf(info),
    command: oneLine(redactArgv(info.argv).join(' ') || `[${info.comm}]`, 400),
    reasons,
    rssBytes: ends.reduce((sum, node) => sum + memoryOf(node.info), 0),
    startedAt: new Date(info.startedAt).toISOString(),
    directory: info.cwd,
    processes: processRows(ends, info.pid, new Set()).map((row) => ({ ...row, role: 'child' })),
    reap: leftoverPermission({ uid: info.uid, ownUid, doubt: reasonToKeep(look, tree, null) }),
  };
}
