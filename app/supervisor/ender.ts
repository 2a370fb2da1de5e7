/**
 * The one teardown: ends a server, or a leftover, with its tree, proving each identity again before each signal.
 *
 * The kind's sequence runs on the server's own processes, parents first; then whatever of its tree or its mark
 * still lives is swept, one identity at a time, from a snapshot taken before the first request or signal, and again
 * until a look finds nothing new (DESIGN rules 4.6, 4.9, 4.10). No process group is ever signalled as a group.
 */
import type { Host, Look, MarkName, ProcessInfo } from '../hosts/host.ts';
import type { Verdict, VerdictWord } from '../identity/identity.ts';
import { disposeServer } from '../servers/dispose.ts';
import type { Endpoint, Kind } from '../servers/kind.ts';
import type { Audit } from './audit.ts';
import { Members, memoryOf, nameOf, refusalSentence } from './members.ts';
import { childrenOf, startedNoEarlier, treeBelow } from './tree.ts';

/** How long a swept child may take after SIGTERM, and after SIGKILL, in milliseconds. */
const CHILD_TERM_MS = 2000;
const CHILD_KILL_MS = 2000;
/** Looks that may still find something new before the ending gives a truthful account of what is left. */
const SWEEPS = 5;
/** After the last process has gone, how long a supervisor of its own gets to show that it restarts it. */
const COME_BACK_MS = 400;

export interface EndTarget {
  /** As rows name it: "opencode :34801 on local". */
  readonly label: string;
  /** The server's own processes, wrappers first; or the topmost process of a leftover. */
  readonly roots: readonly ProcessInfo[];
  readonly kind: Kind | null;
  /** Its verified listener when it may be asked to dispose, else null. */
  readonly endpoint: Endpoint | null;
  /** Ports it listens on now. */
  readonly ports: readonly number[];
}

export interface EndDependencies {
  readonly host: Host;
  /** Looks, whatever else, at these PIDs and what descends from them. */
  readonly look: (include: readonly number[]) => Promise<Look>;
  readonly audit: Audit;
  /** Who asked, for the audit. */
  readonly by: string;
  /** Nested servers and others that are none of this target's business. */
  readonly stopAt: (info: ProcessInfo, look: Look) => boolean;
  readonly progress: (phase: string) => void;
}

export interface EndResult {
  readonly outcome: 'gone' | 'refused' | 'survived' | 'came-back';
  readonly verdict: VerdictWord;
  readonly signals: readonly string[];
  readonly message: string;
  readonly freedBytes: number;
}

/** Ends the target. Never rejects for a process that is gone, refuses or stays: those are outcomes. */
export async function endTree(target: EndTarget, deps: EndDependencies): Promise<EndResult> {
  const members = new Members(deps.host, deps.audit, deps.by, target.label);
  try {
    return await end(target, deps, members);
  } finally {
    members.release();
  }
}

async function end(target: EndTarget, deps: EndDependencies, members: Members): Promise<EndResult> {
  const verdicts: Verdict[] = [];
  for (const root of target.roots) verdicts.push(await members.add(root, 'server'));
  const forbidden = verdicts.findIndex(
    ({ verdict }) => verdict !== 'same' && verdict !== 'gone' && verdict !== 'zombie',
  );
  const blocker = verdicts[forbidden];
  const blocked = target.roots[forbidden];
  if (blocker !== undefined && blocked !== undefined) return refused(target, deps, blocked.pid, blocker);
  if (members.all.length === 0) {
    return {
      outcome: 'gone',
      verdict: verdicts.at(-1)?.verdict ?? 'gone',
      signals: [],
      message: `${target.label} was already gone; nothing was signalled.`,
      freedBytes: 0,
    };
  }

  const began = Date.now();
  const first = await deps.look(pidsOf(members));
  await extend(target, deps, members, first);
  const snapshot = members.all.map(({ info }) => info);

  const asked = await dispose(target, deps, members);
  await endServer(target, deps, members);
  await sweep(target, deps, members);

  const survivors = await members.living('any');
  const signals = [...asked, ...members.sent];
  const alive = new Set(survivors.map(({ info }) => info.pid));
  const freedBytes = snapshot.filter(({ pid }) => !alive.has(pid)).reduce((sum, info) => sum + memoryOf(info), 0);
  if (survivors.length > 0) {
    const names = survivors.map(({ info }) => `${nameOf(info)}, PID ${info.pid}`).join('; ');
    return {
      outcome: 'survived',
      verdict: 'same',
      signals,
      message: `${target.label} is not gone: ${names} did not end even after SIGKILL. It may wait for the kernel; look again in a while.`,
      freedBytes,
    };
  }
  return { ...(await afterwards(target, deps, members, began)), signals, freedBytes };
}

