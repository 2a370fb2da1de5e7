/** Who descends from whom in one look. Pure. */
import type { Look, ProcessInfo } from '../../hosts/host.ts';

type Children = ReadonlyMap<number, readonly ProcessInfo[]>;

const childrenOfLook = new WeakMap<Look, Children>();

/** Children of each PID in a look; worked out once for each. */
export function childrenOf(look: Look): Children {
  let children = childrenOfLook.get(look);
  if (children === undefined) {
    children = sortChildren(look);
    childrenOfLook.set(look, children);
  }
  return children;
}

function sortChildren(look: Look): Children {
  const children = new Map<number, ProcessInfo[]>();
  for (const info of look.processes.values()) {
    const siblings = children.get(info.ppid);
    if (siblings === undefined) children.set(info.ppid, [info]);
    else siblings.push(info);
  }
  for (const siblings of children.values()) siblings.sort((a, b) => a.pid - b.pid);
  return children;
}

/**
 * Whether `later` may be a child of `earlier`: a process cannot have started before its parent, so one that did has
 * got its parent's number by reuse (rule taken from psutil's children()). Ticks where both have them; elsewhere
 * whole seconds with one second of slack, since that is the source's resolution.
 */
export function startedNoEarlier(later: ProcessInfo, earlier: ProcessInfo): boolean {
  const ticks = (info: ProcessInfo) => (info.startTime.startsWith('linux:') ? BigInt(info.startTime.slice(6)) : null);
  const a = ticks(later);
  const b = ticks(earlier);
  if (a !== null && b !== null) return a >= b;
  return later.startedAt >= earlier.startedAt - 1000;
}

export interface TreeNode {
  readonly info: ProcessInfo;
  /** Levels below the first root. */
  readonly depth: number;
  /** An orphan supervisor above the server, which ends before it. */
  readonly respawner?: true;
}

/**
 * The roots and everything below them, parents before children. Stops above a PID for which `stop` says so: a
 * nested server with a standing of its own, a process that stays on purpose.
 */
export function treeBelow(
  look: Look,
  roots: readonly number[],
  stop: (info: ProcessInfo) => boolean,
  children: Children = childrenOf(look),
): TreeNode[] {
  const out: TreeNode[] = [];
  const seen = new Set<number>();
  const visit = (info: ProcessInfo, depth: number): void => {
    if (seen.has(info.pid)) return;
    seen.add(info.pid);
    out.push({ info, depth });
    for (const child of children.get(info.pid) ?? []) {
      if (startedNoEarlier(child, info) && !stop(child)) visit(child, depth + 1);
    }
  };
  for (const root of roots) {
    const info = look.processes.get(root);
    if (info !== undefined) visit(info, 0);
  }
  return out;
}

/** Ancestors of a PID, nearest first, as far as the look knows them. */
export function ancestorsOf(look: Look, pid: number): ProcessInfo[] {
  const out: ProcessInfo[] = [];
  const seen = new Set<number>([pid]);
  let current = look.processes.get(pid);
  while (current !== undefined) {
    const parent = look.processes.get(current.ppid);
    if (parent === undefined || seen.has(parent.pid)) break;
    seen.add(parent.pid);
    out.push(parent);
    current = parent;
  }
  return out;
}
