/**
 * What belongs to a server: its own processes, what descends from them, and what carries its mark although its chain
 * of parents is cut. The roster shows this and the ending ends this, so that a plan names all that will be signalled.
 * Pure.
 */
import type { Look, MarkName, ProcessInfo } from '../../hosts/host.ts';
import { isFinished } from '../../hosts/process-info.ts';
import { isSameProcess, type ProcessIdentity } from '../../identity/identity.ts';
import { groupServers, ownPids, recognisable, type ServerGroup } from '../../servers/recognition/group.ts';
import { editorLabel } from '../../servers/recognition/labels.ts';
import { isDetached } from './detached.ts';
import { nameOf, ownerLabel } from './owner-label.ts';
import { restartLoopsAbove } from './restart-loops.ts';
import { serviceUnit } from './service.ts';
import { ancestorsOf, childrenOf, startedNoEarlier, type TreeNode, treeBelow } from './tree.ts';

/** Daemons that one program starts and every program of the person then shares. */
const SHARED_DAEMONS: ReadonlySet<string> = new Set([
  'gpg-agent',
  'ssh-agent',
  'dirmngr',
  'keyboxd',
  'scdaemon',
  'adb',
  'dbus-daemon',
  'dbus-broker',
  'tmux',
  'screen',
  'zellij',
  'emacs',
  'watchman',
  'dockerd',
  'containerd',
  'podman',
  'colima',
  'pulseaudio',
  'pipewire',
]);

/**
 * The PID that a server left in its child's environment; null when there is none, or when it counts in another PID
 * namespace, where the number means somebody else.
 */
export function markedPid(info: ProcessInfo, mark: MarkName, look: Look): number | null {
  if (info.ownPidNamespace !== look.observer.pidNamespace) return null;
  const pid = Number(info.marks?.[mark]);
  return Number.isInteger(pid) && pid > 1 && pid !== info.pid ? pid : null;
}

/** It may be a server with a standing of its own: its program cannot be read. */
export function isUnproved(look: Look, pid: number): boolean {
  return look.unproved.some((process) => process.pid === pid);
}

/**
 * What speaks for somebody else wanting a process that only its mark ties to a server; null when nothing does.
 *
 * @param root the server it is marked by; null when that is gone
 */
export function reasonToKeep(look: Look, tree: readonly TreeNode[], root: ProcessInfo | null): string | null {
  const [top] = tree;
  if (top === undefined) return null;
  const parent = look.processes.get(top.info.ppid);
  if (parent !== undefined && parent.pid !== 1 && !look.reapers.includes(parent.pid)) {
    return `its parent ${ownerLabel(parent)}, PID ${parent.pid}, is alive`;
  }
  for (const { info } of tree) {
    const who = `${nameOf(info)}, PID ${info.pid},`;
    // A terminal multiplexer started by a tool hands its mark to every shell that a person opens in it.
    if (info.tty !== 0) return `${who} has a terminal`;
    if (isDetached(info, root)) return `${who} was started to outlive its parent`;
    const editor = editorLabel(recognisable(info));
    if (editor !== null) return `${who} is ${editor}`;
    if (SHARED_DAEMONS.has(nameOf(info).replace(/:$/u, '')) || SHARED_DAEMONS.has(info.comm))
      return `${who} is a daemon that others share`;
    const unit = info.cgroup === null ? null : serviceUnit(info.cgroup);
    if (unit !== null) return `${who} belongs to the unit ${unit}`;
  }
  return null;
}

/** Our own processes on that host, what they descend from and what descends from them: never part of anything that ends. */
export function selfProcesses(look: Look): ReadonlySet<number> {
  let self = selfOfLook.get(look);
  if (self === undefined) {
    const below = treeBelow(look, look.ownPids, () => false).map(({ info }) => info.pid);
    const above = look.ownPids.flatMap((own) => ancestorsOf(look, own).map(({ pid }) => pid));
    self = new Set([...look.ownPids, ...above, ...below]);
    selfOfLook.set(look, self);
  }
  return self;
}

const selfOfLook = new WeakMap<Look, ReadonlySet<number>>();

const groupsOfLook = new WeakMap<Look, readonly ServerGroup[]>();

/** The servers of a look; worked out once for each. */
export function groupsOf(look: Look): readonly ServerGroup[] {
  let groups = groupsOfLook.get(look);
  if (groups === undefined) {
    groups = groupServers(look);
    groupsOfLook.set(look, groups);
  }
  return groups;
}

