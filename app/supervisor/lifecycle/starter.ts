/**
 * Starting a server (DESIGN rule 4.8): a planned record, the spawn with its nonce, the search for the process that
 * really listens, its own health endpoint, the bound record. Whatever fails, nothing that was started stays.
 */

import { randomUUID } from 'node:crypto';
import { dirname, isAbsolute, join } from 'node:path';
import { type Host, type ProcessInfo, type Spawned, SpawnFailed } from '../../hosts/host.ts';
import { refOf } from '../../hosts/process-info.ts';
import { SshFailed } from '../../hosts/ssh-failed.ts';
import { RECORD_VERSION, type ServerRecord } from '../../records/schema.ts';
import type { RecordStore } from '../../records/store.ts';
import type { Endpoint } from '../../servers/kind.ts';
import { redactArgv } from '../../servers/redact.ts';
import { serverEnvironment } from '../../servers/start/environment.ts';
import { remedyFor, WriteFailed } from '../../util/atomic-write.ts';
import { messageOf } from '../../util/errors.ts';
import { ActFailed } from '../failure.ts';
import { planHashOf } from '../monitor/outdated.ts';
import { endStart } from './abandon.ts';
import { portTaken, waitReady } from './readiness.ts';
import type { StartDeps, StartOrder } from './start-order.ts';

const LOG_TAIL_BYTES = 4096;

export interface Started {
  readonly record: ServerRecord;
  readonly path: string;
  readonly leader: ProcessInfo;
  readonly endpoint: Endpoint;
}

/** @throws ActFailed with the cause as observed and the way out */
export async function startServer(order: StartOrder, deps: StartDeps): Promise<Started> {
  const { kind } = order;
  await checkFolder(deps.host, order.directory);
  if (kind.locate === null || kind.startPlan === null) {
    throw new ActFailed(
      'not-startable',
      `${kind.name} cannot be started from here.`,
      'Start it with its own tool; Rollcall lists it.',
    );
  }
  if (order.port !== null) await checkPort(deps, order.port);
  deps.progress(`looking for ${kind.name}`);
  const program = await kind.locate(deps.finder);
  if (!program.found) throw new ActFailed('not-found', program.why, program.remedy);

  const plan = kind.startPlan(program.program, order.directory, order.port);
  const nonce = randomUUID();
  const logPath = join(deps.logsDir, `${kind.name}-${nonce}.log`);
  const record: ServerRecord = {
    version: RECORD_VERSION,
    nonce,
    kind: kind.name,
    state: 'planned',
    directory: order.directory,
    writtenAt: new Date().toISOString(),
    writer: deps.writer,
    port: order.port,
    keepRunning: order.keepRunning,
    owner: order.owner,
    spawned: null,
    server: null,
    listening: null,
    command: [...redactArgv(plan.argv)],
    logPath,
    program: deps.programFileOf(program.program),
    planHash: planHashOf(plan),
    attempt: order.attempt,
    readyAt: null,
  };
  const subject = `${kind.name} in ${order.directory}`;
  deps.pending.add(nonce);
  deps.lives.plan(nonce, order.attempt);
  try {
    await writeOr(`${subject} was not started`, deps.store, record);
    deps.audit.note({ event: 'planned', by: deps.by, subject, text: `${subject} is to be started` });
    const spawned = await spawn(order, deps, plan, logPath, nonce).catch(async (error: unknown) => {
      // Whether it runs is not known: its record stays, and the next look binds what carries its nonce.
      if (!(error instanceof ActFailed && error.failure.code === 'not-known')) await deps.store.remove(nonce);
      throw error;
    });
    try {
      return await bind(order, deps, spawned, record, subject);
    } catch (error) {
      throw await abandon(order, deps, spawned, { ...record, state: 'spawned', spawned: spawned.ref }, error);
    }
  } catch (error) {
    // Whoever asked has the reason; no server came of it whose life could be told.
    deps.lives.forget(nonce);
    throw error;
  } finally {
    deps.pending.delete(nonce);
  }
}

