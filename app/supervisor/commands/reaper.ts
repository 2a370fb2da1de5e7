/** Reaping and stopping: consent, then the one teardown for each target, then what the person is told. */

import type { Audit } from '../../audit/audit.ts';
import type { Host, Look, ProcessInfo } from '../../hosts/host.ts';
import { isFinished, refOf } from '../../hosts/process-info.ts';
import { type RecordStore, RecordStuck } from '../../records/store.ts';
import type { ReapResult, Task } from '../../roll/schema.ts';
import { formatBytes, plural } from '../../text/words.ts';
import { failureOf } from '../failure.ts';
import type { JudgedServer } from '../judged-server.ts';
import type { ServerRegistry } from '../lifecycle/server-registry.ts';
import { causeOfAct, type HostSessions } from '../sessions/host-sessions.ts';
import { isStill } from '../standing/server-tree.ts';
import { consentMissing, permissionOf, type Target } from '../terminate/targets.ts';
import { type TerminationResult, type TerminationTarget, terminateTree } from '../terminate/terminate.ts';
import type { Tasks } from './tasks.ts';

/** Targets ended at once. Each waits most of the time; more would only make the machine louder. */
const CONCURRENCY = 4;
/** How long to watch for somebody who starts a reaped server again, in milliseconds. */
const COME_BACK_MS = 1300;

export interface ReapDeps {
  readonly host: Host;
  readonly store: RecordStore;
  readonly audit: Audit;
  readonly tasks: Tasks;
  readonly lives: ServerRegistry;
  readonly sessions: Pick<HostSessions, 'ending' | 'ended'>;
  readonly look: (include: readonly number[]) => Promise<Look>;
  /** The row as a look of this moment judges it: null when no such row is there any more. */
  readonly judgeAgain: (id: string) => Promise<Target | null>;
  readonly uid: number | null;
  readonly abort: AbortSignal;
  /** Endings under way, by row: a second one of the same row awaits the first. */
  readonly ending: Map<string, Promise<TerminationResult>>;
}

export interface Consent {
  readonly by: string;
  /** Milliseconds in which it should be over; null for as long as the kind's sequence takes. */
  readonly budgetMs?: number;
  readonly confirmed: boolean;
  readonly force: boolean;
  /** It ends with Rollcall itself. */
  readonly quitting?: boolean;
}

/** Ends what may be ended; one result per target, refusals and failures included. */
export async function reapTargets(
  targets: readonly Target[],
  consent: Consent,
  deps: ReapDeps,
  act: Task['act'] = 'reap',
): Promise<ReapResult[]> {
  const rows = targets.map(({ id, label }) => ({ id, label }));
  const task = deps.tasks.begin(act, titleOf(targets, act), rows);
  const results: ReapResult[] = [];
  const queue = [...targets.entries()];
  const work = async (): Promise<void> => {
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
      const [index, target] = next;
      const server = target.type === 'server' ? target.server : null;
      if (server !== null) deps.sessions.ending(server, causeOfAct(act, consent, server.row));
      const result = await endOne(target, consent, deps, (phase) => task.row(index, phase), act).catch(
        (error: unknown) => failedResult(target, error, consent, deps, act),
      );
      if (server !== null) deps.sessions.ended(server, result.outcome === 'gone');
      task.row(index, result.outcome, result.outcome);
      results[index] = result;
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, work));
  const done = results.every(({ outcome }) => outcome === 'gone');
  task.end(done ? 'done' : 'failed', summary(results, act), results);
  return results;
}

function titleOf(targets: readonly Target[], act: Task['act']): string {
  const verb = { start: 'Starting', stop: 'Stopping', restart: 'Restarting', reap: 'Reaping' }[act];
  const [first] = targets;
  if (targets.length === 1 && first !== undefined) return `${verb} ${first.label}`;
  const servers = targets.filter(({ type }) => type === 'server').length;
  const leftovers = targets.length - servers;
  const parts = [servers > 0 ? plural(servers, 'server') : null, leftovers > 0 ? plural(leftovers, 'leftover') : null];
  return `${verb} ${parts.filter((part) => part !== null).join(' and ')}`;
}