/** PIDs of every other server, wrappers and helpers included: where this one's tree ends. */
export function otherServers(groups: readonly ServerGroup[], leader: number | null): ReadonlySet<number> {
  return ownPids(groups.filter((group) => group.leader !== leader));
}

/** Whether the look shows this very process, not merely somebody with its number. */
export function isStill(look: Look, info: ProcessInfo): boolean {
  const now = look.processes.get(info.pid);
  return now !== undefined && isSameProcess(now.identity, info.identity);
}

/**
 * Whether a process carries the mark of this very root. When the root is gone and somebody else has its number, what
 * started since may be that one's own child.
 */
function isMarkedBy(info: ProcessInfo, root: ProcessInfo, mark: MarkName, look: Look): boolean {
  if (markedPid(info, mark, look) !== root.pid || !startedNoEarlier(info, root)) return false;
  const holder = look.processes.get(root.pid);
  return holder === undefined || isStill(look, root) || !startedNoEarlier(info, holder);
}

/** The process that our record says was started for the server, where it lives and is none of the server's own. */
function starterOf({ look, spawned, uid }: ServerTreeInput, own: ReadonlySet<number>): ProcessInfo | undefined {
  const info = spawned === null || own.has(spawned.pid) ? undefined : look.processes.get(spawned.pid);
  if (info === undefined || spawned === null || !isSameProcess(info.identity, spawned)) return undefined;
  return isFinished(info) || (uid !== null && info.uid !== uid) || look.ownPids.includes(info.pid) ? undefined : info;
}

export interface ServerTreeInput {
  readonly look: Look;
  /** The server's own processes, wrappers first. Those that the look no longer shows still count as who left a mark. */
  readonly roots: readonly ProcessInfo[];
  /** The process that does the work; what others merely inherited from it is no sign of its own. */
  readonly leader: ProcessInfo | null;
  readonly mark: MarkName | null;
  /** What our record says was started for it, which may be more than a plain wrapper; null without a record. */
  readonly spawned: ProcessIdentity | null;
  /** PIDs of other servers. */
  readonly others: ReadonlySet<number>;
  /** Our uid; null where there are none. */
  readonly uid: number | null;
}

/**
 * The tree of a server, parents before children; what could start it again comes first: what our record says was
 * started for it, and orphan supervisors. It ends at other servers, at what was meant to stay and at other users'
 * processes; what only a mark ties to it counts unless somebody else may want it.
 */
export function serverTree(input: ServerTreeInput): TreeNode[] {
  const { look, roots, leader, mark, others, uid } = input;
  const children = childrenOf(look);
  // A number that came round to somebody else is no root.
  const own = new Set(roots.filter((root) => isStill(look, root)).map(({ pid }) => pid));
  const stop = (info: ProcessInfo): boolean => {
    if (own.has(info.pid)) return false;
    if (look.ownPids.includes(info.pid) || others.has(info.pid) || isUnproved(look, info.pid)) return true;
    return (uid !== null && info.uid !== uid) || isDetached(info, leader);
  };
  const starter = starterOf(input, own);
  const top = starter ?? roots.find(({ pid }) => own.has(pid));
  const above = top === undefined ? [] : restartLoopsAbove(look, top, children, uid);
  const below = treeBelow(look, [...(starter === undefined ? [] : [starter.pid]), ...own], stop, children);
  const tree: TreeNode[] = [
    ...above.map((info, depth) => ({ info, depth, respawner: true as const })),
    ...below.map(({ info, depth }) => ({
      info,
      depth: depth + above.length,
      ...(info === starter ? { respawner: true as const } : {}),
    })),
  ];
  if (mark === null) return tree;
  const taken = new Set(tree.map(({ info }) => info.pid));
  const self = selfProcesses(look);
  const marked = [...look.processes.values()].filter(
    (info) =>
      !taken.has(info.pid) &&
      !self.has(info.pid) &&
      !isFinished(info) &&
      roots.some((root) => isMarkedBy(info, root, mark, look)),
  );
  const pids = new Set(marked.map(({ pid }) => pid));
  for (const top of marked.filter(({ ppid }) => !pids.has(ppid))) {
    if (stop(top)) continue;
    const part = treeBelow(look, [top.pid], stop, children);
    if (reasonToKeep(look, part, leader) !== null) continue;
    for (const node of part) if (!taken.has(node.info.pid)) tree.push({ info: node.info, depth: node.depth + 1 });
    for (const { info } of part) taken.add(info.pid);
  }
  return tree;
}
