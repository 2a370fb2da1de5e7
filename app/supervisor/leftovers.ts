/** Leftovers: what a dead server's tools and helpers left behind, found by the mark in their environment. */
import type { Host, Look, MarkName, ProcessInfo } from '../hosts/host.ts';
import type { Leftover } from '../roll/schema.ts';
import { oneLine, redactArgv } from '../servers/redact.ts';
import { idOf } from './ids.ts';
import { memoryOf, nameOf } from './members.ts';
import { ownerLabel } from './owner-label.ts';
import { leftoverPermission } from './permissions.ts';
import { processRows } from './process-rows.ts';
import { serviceUnit } from './service.ts';
import { childrenOf, startedNoEarlier, type TreeNode, treeBelow } from './tree.ts';

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
      const ofPid = Number(info.marks[mark]);
      return Number.isInteger(ofPid) && ofPid > 1 && ofPid !== info.pid ? [{ info, kind, ofPid }] : [];
    }),
  );
}

/**
 * What stands now at the PIDs that marks name, for those the look does not show: null for nobody, `unknown` where it
 * could not be read. A TUI leaves marks too and is no server, so its life must be asked for.
 */
export async function holdersOf(look: Look, host: Host): Promise<ReadonlyMap<number, ProcessInfo | null | 'unknown'>> {
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

function isOrphan({ info, ofPid }: Marked, holders: ReadonlyMap<number, ProcessInfo | null | 'unknown'>): boolean {
  const holder = holders.get(ofPid);
  if (holder === undefined || holder === 'unknown') return false;
  // A holder that started after the child has the number by reuse: the server that left the mark is gone.
  return holder === null || holder.state === 'Z' || !startedNoEarlier(info, holder);
}

/** @param inServers PIDs that belong to a listed server or its tree */
export function findLeftovers(
  look: Look,
  hostName: string,
  holders: ReadonlyMap<number, ProcessInfo | null | 'unknown'>,
  inServers: ReadonlySet<number>,
  uid: number | null,
): JudgedLeftover[] {
  const children = childrenOf(look);
  const orphans = marksOf(look).filter(
    (marked) => marked.info.state !== 'Z' && !inServers.has(marked.info.pid) && isOrphan(marked, holders),
  );
  const pids = new Set(orphans.map(({ info }) => info.pid));
  const tops = orphans.filter(({ info }) => !pids.has(info.ppid));
  return tops.map((marked) => {
    const tree = treeBelow(look, [marked.info.pid], (info) => inServers.has(info.pid), children);
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
  const ownUid = uid === null || tree.every((node) => node.info.uid === uid);
  const parent = look.processes.get(info.ppid);
  const orphaned = parent === undefined || parent.pid === 1 || look.reapers.includes(parent.pid);
  const reasons = [
    `it carries the mark of ${kind}, PID ${ofPid}, which is gone`,
    orphaned ? 'its parent is gone, too' : `its parent is ${ownerLabel(parent)}, PID ${parent.pid}`,
  ];
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
    rssBytes: tree.reduce((sum, node) => sum + memoryOf(node.info), 0),
    startedAt: new Date(info.startedAt).toISOString(),
    directory: info.cwd,
    processes: processRows(tree, info.pid, new Set()).map((row) => ({ ...row, role: 'child' })),
    reap: leftoverPermission({ uid: info.uid, ownUid, doubt: doubtAbout(tree, parent, orphaned) }),
  };
}

/** What speaks for somebody still wanting it. Such leftovers are reaped only one by one, after a question. */
function doubtAbout(tree: readonly TreeNode[], parent: ProcessInfo | undefined, orphaned: boolean): string | null {
  if (!orphaned && parent !== undefined) return `its parent ${ownerLabel(parent)}, PID ${parent.pid}, is alive`;
  for (const { info } of tree) {
    // A terminal multiplexer started by a tool hands its mark to every shell that a person opens in it.
    if (info.tty !== 0) return `${nameOf(info)}, PID ${info.pid}, has a terminal`;
    if (info.ignoresHangup === true) return `${nameOf(info)}, PID ${info.pid}, ignores the hangup signal`;
    const unit = info.cgroup === null ? null : serviceUnit(info.cgroup);
    if (unit !== null) return `${nameOf(info)}, PID ${info.pid}, belongs to the unit ${unit}`;
  }
  return null;
}
