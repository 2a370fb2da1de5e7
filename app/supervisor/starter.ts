/**
 * Starting a server (DESIGN rule 4.8): a planned record, the spawn with its nonce, the search for the process that
 * really listens, its own health endpoint, the bound record. Whatever fails, nothing that was started stays.
 */
import { randomUUID } from 'node:crypto';
import { statSync } from 'node:fs';
import { isAbsolute, join } from 'node:path';
import type { Host, Look, ProcessInfo, Spawned } from '../hosts/host.ts';
import type { ProcessRef } from '../identity/identity.ts';
import { nonceOf } from '../records/judge.ts';
import type { ServerRecord } from '../records/schema.ts';
import type { RecordStore } from '../records/store.ts';
import { groupServers, type ServerGroup } from '../servers/group.ts';
import type { Endpoint, Health, Kind } from '../servers/kind.ts';
import { redactArgv } from '../servers/redact.ts';
import type { Audit } from './audit.ts';
import { endTree } from './ender.ts';
import { serverEnvironment } from './environment.ts';
import { ActFailed } from './failure.ts';
import { tail } from './logs.ts';
import { nameOf, refOf } from './members.ts';
import { ownerLabel } from './owner-label.ts';
import { startedNoEarlier } from './tree.ts';

/** An opencode is ready after 1.3 to 2.4 s (measured); a cold disk, a first install or a busy machine take longer. */
export const READY_DEADLINE_MS = 60_000;
/** Between two looks while a start is under way. */
const POLL_MS = 120;
const HEALTH_DEADLINE_MS = 2000;
const LOG_TAIL_BYTES = 4096;

export interface StartOrder {
  readonly kind: Kind;
  readonly directory: string;
  readonly port: number | null;
  readonly forPid: number | null;
  readonly keepRunning: boolean;
}

export interface StartDependencies {
  readonly host: Host;
  readonly store: RecordStore;
  readonly audit: Audit;
  readonly logsDir: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** This process, so that a planned record tells whether its writer lives. */
  readonly writer: ProcessRef;
  readonly look: (include: readonly number[]) => Promise<Look>;
  readonly by: string;
  readonly progress: (message: string) => void;
  /** Nonces of starts under way, so that their records are not judged stale meanwhile. */
  readonly pending: Set<string>;
  readonly deadlineMs?: number;
}

export interface Started {
  readonly record: ServerRecord;
  readonly path: string;
  readonly leader: ProcessInfo;
  readonly endpoint: Endpoint;
}

/** @throws ActFailed with the cause as observed and the way out */
export async function startServer(order: StartOrder, deps: StartDependencies): Promise<Started> {
  const { kind } = order;
  checkFolder(order.directory);
  if (kind.locate === null || kind.startPlan === null) {
    throw new ActFailed(
      'not-startable',
      `${kind.name} cannot be started from here.`,
      'Start it with its own tool; Rollcall lists it.',
    );
  }
  if (order.port !== null) await checkPort(deps.host, order.port);
  const owner = order.forPid === null ? null : await ownerRef(deps.host, order.forPid);
  deps.progress(`looking for ${kind.name}`);
  const program = await kind.locate(deps.env);
  if (!program.found) throw new ActFailed('not-found', program.why, program.remedy);

  const plan = kind.startPlan(program.program, order.directory, order.port);
  const nonce = randomUUID();
  const logPath = join(deps.logsDir, `${kind.name}-${nonce}.log`);
  const record: ServerRecord = {
    version: 1,
    nonce,
    kind: kind.name,
    state: 'planned',
    directory: order.directory,
    writtenAt: new Date().toISOString(),
    writer: deps.writer,
    port: order.port,
    keepRunning: order.keepRunning,
    owner,
    spawned: null,
    server: null,
    listening: null,
    command: [...redactArgv(plan.argv)],
    logPath,
  };
  const subject = `${kind.name} in ${order.directory}`;
  deps.pending.add(nonce);
  try {
    await deps.store.write(record);
    deps.audit.write({ event: 'planned', by: deps.by, subject, text: `${subject} is to be started` });
    const spawned = await spawn(order, deps, plan, logPath, nonce).catch((error: unknown) => {
      deps.store.remove(nonce);
      throw error;
    });
    try {
      return await bind(order, deps, spawned, record, subject);
    } catch (error) {
      throw await abandon(order, deps, spawned, { ...record, state: 'spawned', spawned: spawned.ref }, error);
    }
  } finally {
    deps.pending.delete(nonce);
  }
}