/** From the spawn to the bound record. */
async function bind(
  order: StartOrder,
  deps: StartDeps,
  spawned: Spawned,
  planned: ServerRecord,
  subject: string,
): Promise<Started> {
  const { kind, directory } = order;
  const { identity } = spawned.ref;
  const record: ServerRecord = { ...planned, state: 'spawned', spawned: spawned.ref };
  await writeOr(`${subject} was started and is ended again`, deps.store, record);
  deps.lives.note(record.nonce, { type: 'spawned' });
  void spawned.exit.then((status) => deps.lives.childExited(record.nonce, status));
  const text = `${subject} was started as PID ${identity.pid}`;
  deps.audit.note({ event: 'started', by: deps.by, pid: identity.pid, identity, subject, text });
  const { leader, endpoint } = await waitReady(order, deps, spawned, record);
  const bound: ServerRecord = {
    ...record,
    state: 'bound',
    server: refOf(leader),
    listening: { address: endpoint.address, port: endpoint.port },
    readyAt: new Date().toISOString(),
  };
  const path = await writeOr(`${subject} was started and is ended again`, deps.store, bound);
  deps.lives.bound(bound, path);
  deps.audit.note({
    event: 'ready',
    by: deps.by,
    pid: leader.pid,
    identity: leader.identity,
    subject: `${kind.name} :${endpoint.port}`,
    text: `${kind.name} :${endpoint.port} in ${directory} is ready as PID ${leader.pid}`,
  });
  return { record: bound, path, leader, endpoint };
}

/** A server without a record would have no owner, so a start that cannot be written down is none. */
async function writeOr(consequence: string, store: RecordStore, record: ServerRecord): Promise<string> {
  try {
    return await store.write(record);
  } catch (error) {
    if (!(error instanceof WriteFailed)) throw error;
    const message = `${consequence}: its record could not be written to ${dirname(error.path)} (${error.code}).`;
    throw new ActFailed('not-recorded', message, remedyFor(error.code));
  }
}

async function checkFolder(host: Host, directory: string): Promise<void> {
  const remedy = 'Choose a folder that exists.';
  if (!isAbsolute(directory)) throw new ActFailed('no-folder', `${directory} is no absolute path.`, remedy);
  const folder = await host.folder(directory);
  if (folder.found) return;
  const what = {
    absent: `The folder ${directory} does not exist on ${host.name}.`,
    'no-folder': `${directory} is no folder on ${host.name}.`,
    unreadable: `The folder ${directory} may not be entered on ${host.name}.`,
  };
  throw new ActFailed('no-folder', what[folder.why], remedy);
}

async function checkPort(deps: StartDeps, port: number): Promise<void> {
  const holder = await deps.host.portHolder(port);
  if (holder !== null) throw portTaken(port, holder, deps.serverAt);
}

async function spawn(
  order: StartOrder,
  deps: StartDeps,
  plan: { argv: readonly [string, ...string[]]; env: Readonly<Record<string, string>> },
  logPath: string,
  nonce: string,
): Promise<Spawned> {
  deps.progress(`starting ${order.kind.name}`);
  if (deps.abort.aborted) {
    throw new ActFailed('quitting', `${order.kind.name} was not started: Rollcall is quitting.`, 'Start it again.');
  }
  try {
    return await deps.host.spawn({
      argv: plan.argv,
      cwd: order.directory,
      env: serverEnvironment(deps.env, { ...plan.env, ROLLCALL_NONCE: nonce, ROLLCALL_KIND: order.kind.name }),
      logPath,
    });
  } catch (error) {
    const why = messageOf(error);
    if (error instanceof SshFailed) {
      const message = `It is not known whether ${order.kind.name} was started on ${deps.host.name}: ${why}`;
      throw new ActFailed('not-known', message, 'Look at the list when the host is connected again.', error.output);
    }
    if (error instanceof SpawnFailed) throw new ActFailed('spawn-failed', why, '', error.output);
    throw new ActFailed(
      'spawn-failed',
      `${plan.argv[0]} could not be started: ${why}`,
      'Check that the program is there and may be run.',
    );
  }
}

/** A start that failed leaves nothing behind: its processes are ended, its record goes, its log is kept. */
async function abandon(
  order: StartOrder,
  deps: StartDeps,
  spawned: Spawned,
  record: ServerRecord,
  error: unknown,
): Promise<unknown> {
  const subject = `${order.kind.name} in ${order.directory}`;
  const ended = await endStart(deps, spawned, record, subject, order.kind);
  if (ended === null || ended.outcome === 'gone') await deps.store.remove(record.nonce);
  const reason = messageOf(error);
  deps.audit.note({
    event: 'start-failed',
    by: deps.by,
    pid: spawned.ref.identity.pid,
    subject,
    text: `${subject} did not start: ${reason}`,
  });
  if (!(error instanceof ActFailed)) return error;
  const { failure } = error;
  const log = record.logPath === null ? '' : (await deps.host.tail(record.logPath, LOG_TAIL_BYTES)).text.trim();
  // A package runner that cannot find its package may end with 0 having run nothing.
  const silent =
    log === '' && failure.code === 'exited'
      ? 'Its log is empty, so it may have run nothing at all: try the command in a terminal.'
      : failure.remedy;
  const rest = ended !== null && ended.outcome !== 'gone' ? ` ${ended.message}` : '';
  return new ActFailed(failure.code, `${failure.message}${rest}`, silent, log === '' ? null : log);
}
