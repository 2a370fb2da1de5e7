/**
 * The one teardown: ends a server, or a leftover, with its tree, proving each identity again before each signal.
 *
 * The kind's sequence runs on the server's own processes, parents first; then whatever belongs to it and still lives is
 * swept, one identity at a time, from a snapshot taken before the first request or signal, and again until a look finds
 * nothing new (DESIGN rules 4.6, 4.9, 4.10). No process group is ever signalled as a group.
 */

import type { Audit } from '../../audit/audit.ts';
import { type Host, type Look, LookFailed, type ProcessInfo } from '../../hosts/host.ts';
import { memoryOf } from '../../hosts/process-info.ts';
import { identityKey, type ProcessIdentity, type Verdict, type VerdictWord } from '../../identity/identity.ts';
import { disposeServer } from '../../servers/client/dispose.ts';
import type { Endpoint, Kind } from '../../servers/kind.ts';
import { nameOf } from '../standing/owner-label.ts';
import { groupsOf, isStill, otherServers, serverTree } from '../standing/server-tree.ts';
import { type Member, Members, refusalSentence } from './members.ts';

/** How long a swept child may take after SIGTERM, and after SIGKILL, in milliseconds. */
const CHILD_TERM_MS = 2000;
const CHILD_KILL_MS = 2000;
/** Looks that may still find something new before the ending gives a truthful account of what is left. */
const SWEEPS = 5;
/** Between two looks for somebody who starts it again, in milliseconds. */
const COME_BACK_EVERY_MS = 300;

export interface TerminationTarget {
  /** As rows name it: "opencode :34801 on local". */
  readonly label: string;
  /** The server's own processes, parents first; or the topmost process of a leftover. */
  readonly roots: readonly ProcessInfo[];
  /** The process of the roots that does the work; the last of them where it is not given. */
  readonly leader?: ProcessInfo;
  /**
   * Why what is there now is not what it was when this was planned: no server of the kind any more, no leftover; null
   * when it still is. Asked of a look that was taken before the first signal, for a process may have begun to run
   * something else since. Absent where a record of ours says what it is.
   */
  readonly changed?: (look: Look) => string | null;
  readonly kind: Kind | null;
  /** What our record says was started for it; it ends first, since it could start it again. */
  readonly spawned?: ProcessIdentity | null;
  /** Its verified listener when it may be asked to dispose, else null. */
  readonly endpoint: Endpoint | null;
  /** Ports it listens on now. */
  readonly ports: readonly number[];
}

export interface TerminateDeps {
  readonly host: Host;
  /** Looks, whatever else, at these PIDs and what descends from them. */
  readonly look: (trees: readonly number[]) => Promise<Look>;
  readonly audit: Audit;
  /** Who asked, for the audit. */
  readonly by: string;
  /** Our own uid: other users' processes are no part of anything that ends. Null where there are none. */
  readonly uid: number | null;
  /** Fires when this process lets go of the writer's lock: nothing is signalled after that. */
  readonly abort: AbortSignal | null;
  /** Milliseconds in which all of it should be over; the waits shrink to fit, the sequence stays. */
  readonly budgetMs: number | null;
  /** How long to watch for somebody who starts it again, in milliseconds. */
  readonly comeBackMs: number;
  readonly progress: (phase: string) => void;
}

export interface TerminationResult {
  readonly outcome: 'gone' | 'refused' | 'survived' | 'came-back';
  readonly verdict: VerdictWord;
  readonly signals: readonly string[];
  readonly message: string;
  readonly freedBytes: number;
}

/** Leftovers and kinds of no known sequence: TERM, then KILL. Waits in milliseconds. */
const DEFAULT_ENDING: Kind['ending'] = [
  { step: 'signal', signal: 'SIGTERM', waitMs: 5000 },
  { step: 'signal', signal: 'SIGKILL', waitMs: 2000 },
];

/**
 * Ends the target. A process that is gone, refuses or stays is an outcome, not an error.
 *
 * @throws AuditUnwritable before a signal whose intent cannot be written; LookFailed when no look succeeds at all
 */
export async function terminateTree(target: TerminationTarget, deps: TerminateDeps): Promise<TerminationResult> {
  const { host, audit, by, abort } = deps;
  const members = new Members(host, audit, by, target.label, abort);
  try {
    return await new Termination(target, deps, members).run();
  } finally {
    members.release();
  }
}