/** From the spawn to the bound record. */
async function bind(
  order: StartOrder,
  deps: StartDependencies,
  spawned: Spawned,
  planned: ServerRecord,
  subject: string,
): Promise<Started> {
  const { kind, directory } = order;
  const { identity } = spawned.ref;
  const record: ServerRecord = { ...planned, state: 'spawned', spawned: spawned.ref };
  await deps.store.write(record);
  const text = `${subject} was started as PID ${identity.pid}`;
  deps.audit.write({ event: 'started', by: deps.by, pid: identity.pid, identity, subject, text });
  const { leader, endpoint } = await waitReady(order, deps, spawned, record.nonce);
  const bound: ServerRecord = {
    ...record,
    state: 'bound',
    server: refOf(leader),
    listening: { address: endpoint.address, port: endpoint.port },
  };
  const path = await deps.store.write(bound);
  deps.audit.write({
    event: 'ready',
    by: deps.by,
    pid: leader.pid,
    identity: leader.identity,
    subject: `${kind.name} :${endpoint.port}`,
    text: `${kind.name} :${endpoint.port} in ${directory} is ready as PID ${leader.pid}`,
  });
  return { record: bound, path, leader, endpoint };
}

function checkFolder(directory: string): void {
  const remedy = 'Choose a folder that exists.';
  if (!isAbsolute(directory)) throw new ActFailed('no-folder', `${directory} is no absolute path.`, remedy);
  const stat = statSync(directory, { throwIfNoEntry: false });
  if (stat === undefined) throw new ActFailed('no-folder', `The folder ${directory} does not exist.`, remedy);
  if (!stat.isDirectory()) throw new ActFailed('no-folder', `${directory} is no folder.`, remedy);
}

function portTaken(port: number, holder: ProcessInfo | 'unreadable'): ActFailed {
  const who = holder === 'unreadable' ? "another user's process" : `${nameOf(holder)}, PID ${holder.pid}`;
  return new ActFailed('port-taken', `Port ${port} is held by ${who}.`, 'Choose another port, or stop that program.');
}

async function checkPort(host: Host, port: number): Promise<void> {
  const holder = await host.portHolder(port);
  if (holder !== null) throw portTaken(port, holder);
}

async function ownerRef(host: Host, pid: number): Promise<NonNullable<ServerRecord['owner']>> {
  const info = await host.inspect(pid);
  if (info === null || info.state === 'Z' || info.state === 'X') {
    throw new ActFailed(
      'no-owner',
      `No running process has PID ${pid}.`,
      'Name a process that runs, or leave out --for.',
    );
  }
  return { label: ownerLabel(info), ref: refOf(info) };
}

async function spawn(
  order: StartOrder,
  deps: StartDependencies,
  plan: { argv: readonly [string, ...string[]]; env: Readonly<Record<string, string>> },
  logPath: string,
  nonce: string,
): Promise<Spawned> {
  deps.progress(`starting ${order.kind.name}`);
  try {
    return await deps.host.spawn({
      argv: plan.argv,
      cwd: order.directory,
      env: serverEnvironment(deps.env, { ...plan.env, ROLLCALL_NONCE: nonce }),
      logPath,
    });
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new ActFailed(
      'spawn-failed',
      `${plan.argv[0]} could not be started: ${why}`,
      'Check that the program is there and may be run.',
    );
  }
}

interface Ready {
  readonly leader: ProcessInfo;
  readonly endpoint: Endpoint;
}