/** "3 servers are gone, 4.31 GB freed"; what did not end comes first, by its own sentence. */
export function summary(results: readonly ReapResult[], act: Task['act']): string {
  const bad = results.filter(({ outcome }) => outcome !== 'gone');
  const gone = results.length - bad.length;
  const freed = results.reduce((sum, { freedBytes }) => sum + freedBytes, 0);
  const word = act === 'reap' ? 'reaped' : 'stopped';
  const good = gone === 0 ? '' : `${gone} of ${results.length} ${word}, ${formatBytes(freed).text} freed.`;
  return [...bad.map(({ message }) => message), good].filter((part) => part !== '').join(' ');
}

function resultOf(
  target: Target,
  { outcome, verdict, message }: Pick<ReapResult, 'outcome' | 'verdict' | 'message'>,
): ReapResult {
  const pid = target.type === 'server' ? target.server.row.pid : target.leftover.row.pid;
  return { pid, id: target.id, label: target.label, outcome, verdict, signals: [], message, freedBytes: 0 };
}

function refusal(
  target: Target,
  why: string,
  verdict: ReapResult['verdict'],
  by: string,
  deps: ReapDeps,
  act: Task['act'] = 'reap',
): ReapResult {
  const word = act === 'reap' ? 'reaped' : 'stopped';
  const result = resultOf(target, { outcome: 'refused', verdict, message: `${target.label} was not ${word}. ${why}` });
  deps.audit.note({
    event: 'refused',
    by,
    host: deps.host.name,
    pid: result.pid,
    verdict,
    subject: target.label,
    text: result.message,
  });
  return result;
}

/** One target that could not be dealt with takes nothing away from the others. */
function failedResult(target: Target, error: unknown, consent: Consent, deps: ReapDeps, act: Task['act']): ReapResult {
  const { message } = failureOf(error);
  return refusal(target, message, 'unknown', consent.by, deps, act);
}

/**
 * The target as it is when its turn comes. Consent was given for what was listed; a row that has changed its standing
 * since, because somebody connected to it for example, needs it anew.
 */
async function judgedNow(target: Target, consent: Consent, deps: ReapDeps): Promise<Target | ReapResult> {
  const now = await deps.judgeAgain(target.id);
  if (now === null) {
    const info = target.type === 'server' ? target.server.leader : target.leftover.root;
    const verdict = await deps.host.verify(refOf(info));
    if (verdict.verdict === 'gone' || verdict.verdict === 'zombie' || verdict.verdict === 'reused') {
      const message = `${target.label} was already gone; nothing was signalled.`;
      return resultOf(target, { outcome: 'gone', verdict: verdict.verdict, message });
    }
    return refusal(target, 'The last look did not show it. Look again.', verdict.verdict, consent.by, deps);
  }
  const missing = consentMissing(permissionOf(now), consent.confirmed, consent.force);
  return missing === null ? now : refusal(now, missing, 'same', consent.by, deps);
}

async function endOne(
  listed: Target,
  consent: Consent,
  deps: ReapDeps,
  progress: (phase: string) => void,
  act: Task['act'],
): Promise<ReapResult> {
  const running = deps.ending.get(listed.id);
  if (running !== undefined) return { ...resultOf(listed, await running), ...signalsOf(await running) };
  const target = act === 'reap' ? await judgedNow(listed, consent, deps) : listed;
  if ('outcome' in target) return target;
  // Somebody else's ending of the same row may have begun while this one was judged.
  const ending = deps.ending.get(target.id) ?? begin(target, consent, deps, progress, act);
  const result = await ending;
  return { ...resultOf(target, result), ...signalsOf(result) };
}

function signalsOf({ signals, freedBytes }: TerminationResult): Pick<ReapResult, 'signals' | 'freedBytes'> {
  return { signals: [...signals], freedBytes };
}

function begin(
  target: Target,
  consent: Consent,
  deps: ReapDeps,
  progress: (phase: string) => void,
  act: Task['act'],
): Promise<TerminationResult> {
  const nonce = target.type === 'server' ? (target.server.record?.record.nonce ?? null) : null;
  if (nonce !== null) deps.lives.note(nonce, { type: 'ending' });
  const ending = terminateTree(endTargetOf(target), {
    host: deps.host,
    look: deps.look,
    audit: deps.audit,
    by: consent.by,
    uid: deps.uid,
    abort: deps.abort,
    budgetMs: consent.budgetMs ?? null,
    // Nobody but us restarts what we started; for the rest a loop with a pause of a second must show.
    comeBackMs: act === 'reap' ? COME_BACK_MS : 0,
    progress,
  })
    .then((result) => settle(target, result, consent, deps, act))
    .catch((error: unknown) => {
      if (nonce !== null) deps.lives.note(nonce, { type: 'stayed', why: failureOf(error).message, signalled: true });
      throw error;
    })
    .finally(() => deps.ending.delete(target.id));
  deps.ending.set(target.id, ending);
  return ending;
}

