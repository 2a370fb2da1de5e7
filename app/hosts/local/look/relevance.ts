import { loopsOver } from '../../../servers/recognition/wrappers.ts';
import type { ProcessInfo } from '../../host.ts';

/** What is needed of a process to place it in the tree. */
export interface Placed {
  readonly stat: { readonly pid: number; readonly ppid: number };
}

export interface Relevance {
  /** The roots and everything that descends from them. */
  readonly trees: ReadonlySet<number>;
  /** The trees, their ancestors, and what was asked for with its ancestors. */
  readonly all: ReadonlySet<number>;
}

/**
 * Which processes belong into a look. Pure. Descent is by parent only, so children in a group or session of their
 * own are found; a PID that is not in the table is passed over.
 *
 * @param roots recognised and marked processes
 * @param include processes that were asked for, whatever they are
 */
export function relevant(
  table: ReadonlyMap<number, Placed>,
  roots: Iterable<number>,
  include: Iterable<number>,
): Relevance {
  const children = new Map<number, number[]>();
  for (const { stat } of table.values()) {
    const { pid, ppid } = stat;
    const siblings = children.get(ppid);
    if (siblings === undefined) children.set(ppid, [pid]);
    else siblings.push(pid);
  }

  const trees = new Set<number>();
  const waiting = [...roots].filter((pid) => table.has(pid));
  for (let pid = waiting.pop(); pid !== undefined; pid = waiting.pop()) {
    if (trees.has(pid)) continue;
    trees.add(pid);
    waiting.push(...(children.get(pid) ?? []));
  }

  const all = new Set<number>();
  for (const start of [...trees, ...include]) {
    let place = table.get(start);
    while (place !== undefined && !all.has(place.stat.pid)) {
      all.add(place.stat.pid);
      place = table.get(place.stat.ppid);
    }
  }
  return { trees, all };
}

/**
 * What runs beside a server under a shell that goes round in a loop. Whether that shell exists for the server alone can
 * be told only from all of its children.
 *
 * @param seen processes of the look so far
 */
export function besideServers(
  table: ReadonlyMap<number, Placed>,
  seen: ReadonlyMap<number, Pick<ProcessInfo, 'comm' | 'argv' | 'executable'>>,
): number[] {
  const loops = new Set<number>();
  for (const [pid, { comm, argv, executable }] of seen) {
    if (loopsOver({ comm, argv, executablePath: executable?.path ?? null })) loops.add(pid);
  }
  if (loops.size === 0) return [];
  return [...table.values()].flatMap(({ stat }) => (loops.has(stat.ppid) ? [stat.pid] : []));
}
