/** Reaping and stopping: consent, then the one teardown for each target, then what the person is told. */
import type { Host, Look, ProcessInfo } from '../hosts/host.ts';
import type { RecordStore } from '../records/store.ts';
import type { ReapResult, Task } from '../roll/schema.ts';
import { formatBytes, plural } from '../roll/words.ts';
import type { Audit } from './audit.ts';
import { type EndResult, type EndTarget, endTree } from './ender.ts';
import { consentMissing, permissionOf, type Target } from './targets.ts';
import type { RunningTask, Tasks } from './tasks.ts';

/** Targets ended at once. Each waits most of the time; more would only make the machine louder. */
const AT_ONCE = 4;

export interface ReapDependencies {
  readonly host: Host;
  readonly store: RecordStore;
  readonly audit: Audit;
  readonly tasks: Tasks;
  readonly look: (include: readonly number[]) => Promise<Look>;
  /** A process that is another row's business: the sweep stops there. */
  readonly stopAt: (target: Target) => (info: ProcessInfo, look: Look) => boolean;
  /** Endings under way, by row: a second one of the same row awaits the first. */
  readonly ending: Map<string, Promise<EndResult>>;
}

export interface Consent {
  readonly by: string;
  readonly confirmed: boolean;
  readonly force: boolean;
}

interface Chosen {
  readonly target: Target;
  readonly missing: string | null;
}

/** Ends what may be ended; one result per target, refusals included. */
export async function reap(
  targets: readonly Target[],
  consent: Consent,
  deps: ReapDependencies,
  act: Task['act'] = 'reap',
): Promise<ReapResult[]> {
  const chosen: Chosen[] = targets.map((target) => ({
    target,
    missing: act === 'reap' ? consentMissing(permissionOf(target), consent.confirmed, consent.force) : null,
  }));
  const title = titleOf(targets, act);
  const task = deps.tasks.begin(
    act,
    title,
    targets.map(({ id, label }) => ({ id, label })),
  );
  const results: ReapResult[] = [];
  const queue = chosen.map((choice, index) => ({ ...choice, index }));
  const work = async (): Promise<void> => {
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
      results[next.index] = await endOne(next, consent, deps, task, next.index, act);
    }
  };
  try {
    await Promise.all(Array.from({ length: AT_ONCE }, work));
  } catch (error) {
    task.end(
      'failed',
      error instanceof Error ? error.message : String(error),
      results.filter((result) => result !== undefined),
    );
    throw error;
  }
  const done = results.every(({ outcome }) => outcome === 'gone');
  task.end(done ? 'done' : 'failed', summary(results, act), results);
  return results;
}

function titleOf(targets: readonly Target[], act: Task['act']): string {
  const verb = act === 'stop' || act === 'restart' ? 'Stopping' : 'Reaping';
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

async function endOne(
  { target, missing }: Chosen,
  consent: Consent,
  deps: ReapDependencies,
  task: RunningTask,
  index: number,
  act: Task['act'],
): Promise<ReapResult> {
  const pid = target.type === 'server' ? target.server.row.pid : target.leftover.row.pid;
  if (missing !== null) {
    const message = `${target.label} was not reaped. ${missing}`;
    deps.audit.write({
      event: 'refused',
      by: consent.by,
      host: deps.host.name,
      pid,
      subject: target.label,
      text: message,
    });
    task.row(index, 'refused', 'refused');
    return {
      pid,
      id: target.id,
      label: target.label,
      outcome: 'refused',
      verdict: 'same',
      signals: [],
      message,
      freedBytes: 0,
    };
  }
  const running = deps.ending.get(target.id);
  const ending =
    running ??
    endTree(endTargetOf(target), {
      host: deps.host,
      look: deps.look,
      audit: deps.audit,
      by: consent.by,
      stopAt: deps.stopAt(target),
      progress: (phase) => task.row(index, phase),
    });
  deps.ending.set(target.id, ending);
  try {
    const result = await ending;
    if (running === undefined) settle(target, result, consent, deps, act, pid);
    task.row(index, result.outcome, result.outcome);
    return { pid, id: target.id, label: target.label, ...result, signals: [...result.signals] };
  } finally {
    deps.ending.delete(target.id);
  }
}

/** A server that is proved gone takes its record with it; what stays keeps it. */
function settle(
  target: Target,
  result: EndResult,
  consent: Consent,
  deps: ReapDependencies,
  act: Task['act'],
  pid: number,
): void {
  const record = target.type === 'server' ? target.server.record : null;
  if (record !== null && (result.outcome === 'gone' || result.outcome === 'came-back'))
    deps.store.remove(record.record.nonce);
  const good = result.outcome === 'gone';
  const event = act === 'reap' ? (good ? 'reaped' : 'reap-failed') : good ? 'stopped' : 'stop-failed';
  deps.audit.write({
    event,
    by: consent.by,
    host: deps.host.name,
    pid,
    verdict: result.verdict,
    subject: target.label,
    text: result.message,
  });
}

function endTargetOf(target: Target): EndTarget {
  if (target.type === 'leftover') {
    return { label: target.label, roots: [target.leftover.root], kind: null, endpoint: null, ports: [] };
  }
  const { server } = target;
  const asks = server.row.health === 'ok' || server.row.health === 'unresponsive';
  return {
    label: target.label,
    roots: server.roots,
    kind: server.kind,
    endpoint: asks ? server.endpoint : null,
    ports: [...new Set(server.row.listening.map(({ port }) => port))],
  };
}