function refused(target: EndTarget, deps: EndDependencies, pid: number, verdict: Verdict): EndResult {
  const message = refusalSentence(pid, verdict);
  deps.audit.write({
    event: 'refused',
    by: deps.by,
    host: deps.host.name,
    pid,
    identity: target.roots.find((root) => root.pid === pid)?.identity ?? null,
    verdict: verdict.verdict,
    subject: target.label,
    text: message,
  });
  return { outcome: 'refused', verdict: verdict.verdict, signals: [], message, freedBytes: 0 };
}

/** Takes in what belongs to the target in this look; returns how many processes were new. */
async function extend(target: EndTarget, deps: EndDependencies, members: Members, look: Look): Promise<number> {
  const stop = (info: ProcessInfo) => !members.has(info) && deps.stopAt(info, look);
  const known = members.all.map(({ info }) => info).filter((info) => isStill(look, info));
  const below = treeBelow(
    look,
    known.map(({ pid }) => pid),
    stop,
    childrenOf(look),
  );
  const marked = markedBy(target, look).filter((info) => !stop(info));
  const belowMarked = treeBelow(
    look,
    marked.map(({ pid }) => pid),
    stop,
    childrenOf(look),
  );
  let added = 0;
  for (const { info } of [...below, ...belowMarked]) {
    if (members.has(info)) continue;
    const verdict = await members.add(info, 'child');
    if (verdict.verdict === 'same') added += 1;
  }
  return added;
}

function pidsOf(members: Members): number[] {
  return members.all.map(({ info }) => info.pid);
}

function isStill(look: Look, info: ProcessInfo): boolean {
  const now = look.processes.get(info.pid);
  return now !== undefined && now.startTime === info.startTime && now.identity.pidfdId === info.identity.pidfdId;
}

/** Processes that carry the mark of one of the target's own processes and started after it. */
function markedBy(target: EndTarget, look: Look): ProcessInfo[] {
  const mark: MarkName | null = target.kind?.mark ?? null;
  if (mark === null) return [];
  return [...look.processes.values()].filter((info) =>
    target.roots.some((root) => info.marks[mark] === String(root.pid) && startedNoEarlier(info, root)),
  );
}

async function dispose(target: EndTarget, deps: EndDependencies, members: Members): Promise<string[]> {
  const step = target.kind?.ending.find((candidate) => candidate.step === 'dispose');
  const endpoint = target.endpoint;
  if (step?.step !== 'dispose' || endpoint === null) return [];
  const listener = members.all.find(({ info }) => info.pid === endpoint.identity.pid);
  if (listener === undefined || (await listener.held.verify()).verdict !== 'same') return [];
  deps.progress('dispose');
  const line = {
    by: deps.by,
    host: deps.host.name,
    pid: endpoint.identity.pid,
    identity: endpoint.identity,
    subject: target.label,
  };
  deps.audit.write({ ...line, event: 'dispose-intent', text: `asking PID ${endpoint.identity.pid} to dispose` });
  const answer = await disposeServer(endpoint, step);
  deps.audit.write({ ...line, event: 'dispose-outcome', text: answer.text });
  return answer.done ? [`dispose ${endpoint.identity.pid}`] : [];
}