/** A server that is proved gone takes its record with it; what stays keeps it. A record that cannot go is no failed ending. */
async function settle(
  target: Target,
  ended: TerminationResult,
  consent: Consent,
  deps: ReapDeps,
  act: Task['act'],
): Promise<TerminationResult> {
  const record = target.type === 'server' ? target.server.record : null;
  let result = ended;
  if (record !== null) {
    const { nonce } = record.record;
    const gone = result.outcome === 'gone' || result.outcome === 'came-back';
    deps.lives.note(
      nonce,
      gone ? { type: 'ended' } : { type: 'stayed', why: result.message, signalled: result.signals.length > 0 },
    );
    try {
      if (gone) await deps.store.remove(nonce);
    } catch (error) {
      if (!(error instanceof RecordStuck)) throw error;
      result = { ...ended, message: `${ended.message} ${error.message}` };
    }
  }
  const good = result.outcome === 'gone';
  const event = act === 'reap' ? (good ? 'reaped' : 'reap-failed') : good ? 'stopped' : 'stop-failed';
  deps.audit.note({
    event,
    by: consent.by,
    host: deps.host.name,
    pid: target.type === 'server' ? target.server.row.pid : target.leftover.row.pid,
    verdict: result.verdict,
    subject: target.label,
    text: result.message,
  });
  return result;
}

function endTargetOf(target: Target): TerminationTarget {
  if (target.type === 'leftover') {
    const { root } = target.leftover;
    return { label: target.label, roots: [root], kind: null, endpoint: null, ports: [], changed: markChanged(root) };
  }
  const { server } = target;
  const ending = server.surplus.length === 0 ? [server] : server.surplus;
  const asks = server.row.health === 'ok' || server.row.health === 'unresponsive';
  return {
    label: target.label,
    roots: ending.flatMap(({ roots }) => roots),
    ...(server.surplus.length === 0 ? { leader: server.leader } : {}),
    // What our record verifies is what we started, whatever it calls itself.
    ...(server.record === null ? { changed: recognitionChanged(ending) } : {}),
    kind: server.kind,
    spawned: server.record?.record.spawned?.identity ?? null,
    endpoint: asks ? server.endpoint : null,
    ports: [...new Set(server.row.listening.map(({ port }) => port))],
  };
}

/**
 * Whether each is recognised as its kind once more, and its wrappers and workers run what they ran; one that has ended
 * meanwhile is no change.
 */
function recognitionChanged(servers: readonly JudgedServer[]): (look: Look) => string | null {
  return (look) => {
    for (const { leader, roots, row } of servers) {
      for (const root of roots) {
        const now = look.processes.get(root.pid);
        if (now === undefined || !isStill(look, root) || isFinished(now)) continue;
        const same =
          root === leader
            ? look.candidates.some(({ pid, recognition }) => pid === root.pid && recognition.kind === row.kind)
            : runsTheSame(now, root);
        if (!same) {
          const program = now.executable?.path ?? 'a program that cannot be read';
          return `PID ${root.pid} does not run as ${row.kind} any more, it runs ${program}`;
        }
      }
    }
    return null;
  };
}

function runsTheSame(now: ProcessInfo, before: ProcessInfo): boolean {
  const [one, other] = [now.executable, before.executable];
  return (
    now.argvHash !== null &&
    now.argvHash === before.argvHash &&
    one !== null &&
    one.device === other?.device &&
    one.inode === other.inode
  );
}

/** Whether a leftover still carries the marks by which it was found. */
function markChanged(root: ProcessInfo): (look: Look) => string | null {
  return (look) => {
    const now = look.processes.get(root.pid);
    if (now === undefined || !isStill(look, root) || isFinished(now)) return null;
    const { marks } = now;
    const same =
      marks !== null && marks.OPENCODE_PID === root.marks?.OPENCODE_PID && marks.KILO_PID === root.marks?.KILO_PID;
    return same ? null : `PID ${root.pid} does not carry the mark any more by which it was known`;
  };
}
