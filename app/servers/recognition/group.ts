import { type Candidate, type Listening, MARK_NAMES, type ProcessInfo } from '../../hosts/host.ts';
import type { Recognisable, Recognition } from '../kind.ts';
import { invocationOf } from './argv.ts';
import { wrapsOnly } from './wrappers.ts';

/** What grouping needs to know of a process. */
export type GroupProcess = Pick<
  ProcessInfo,
  'pid' | 'ppid' | 'comm' | 'argv' | 'executable' | 'startedAt' | 'uid' | 'session' | 'cwd' | 'marks'
>;

export interface GroupInput {
  readonly processes: ReadonlyMap<number, GroupProcess>;
  readonly candidates: readonly Candidate[];
  readonly listening: readonly Listening[];
  readonly socketsReadable: boolean;
}

/** One server: the process that does the work, the wrappers that only started it, and the workers that it forked. */
export interface ServerGroup {
  /** PID of the deepest process with the role `server` that is no worker; of the deepest wrapper where none is left. */
  readonly leader: number;
  /** Wrappers first, from the topmost down; then the leader; then its workers. */
  readonly pids: readonly number[];
  /** The leader's. */
  readonly recognition: Recognition;
  /** Leader of the nearest other server among its ancestors; null when there is none. */
  readonly within: number | null;
  /** Helpers that run under this live server; they are not listed beside it. */
  readonly helpers: readonly ServerGroup[];
}

/** The part of a process that recognition looks at. */
export function recognisable(process: GroupProcess): Recognisable {
  return { comm: process.comm, argv: process.argv, executablePath: process.executable?.path ?? null };
}

/** Ancestors of a process, nearest first, as far as the look has them. Ends at PID 1 and at a circle. */
function* ancestors(processes: GroupInput['processes'], pid: number): Generator<GroupProcess> {
  const seen = new Set([pid]);
  let at = processes.get(pid)?.ppid ?? 0;
  while (at > 1 && !seen.has(at)) {
    const process = processes.get(at);
    if (process === undefined) return;
    yield process;
    seen.add(at);
    at = process.ppid;
  }
}

/** A bun-run shim looks like a server; the native child that got its very arguments shows that it is none. */
function isShimOf(parent: Recognisable, child: Recognisable): boolean {
  const outer = invocationOf(parent);
  const inner = invocationOf(child);
  if (outer === null || inner === null || outer.interpreter === null || inner.interpreter !== null) return false;
  return outer.args.length === inner.args.length && outer.args.every((arg, index) => inner.args[index] === arg);
}

/**
 * Whether a process is what its parent becomes by fork(2) alone: the same program, arguments, user, session, folder and
 * environment, as far as it is known. What a tool starts gets a mark, and mostly a session or a folder of its own.
 */
function isForkOf(child: GroupProcess, parent: GroupProcess): boolean {
  const [one, two] = [child.executable, parent.executable];
  if (one === null || one.device !== two?.device || one.inode !== two.inode) return false;
  if (child.uid === null || child.uid !== parent.uid) return false;
  if (child.session !== parent.session || child.cwd === null || child.cwd !== parent.cwd) return false;
  const [own, handed] = [child.marks, parent.marks];
  if (own === null || handed === null || MARK_NAMES.some((name) => own[name] !== handed[name])) return false;
  return child.argv.length === parent.argv.length && child.argv.every((arg, index) => parent.argv[index] === arg);
}

/**
 * PIDs of workers, by the server that forked them. A server's direct child that is a fork of it, and has no port of its own
 * beside that of its server, is no second server. Where sockets could not be read, nothing is known to be a worker.
 */
function workersOf(
  input: GroupInput,
  recognised: ReadonlyMap<number, Recognition>,
): ReadonlyMap<number, readonly number[]> {
  if (!input.socketsReadable) return new Map();
  const ports = (pid: number): readonly number[] =>
    input.listening.filter((socket) => socket.pid === pid).map(({ port }) => port);
  const forkedBy = (pid: number): number | null => {
    const [child, own] = [input.processes.get(pid), recognised.get(pid)];
    const parent = child === undefined ? undefined : input.processes.get(child.ppid);
    if (child === undefined || parent === undefined || own?.role !== 'server' || own.helper) return null;
    const other = recognised.get(parent.pid);
    if (other?.role !== 'server' || other.kind !== own.kind || own.subject !== null) return null;
    const [near, above] = [ports(pid), ports(parent.pid)];
    const shares = near.length === 0 || above.length === 0 || near.some((port) => above.includes(port));
    return shares && isForkOf(child, parent) ? parent.pid : null;
  };
  const workers = new Map<number, number[]>();
  for (const pid of [...recognised.keys()].sort((a, b) => a - b)) {
    let top = forkedBy(pid);
    // Workers fork, too; a number that stands in its own line of parents ends the search.
    for (let above = top, steps = 0; above !== null && steps < 64; above = forkedBy(above), steps += 1) top = above;
    if (top !== null && top !== pid) workers.set(top, [...(workers.get(top) ?? []), pid]);
  }
  return workers;
}