class Termination {
  readonly #target: TerminationTarget;
  readonly #deps: TerminateDeps;
  readonly #members: Members;
  /** Factor on every wait, so that the whole sequence fits the budget. */
  readonly #pace: number;
  /** Candidates before the first signal: whatever looks the same afterwards and is not among them came back. */
  #before: ReadonlySet<string> = new Set();
  /** Who listened on its ports before the first signal. */
  #sharers: ReadonlySet<number> = new Set();

  constructor(target: TerminationTarget, deps: TerminateDeps, members: Members) {
    this.#target = target;
    this.#deps = deps;
    this.#members = members;
    const longest = this.#steps.reduce(
      (sum, step) => sum + (step.step === 'signal' ? step.waitMs : step.deadlineMs),
      0,
    );
    const whole = longest + CHILD_TERM_MS + CHILD_KILL_MS;
    this.#pace = deps.budgetMs === null ? 1 : Math.min(1, deps.budgetMs / whole);
  }

  get #steps(): Kind['ending'] {
    return this.#target.kind?.ending ?? DEFAULT_ENDING;
  }

  async run(): Promise<TerminationResult> {
    const { label } = this.#target;
    const verdicts: Verdict[] = [];
    for (const root of this.#target.roots) verdicts.push(await this.#members.add(root, 'server'));
    const at = verdicts.findIndex(({ verdict }) => verdict !== 'same' && verdict !== 'gone' && verdict !== 'zombie');
    const blocker = verdicts[at];
    const blocked = this.#target.roots[at];
    if (blocker !== undefined && blocked !== undefined) return this.#refused(blocked, blocker);
    const first = await this.#look();
    const changed = await this.#whatChanged(first);
    if (changed !== null) return this.#changed(changed);
    this.#before = new Set(candidatesOf(first).map(({ identity }) => identityKey(identity)));
    this.#sharers = new Set(
      first.listening.flatMap(({ pid, port }) => (this.#target.ports.includes(port) ? [pid] : [])),
    );
    // Also for one that has gone in the meantime: what carries its mark may have stayed.
    await this.#extend(first, true);
    if (this.#members.all.length === 0) {
      const verdict = verdicts.at(-1)?.verdict ?? 'gone';
      const message = `${label} was already gone; nothing was signalled.${await this.#portSentence()}`;
      return { outcome: 'gone', verdict, signals: [], message, freedBytes: 0 };
    }

    const snapshot = this.#members.all.map(({ info }) => info);
    // Before anything is asked of the server: one that ends by a request would be started again, too.
    await this.#endNow('respawner');
    const asked = await this.#dispose();
    await this.#endServer();
    await this.#sweep();

    const left = await this.#members.remaining();
    const signals = [...asked, ...this.#members.sent];
    const alive = new Set(left.map(({ info }) => info.pid));
    const freedBytes = snapshot.filter(({ pid }) => !alive.has(pid)).reduce((sum, info) => sum + memoryOf(info), 0);
    if (left.length === 0) return { ...(await this.#afterwards()), signals, freedBytes };
    const names = left.map(({ info }) => `${nameOf(info)}, PID ${info.pid}`).join('; ');
    const why =
      this.#deps.abort?.aborted === true
        ? 'Rollcall had to quit before they ended. Start it again to see what is left.'
        : 'They did not end even after SIGKILL and may wait for the kernel. Look again in a while.';
    return {
      outcome: 'survived',
      verdict: 'same',
      signals,
      message: `${label} is not gone: ${names}. ${why}`,
      freedBytes,
    };
  }

  /** What the target is now cannot be told of a process that lives and that the look has left out. */
  async #whatChanged(look: Look): Promise<string | null> {
    if (this.#target.changed === undefined) return null;
    for (const { info, held } of this.#members.all) {
      if (isStill(look, info) || (await held.verify()).verdict !== 'same') continue;
      return `what PID ${info.pid} runs could not be read`;
    }
    return this.#target.changed(look);
  }

  #changed(why: string): TerminationResult {
    const { deps, target } = { deps: this.#deps, target: this.#target };
    const pid = target.roots.at(-1)?.pid ?? 0;
    const message = `${target.label} was not signalled: ${why}.`;
    const line = {
      by: deps.by,
      host: deps.host.name,
      pid,
      verdict: 'same',
      subject: target.label,
      text: message,
    } as const;
    deps.audit.note({ event: 'refused', ...line });
    return { outcome: 'refused', verdict: 'same', signals: [], message, freedBytes: 0 };
  }

  #refused(root: ProcessInfo, verdict: Verdict): TerminationResult {
    const { deps, target } = { deps: this.#deps, target: this.#target };
    const text = refusalSentence(root.pid, verdict);
    const { pid, identity } = root;
    deps.audit.note({
      event: 'refused',
      by: deps.by,
      host: deps.host.name,
      pid,
      identity,
      verdict: verdict.verdict,
      subject: target.label,
      text,
    });
    return { outcome: 'refused', verdict: verdict.verdict, signals: [], message: text, freedBytes: 0 };
  }

  #look(): Promise<Look> {
    const { spawned } = this.#target;
    const pids = this.#members.all.map(({ info }) => info.pid);
    return this.#deps.look(spawned == null ? pids : [spawned.pid, ...pids]);
  }

  /**
   * Takes in what belongs to the target in this look; returns how many processes were new. An orphan supervisor counts
   * only at first, while it stands as the plan has shown it.
   */
  async #extend(look: Look, first: boolean): Promise<number> {
    const known = this.#members.all.map(({ info }) => info).filter((info) => isStill(look, info));
    const leader = this.#target.leader ?? this.#target.roots.at(-1) ?? null;
    const tree = serverTree({
      look,
      // Marks name a server that may be dead by now, so its own processes stay roots after they have ended.
      roots: [...new Set([...known, ...this.#target.roots])],
      mark: this.#target.kind?.mark ?? null,
      spawned: this.#target.spawned ?? null,
      leader,
      // A server that has the leader's number by now is another one.
      others: otherServers(groupsOf(look), leader !== null && isStill(look, leader) ? leader.pid : null),
      uid: this.#deps.uid,
    });
    let added = 0;
    for (const { info, respawner } of tree) {
      const late = respawner === true && !first;
      if (late || this.#members.has(info)) continue;
      const verdict = await this.#members.add(info, respawner === true ? 'respawner' : 'child');
      if (verdict.verdict === 'same') added += 1;
    }
    return added;
  }

  async #dispose(): Promise<string[]> {
    const { endpoint, label } = this.#target;
    const deps = this.#deps;
    const step = this.#steps.find((candidate) => candidate.step === 'dispose');
    if (step?.step !== 'dispose' || endpoint === null || deps.abort?.aborted === true) return [];
    const { pid } = endpoint.identity;
    const listener = this.#members.all.find(({ info }) => info.pid === pid);
    if (listener === undefined || (await listener.held.verify()).verdict !== 'same') return [];
    deps.progress('dispose');
    const line = { by: deps.by, host: deps.host.name, pid, identity: endpoint.identity, subject: label };
    deps.audit.write({ ...line, event: 'dispose-intent', text: `asking PID ${pid} to dispose` });
    const answer = await disposeServer(endpoint, { ...step, deadlineMs: step.deadlineMs * this.#pace });
    deps.audit.note({ ...line, event: 'dispose-outcome', text: answer.text });
    return answer.done ? [`dispose ${pid}`] : [];
  }

  /** Runs the kind's signals over the server's own processes, parents first. */
  async #endServer(): Promise<void> {
    for (const step of this.#steps) {
      if (step.step !== 'signal') continue;
      const living = await this.#members.living('server');
      if (living.length === 0) return;
      for (const member of living) await this.#members.signal(member, step.signal);
      const word = step.signal.slice(3);
      const waitMs = step.waitMs * this.#pace;
      this.#deps.progress(word);
      await this.#members.exited(living, waitMs, (elapsed) =>
        this.#deps.progress(`${word}, ${(elapsed / 1000).toFixed(1)} of ${(waitMs / 1000).toFixed(0)} s`),
      );
    }
  }

  /** Ends what is left of the tree, looking again until nothing new turns up or the sweeps are used up. */
  async #sweep(): Promise<void> {
    for (let round = 0; round < SWEEPS && this.#deps.abort?.aborted !== true; round += 1) {
      const added = await this.#extendAgain();
      const ended = await this.#endNow('any');
      if (ended === 0 && added === 0) return;
    }
  }

  /** TERM, then KILL, for what still lives of this part; returns how many that were. */
  async #endNow(part: Member['part'] | 'any'): Promise<number> {
    const living = await this.#members.unkilled(part);
    if (living.length === 0) return 0;
    this.#deps.progress(part === 'any' ? `ending ${living.length} left of its tree` : 'ending what starts it again');
    for (const member of living) await this.#members.signal(member, 'SIGTERM');
    await this.#members.exited(living, CHILD_TERM_MS * this.#pace, () => undefined);
    const stubborn = await this.#members.unkilled(part);
    for (const member of stubborn) await this.#members.signal(member, 'SIGKILL');
    await this.#members.exited(stubborn, CHILD_KILL_MS * this.#pace, () => undefined);
    return living.length;
  }

  /** A look that fails half-way must not leave the known members alive: they are ended without it. */
  async #extendAgain(): Promise<number> {
    try {
      return await this.#extend(await this.#look(), false);
    } catch (error) {
      if (!(error instanceof LookFailed)) throw error;
      this.#deps.progress(error.message);
      return 0;
    }
  }

  /** Every process is gone: did somebody start it again, and is the port free? */
  async #afterwards(): Promise<Pick<TerminationResult, 'outcome' | 'verdict' | 'message'>> {
    const { label } = this.#target;
    const until = performance.now() + this.#deps.comeBackMs;
    do {
      await new Promise((resolve) => setTimeout(resolve, Math.min(COME_BACK_EVERY_MS, this.#deps.comeBackMs)));
      const look = await this.#look();
      const again = this.#cameBack(look);
      if (again !== null) {
        const parent = look.processes.get(again.ppid);
        const by = parent === undefined ? `PID ${again.ppid}` : `${nameOf(parent)}, PID ${parent.pid}`;
        const text = `${label} came back as PID ${again.pid}, started by ${by}. End that one first, or stop the service that restarts it.`;
        const { audit, by: actor, host } = this.#deps;
        audit.note({ event: 'came-back', by: actor, host: host.name, pid: again.pid, subject: label, text });
        return { outcome: 'came-back', verdict: 'gone', message: text };
      }
    } while (performance.now() < until);
    const sharer = await this.#sharer();
    if (sharer !== null) return sharer;
    const count = this.#members.all.length;
    const message = `${label} is gone with its ${count === 1 ? 'one process' : `${count} processes`}.${await this.#portSentence()}`;
    return { outcome: 'gone', verdict: 'gone', message };
  }

  #cameBack(look: Look): ProcessInfo | null {
    const isNew = (info: ProcessInfo): boolean =>
      !this.#before.has(identityKey(info.identity)) && !this.#members.has(info);
    return candidatesOf(look).find((info) => isNew(info) && this.#isSameCommand(info)) ?? null;
  }

  #isSameCommand(info: ProcessInfo): boolean {
    return this.#target.roots.some(
      ({ argvHash, cwd }) => argvHash !== null && argvHash === info.argvHash && cwd === info.cwd,
    );
  }

  /** A process that listened beside it on one of its ports and still does: the server is not gone as long as that answers. */
  async #sharer(): Promise<Pick<TerminationResult, 'outcome' | 'verdict' | 'message'> | null> {
    for (const port of this.#target.ports) {
      const holder = await this.#deps.host.portHolder(port);
      if (holder === null || holder === 'unreadable' || !this.#sharers.has(holder.pid)) continue;
      const { label } = this.#target;
      const message =
        `${label} ended, but ${nameOf(holder)}, PID ${holder.pid}, shared its port ${port} and still listens there. ` +
        `It has a row of its own; reap PID ${holder.pid} to end it.`;
      return { outcome: 'survived', verdict: 'same', message };
    }
    return null;
  }

  /** Names whoever holds one of its ports now; empty when they are free (DESIGN rule 4.9). */
  async #portSentence(): Promise<string> {
    for (const port of this.#target.ports) {
      const holder = await this.#deps.host.portHolder(port);
      if (holder === 'unreadable') return ` Port ${port} is held by another user's process now, which was left alone.`;
      if (holder !== null)
        return ` Port ${port} is held by ${nameOf(holder)}, PID ${holder.pid}, now, which was left alone.`;
    }
    return '';
  }
}

function candidatesOf(look: Look): ProcessInfo[] {
  return look.candidates.map(({ pid }) => look.processes.get(pid)).filter((info) => info !== undefined);
}