/** Looks until the process that listens answers its kind's own health endpoint. */
async function waitReady(order: StartOrder, deps: StartDependencies, spawned: Spawned, nonce: string): Promise<Ready> {
  const began = performance.now();
  const deadlineMs = deps.deadlineMs ?? READY_DEADLINE_MS;
  let exit: { code: number | null; signal: string | null } | null = null;
  void spawned.exit.then((how) => {
    exit = how;
  });
  let last: Health | null = null;
  let listened = false;
  while (performance.now() - began < deadlineMs) {
    const exitedBefore: { code: number | null; signal: string | null } | null = exit;
    const look = await deps.look([spawned.ref.identity.pid]);
    const carriers = carriersOf(look, spawned, nonce);
    const endpoint = endpointAmong(look, carriers);
    if (endpoint !== null) {
      listened = true;
      deps.progress(`waiting for ${order.kind.name} :${endpoint.port} to answer`);
      last = await order.kind.health(endpoint, HEALTH_DEADLINE_MS);
      const leader = look.processes.get(endpoint.identity.pid);
      if ((last.state === 'ok' || last.state === 'locked') && leader !== undefined) return { leader, endpoint };
    } else if (exitedBefore !== null && carriers.length === 0) {
      throw await exitedSilently(order, deps, exitedBefore, performance.now() - began);
    }
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
  const seconds = Math.round(deadlineMs / 1000);
  const what = listened
    ? `${order.kind.name} opened a port, but did not answer as ${order.kind.name} within ${seconds} s${last !== null && 'why' in last ? ` (${last.why})` : ''}.`
    : `${order.kind.name} opened no port within ${seconds} s.`;
  throw new ActFailed('not-ready', what, 'Its processes were ended; the log shows what it did.');
}

/** The spawned process with its tree and whatever carries the nonce: all that this start has brought into being. */
function carriersOf(look: Look, spawned: Spawned, nonce: string): ProcessInfo[] {
  const root = look.processes.get(spawned.ref.identity.pid);
  const mine = new Map<number, ProcessInfo>();
  if (root !== undefined && root.startTime === spawned.ref.identity.startTime && root.state !== 'Z')
    mine.set(root.pid, root);
  for (const info of look.processes.values()) {
    if (nonceOf(info) === nonce && info.state !== 'Z') mine.set(info.pid, info);
  }
  for (let grew = true; grew; ) {
    grew = false;
    for (const info of look.processes.values()) {
      const parent = mine.get(info.ppid);
      if (parent === undefined || mine.has(info.pid) || info.state === 'Z' || !startedNoEarlier(info, parent)) continue;
      mine.set(info.pid, info);
      grew = true;
    }
  }
  return [...mine.values()];
}

function endpointAmong(look: Look, carriers: readonly ProcessInfo[]): Endpoint | null {
  const leaders = new Set(groupServers(look).map((group: ServerGroup) => group.leader));
  const found = look.listening
    .map(({ pid, address, port }) => ({ info: carriers.find((carrier) => carrier.pid === pid), address, port }))
    .filter((candidate) => candidate.info !== undefined)
    .sort((a, b) => Number(leaders.has(b.info?.pid ?? 0)) - Number(leaders.has(a.info?.pid ?? 0)))[0];
  if (found?.info === undefined) return null;
  return { identity: found.info.identity, address: found.address, port: found.port, credentials: null };
}

async function exitedSilently(
  order: StartOrder,
  deps: StartDependencies,
  exit: { code: number | null; signal: string | null },
  afterMs: number,
): Promise<ActFailed> {
  if (order.port !== null) {
    const holder = await deps.host.portHolder(order.port);
    if (holder !== null) return portTaken(order.port, holder);
  }
  const how = exit.signal === null ? `with code ${exit.code ?? 'unknown'}` : `by ${exit.signal}`;
  const message = `${order.kind.name} ended ${how} after ${(afterMs / 1000).toFixed(1)} s without opening a port.`;
  return new ActFailed('exited', message, 'The log shows what it said.');
}

/** A start that failed leaves nothing behind: its processes are ended, its record goes, its log is kept. */
async function abandon(
  order: StartOrder,
  deps: StartDependencies,
  spawned: Spawned,
  record: ServerRecord,
  error: unknown,
): Promise<unknown> {
  const look = await deps.look([spawned.ref.identity.pid]);
  const roots = carriersOf(look, spawned, record.nonce);
  const subject = `${order.kind.name} in ${order.directory}`;
  const ended =
    roots.length === 0
      ? null
      : await endTree(
          { label: subject, roots, kind: order.kind, endpoint: null, ports: [] },
          {
            host: deps.host,
            look: deps.look,
            audit: deps.audit,
            by: deps.by,
            stopAt: () => false,
            progress: deps.progress,
          },
        );
  if (ended === null || ended.outcome === 'gone') deps.store.remove(record.nonce);
  const reason = error instanceof Error ? error.message : String(error);
  deps.audit.write({
    event: 'start-failed',
    by: deps.by,
    pid: spawned.ref.identity.pid,
    subject,
    text: `${subject} did not start: ${reason}`,
  });
  if (!(error instanceof ActFailed)) return error;
  const { failure } = error;
  const log = record.logPath === null ? '' : tail(record.logPath, LOG_TAIL_BYTES).text.trim();
  const rest = ended !== null && ended.outcome !== 'gone' ? ` ${ended.message}` : '';
  return new ActFailed(failure.code, `${failure.message}${rest}`, failure.remedy, log === '' ? null : log);
}
