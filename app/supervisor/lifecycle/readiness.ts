/** Waiting until what was started really serves: the process that listens, answering as its kind. */
import type { Host, Look, ProcessInfo, Spawned } from '../../hosts/host.ts';
import { isFinished } from '../../hosts/process-info.ts';
import type { ServerRecord } from '../../records/schema.ts';
import type { Endpoint, Health } from '../../servers/kind.ts';
import { oneLine, redactArgv } from '../../servers/redact.ts';
import { serverLabel } from '../../text/words.ts';
import { ActFailed } from '../failure.ts';
import { nameOf } from '../standing/owner-label.ts';
import { groupsOf } from '../standing/server-tree.ts';
import { startedNoEarlier } from '../standing/tree.ts';
import type { StartDeps, StartOrder } from './start-order.ts';

/** An opencode is ready after 1.3 to 2.4 s (measured); a cold disk, a first install or a busy machine take longer. */
export const READY_DEADLINE_MS = 60_000;
/** Between two looks while a start is under way. */
const POLL_MS = 120;
const HEALTH_DEADLINE_MS = 2000;
/** Longest command in a sentence, in characters. */
const COMMAND_LENGTH = 80;

export interface Ready {
  readonly leader: ProcessInfo;
  readonly endpoint: Endpoint;
}

interface Exit {
  readonly code: number | null;
  readonly signal: string | null;
}

type Start = Pick<ServerRecord, 'nonce' | 'kind'>;

/**
 * Looks until the process that listens answers its kind's own health endpoint.
 *
 * @throws ActFailed when it ends, stays silent past the deadline, or is given up
 */
export async function waitReady(order: StartOrder, deps: StartDeps, spawned: Spawned, start: Start): Promise<Ready> {
  const began = performance.now();
  const deadlineMs = deps.deadlineMs ?? READY_DEADLINE_MS;
  const state: { exit: Exit | null } = { exit: null };
  void spawned.exit.then((exit) => {
    state.exit = exit;
  });
  let last: Health | null = null;
  let listened = false;
  while (performance.now() - began < deadlineMs) {
    if (deps.abort.aborted) {
      throw new ActFailed('quitting', `${order.kind.name} was not ready when Rollcall quit.`, 'Start it again.');
    }
    // Read before the look: what had ended by then has nothing left to show in it.
    const exit = state.exit;
    const look = await deps.look([spawned.ref.identity.pid]);
    const carriers = carriersOf(look, spawned, start);
    const endpoints = endpointsAmong(look, carriers, order.kind.name, (listener) => deps.host.at(listener));
    for (const endpoint of endpoints) {
      listened = true;
      deps.progress(`waiting for ${order.kind.name} :${endpoint.port} to answer`);
      last = await order.kind.health(endpoint, HEALTH_DEADLINE_MS);
      const leader = look.processes.get(endpoint.identity.pid);
      if ((last.state === 'ok' || last.state === 'locked') && leader !== undefined) return { leader, endpoint };
    }
    if (endpoints.length === 0 && exit !== null && carriers.length === 0) {
      throw await exitedSilently(order, deps, exit, performance.now() - began);
    }
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
  throw notReady(order.kind.name, Math.round(deadlineMs / 1000), listened, last);
}

function notReady(kind: string, seconds: number, listened: boolean, last: Health | null): ActFailed {
  const why = last !== null && 'why' in last ? ` (${last.why})` : '';
  const what = listened
    ? `${kind} opened a port, but did not answer as ${kind} within ${seconds} s${why}.`
    : `${kind} opened no port within ${seconds} s.`;
  return new ActFailed('not-ready', what, 'Its processes were ended; the log shows what it did.');
}

/** The spawned process with its tree and whatever carries the nonce: all that this start has brought into being. */
export function carriersOf(look: Look, spawned: Spawned, { nonce }: Start): ProcessInfo[] {
  const { pid, startTime } = spawned.ref.identity;
  const root = look.processes.get(pid);
  const mine = new Map<number, ProcessInfo>();
  if (root !== undefined && root.startTime === startTime && !isFinished(root)) mine.set(root.pid, root);
  for (const info of look.processes.values()) {
    if (info.marks?.ROLLCALL_NONCE === nonce && !isFinished(info)) mine.set(info.pid, info);
  }
  for (let grew = true; grew; ) {
    grew = false;
    for (const info of look.processes.values()) {
      const parent = mine.get(info.ppid);
      if (parent === undefined || mine.has(info.pid) || isFinished(info) || !startedNoEarlier(info, parent)) continue;
      mine.set(info.pid, info);
      grew = true;
    }
  }
  return [...mine.values()];
}

/**
 * Where the carriers listen. A server may start servers of other kinds, which listen too: those of the kind that was
 * asked for count; only where nothing of that kind is recognised, everything does.
 */
function endpointsAmong(look: Look, carriers: readonly ProcessInfo[], kind: string, reach: Host['at']): Endpoint[] {
  const pids = new Set(carriers.map(({ pid }) => pid));
  const groups = groupsOf(look).filter((group) => group.pids.some((pid) => pids.has(pid)));
  const wanted = groups.filter(({ recognition }) => recognition.kind === kind).flatMap((group) => group.pids);
  const others = new Set(groups.filter(({ recognition }) => recognition.kind !== kind).flatMap((group) => group.pids));
  return look.listening.flatMap(({ pid, address, port }) => {
    const info = carriers.find((carrier) => carrier.pid === pid);
    if (info === undefined || others.has(pid) || (wanted.length > 0 && !wanted.includes(pid))) return [];
    const { identity } = info;
    const at = reach({ identity, address, port });
    // The way to one on another host opens only after a look has proved who listens.
    return at === null ? [] : [{ identity, address, port, at, credentials: null }];
  });
}

/**
 * Names who holds a port that was asked for: a server of ours, another server that is listed, or any other program
 * with its command.
 */
export function portTaken(
  port: number,
  holder: ProcessInfo | 'unreadable',
  serverAt: StartDeps['serverAt'],
): ActFailed {
  const taken = (who: string, remedy: string): ActFailed =>
    new ActFailed('port-taken', `Port ${port} is held by ${who}.`, remedy);
  if (holder === 'unreadable') return taken("another user's process", 'Choose another port.');
  const who = `${nameOf(holder)}, PID ${holder.pid}`;
  const server = serverAt(holder.pid);
  if (server === null) {
    const command = oneLine(redactArgv(holder.argv).join(' '), COMMAND_LENGTH);
    return taken(command === '' ? who : `${who} (${command})`, 'Choose another port, or stop that program.');
  }
  const where = server.directory === null ? '' : ` in ${server.directory}`;
  return server.standing === 'supervised'
    ? taken(
        `a server of Rollcall's, ${serverLabel(server)}${where}, PID ${server.pid}`,
        'Use that one, or stop it first.',
      )
    : taken(
        `another server that is ${server.standing}, ${serverLabel(server)}${where}, PID ${server.pid}`,
        'Choose another port, or reap that server first.',
      );
}

async function exitedSilently(order: StartOrder, deps: StartDeps, exit: Exit, afterMs: number): Promise<ActFailed> {
  if (order.port !== null) {
    const holder = await deps.host.portHolder(order.port);
    if (holder !== null) return portTaken(order.port, holder, deps.serverAt);
  }
  const how = exit.signal === null ? `with code ${exit.code ?? 'unknown'}` : `by ${exit.signal}`;
  const message = `${order.kind.name} ended ${how} after ${(afterMs / 1000).toFixed(1)} s without opening a port.`;
  return new ActFailed('exited', message, 'The log shows what it said.');
}