/** Runs the kind's signals over the server's own processes, parents first. */
async function endServer(target: EndTarget, deps: EndDependencies, members: Members): Promise<void> {
  const steps = target.kind?.ending ?? DEFAULT_ENDING;
  for (const step of steps) {
    if (step.step !== 'signal') continue;
    const living = await members.living('server');
    if (living.length === 0) return;
    for (const member of living) await members.signal(member, step.signal);
    const word = step.signal.slice(3);
    deps.progress(word);
    await members.exited(living, step.waitMs, (elapsed) =>
      deps.progress(`${word}, ${(elapsed / 1000).toFixed(1)} of ${step.waitMs / 1000} s`),
    );
  }
}

/** Leftovers and kinds of no known sequence: TERM, then KILL. Waits in milliseconds. */
const DEFAULT_ENDING: Kind['ending'] = [
  { step: 'signal', signal: 'SIGTERM', waitMs: 5000 },
  { step: 'signal', signal: 'SIGKILL', waitMs: 2000 },
];

/** Ends what is left of the tree, looking again until nothing new turns up or the sweeps are used up. */
async function sweep(target: EndTarget, deps: EndDependencies, members: Members): Promise<void> {
  for (let round = 0; round < SWEEPS; round += 1) {
    const added = await extend(target, deps, members, await deps.look(pidsOf(members)));
    const living = await members.living('any');
    if (living.length === 0 && added === 0) return;
    deps.progress(`ending ${living.length} left of its tree`);
    for (const member of living) await members.signal(member, 'SIGTERM');
    await members.exited(living, CHILD_TERM_MS, () => undefined);
    const stubborn = await members.living('any');
    for (const member of stubborn) await members.signal(member, 'SIGKILL');
    await members.exited(stubborn, CHILD_KILL_MS, () => undefined);
  }
}

/** Every process is gone: is the port free, and did somebody start it again? */
async function afterwards(
  target: EndTarget,
  deps: EndDependencies,
  members: Members,
  began: number,
): Promise<Pick<EndResult, 'outcome' | 'verdict' | 'message'>> {
  await new Promise((resolve) => setTimeout(resolve, COME_BACK_MS));
  const look = await deps.look(pidsOf(members));
  const again = look.candidates
    .map(({ pid }) => look.processes.get(pid))
    .filter((info) => info !== undefined)
    .find((info) => info.startedAt >= began - 1000 && !members.has(info) && isSameCommand(info, target));
  if (again !== undefined) {
    const parent = look.processes.get(again.ppid);
    const by = parent === undefined ? `PID ${again.ppid}` : `${nameOf(parent)}, PID ${parent.pid}`;
    const message = `${target.label} came back as PID ${again.pid}, started by ${by}. End that one first, or stop the service that restarts it.`;
    deps.audit.write({
      event: 'came-back',
      by: deps.by,
      host: deps.host.name,
      pid: again.pid,
      subject: target.label,
      text: message,
    });
    return { outcome: 'came-back', verdict: 'gone', message };
  }
  const holder = look.listening.find(({ port }) => target.ports.includes(port));
  const taken =
    holder === undefined
      ? ''
      : ` Port ${holder.port} is held by ${describe(look, holder.pid)} now, which was left alone.`;
  return {
    outcome: 'gone',
    verdict: 'gone',
    message: `${target.label} is gone with its ${members.all.length === 1 ? 'one process' : `${members.all.length} processes`}.${taken}`,
  };
}

function describe(look: Look, pid: number): string {
  const info = look.processes.get(pid);
  return info === undefined ? `PID ${pid}` : `${nameOf(info)}, PID ${pid}`;
}

function isSameCommand(info: ProcessInfo, target: EndTarget): boolean {
  return target.roots.some(
    (root) => root.argvHash !== null && root.argvHash === info.argvHash && root.cwd === info.cwd,
  );
}