/** PIDs of the wrappers directly above a leader, topmost first. */
function wrappersAbove(
  input: GroupInput,
  leader: number,
  recognised: ReadonlyMap<number, Recognition>,
  taken: ReadonlySet<number>,
): readonly number[] {
  const kind = recognised.get(leader)?.kind;
  const above: number[] = [];
  let child = input.processes.get(leader);
  for (const parent of ancestors(input.processes, leader)) {
    if (child === undefined || taken.has(parent.pid)) break;
    const outer = recognisable(parent);
    const inner = recognisable(child);
    const recognition = recognised.get(parent.pid);
    const belongs =
      recognition === undefined
        ? wrapsOnly(outer, inner)
        : recognition.kind === kind && (recognition.role === 'wrapper' || isShimOf(outer, inner));
    if (!belongs) break;
    above.unshift(parent.pid);
    child = parent;
  }
  return above;
}

/** A shell script of the tool's name serves nothing itself: without a server below it, there is no server. */
function canLead(process: GroupProcess | undefined): boolean {
  return process !== undefined && invocationOf(recognisable(process))?.interpreter !== 'shell';
}

/**
 * Groups what a look recognised into servers: a wrapper chain and the process that listens are one server; a server
 * started by another one stays its own, with `within` set; helpers under a live server are listed inside it.
 *
 * Pure. Ordered by leader PID, so that equal looks give equal answers.
 */
export function groupServers(input: GroupInput): readonly ServerGroup[] {
  const recognised = new Map(input.candidates.map(({ pid, recognition }) => [pid, recognition]));
  const pids = [...recognised.keys()].sort((a, b) => a - b);
  const workers = workersOf(input, recognised);
  const forked = new Set([...workers.values()].flat());
  const groupOf = new Map<number, number>();
  const chains = new Map<number, readonly number[]>();
  const claim = (leader: number): void => {
    const above = wrappersAbove(input, leader, recognised, new Set(groupOf.keys()));
    const chain = [...above, leader, ...(workers.get(leader) ?? [])];
    for (const pid of chain) groupOf.set(pid, leader);
    chains.set(leader, chain);
  };
  const hasBelow = (pid: number, test: (below: number) => boolean): boolean =>
    pids.some((below) => below !== pid && test(below) && [...ancestors(input.processes, below)][0]?.pid === pid);

  const servers = pids.filter((pid) => recognised.get(pid)?.role === 'server');
  const isShim = (pid: number): boolean =>
    hasBelow(pid, (below) => {
      const [outer, inner] = [input.processes.get(pid), input.processes.get(below)];
      if (outer === undefined || inner === undefined) return false;
      return (
        recognised.get(below)?.kind === recognised.get(pid)?.kind && isShimOf(recognisable(outer), recognisable(inner))
      );
    });
  for (const pid of servers) if (!isShim(pid) && !forked.has(pid)) claim(pid);
  // What is left are shims without a server below them: of each chain, the deepest leads.
  const left = (): readonly number[] => pids.filter((pid) => !groupOf.has(pid) && canLead(input.processes.get(pid)));
  for (let open = left(); open.length > 0; open = left()) {
    const above = new Set(open.flatMap((pid) => [...ancestors(input.processes, pid)].map((process) => process.pid)));
    const deepest = open.find((pid) => !above.has(pid)) ?? open[0];
    if (deepest === undefined) break;
    claim(deepest);
  }
  return nest(input, recognised, groupOf, chains);
}

function nest(
  input: GroupInput,
  recognised: ReadonlyMap<number, Recognition>,
  groupOf: ReadonlyMap<number, number>,
  chains: ReadonlyMap<number, readonly number[]>,
): readonly ServerGroup[] {
  const helpersOf = new Map<number, ServerGroup[]>();
  const listed: ServerGroup[] = [];
  for (const [leader, chain] of [...chains].sort(([a], [b]) => a - b)) {
    const recognition = recognised.get(leader);
    if (recognition === undefined) continue;
    const enclosing: number[] = [];
    for (const { pid } of ancestors(input.processes, leader)) {
      const other = groupOf.get(pid);
      if (other !== undefined && other !== leader) enclosing.push(other);
    }
    // A session is what a person looks for, so each has a row of its own, whoever carries it.
    const nests = recognition.helper && recognition.subject === null;
    const host = nests ? enclosing.find((other) => recognised.get(other)?.helper === false) : undefined;
    const within = host ?? enclosing[0] ?? null;
    const group: ServerGroup = { leader, pids: chain, recognition, within, helpers: [] };
    if (host === undefined) listed.push(group);
    else helpersOf.set(host, [...(helpersOf.get(host) ?? []), group]);
  }
  return listed.map((group) => ({ ...group, helpers: helpersOf.get(group.leader) ?? [] }));
}

/**
 * PIDs of every process that belongs to one of these servers: leaders, wrappers and helpers. A sweep through one
 * server's tree stops at those of the others. Pure.
 */
export function ownPids(groups: readonly ServerGroup[]): ReadonlySet<number> {
  return new Set(groups.flatMap((group) => [...group.pids, ...ownPids(group.helpers)]));
}
