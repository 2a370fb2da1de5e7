/** The processes that one ending is about: each held from its verification until the end, in order, parents first. */

import type { Audit } from '../../audit/audit.ts';
import type { Host, ProcessHandle, ProcessInfo, Signal } from '../../hosts/host.ts';
import { refOf } from '../../hosts/process-info.ts';
import { identityKey, type Verdict } from '../../identity/identity.ts';
import { oneLine, redactArgv } from '../../servers/redact.ts';

export interface Member {
  readonly info: ProcessInfo;
  readonly held: ProcessHandle;
  /**
   * Orphan supervisors end first, so that nothing starts the server again; then the server and its wrappers by the
   * kind's sequence; children are swept after them.
   */
  readonly part: 'respawner' | 'server' | 'child';
}

/** A sentence for a verdict that forbids a signal: what was not done, whom that protects, what to do. */
export function refusalSentence(pid: number, verdict: Verdict): string {
  switch (verdict.verdict) {
    case 'same':
      return `PID ${pid} is the recorded process.`;
    case 'gone':
      return `PID ${pid} was not signalled: the process is gone (${verdict.why}).`;
    case 'zombie':
      return `PID ${pid} was not signalled: it has exited and waits to be collected by its parent.`;
    case 'reused':
      return `PID ${pid} was not signalled: it is ${verdict.by.name} now. The record is stale; move it aside.`;
    case 'thread':
      return `PID ${pid} was not signalled: it is a thread of ${verdict.of.name}, PID ${verdict.of.pid}. The record is stale; move it aside.`;
    case 'foreign':
      return `PID ${pid} was not signalled: ${verdict.why}. It can be ended only there.`;
    case 'unknown':
      return `PID ${pid} was not signalled: its identity could not be proved (${verdict.why}). It works again once a look can prove it.`;
  }
}

export class Members {
  readonly #host: Host;
  readonly #audit: Audit;
  readonly #by: string;
  readonly #subject: string;
  readonly #abort: AbortSignal | null;
  readonly #members = new Map<string, Member>();
  /** Members that got SIGKILL, which nothing more can be added to. */
  readonly #killed = new Set<Member>();
  /** What was sent so far, in order: "SIGTERM 4711". */
  readonly sent: string[] = [];

  /** @param abort once it fires, nothing more is signalled */
  constructor(host: Host, audit: Audit, by: string, subject: string, abort: AbortSignal | null) {
    this.#host = host;
    this.#audit = audit;
    this.#by = by;
    this.#subject = subject;
    this.#abort = abort;
  }

  get all(): readonly Member[] {
    return [...this.#members.values()];
  }

  has(info: ProcessInfo): boolean {
    return this.#members.has(identityKey(info.identity));
  }

  /** Holds a process and says what it is; only one that verifies `same` becomes a member. */
  async add(info: ProcessInfo, part: Member['part']): Promise<Verdict> {
    const held = await this.#host.hold(refOf(info));
    const verdict = await held.verify();
    if (verdict.verdict === 'same' && !this.has(info)) {
      this.#members.set(identityKey(info.identity), { info, held, part });
    } else {
      held.release();
    }
    return verdict;
  }

  /** Members whose identity verifies `same` just now: those that may be signalled. */
  async living(part: Member['part'] | 'any'): Promise<Member[]> {
    return this.#with(part, ({ verdict }) => verdict === 'same');
  }

  /** Those of the living that have not got SIGKILL yet. */
  async unkilled(part: Member['part'] | 'any'): Promise<Member[]> {
    return (await this.living(part)).filter((member) => !this.#killed.has(member));
  }

  /** Members that are not proved to have ended: what cannot be told counts as alive. */
  async remaining(): Promise<Member[]> {
    return this.#with('any', ({ verdict }) => verdict !== 'gone' && verdict !== 'zombie' && verdict !== 'reused');
  }

  async #with(part: Member['part'] | 'any', test: (verdict: Verdict) => boolean): Promise<Member[]> {
    const chosen = this.all.filter((member) => part === 'any' || member.part === part);
    const verdicts = await Promise.all(chosen.map((member) => member.held.verify()));
    return chosen.filter((_, index) => {
      const verdict = verdicts[index];
      return verdict !== undefined && test(verdict);
    });
  }

  /** Intent, signal through the held identity, outcome: one line of the audit before and one after. */
  async signal(member: Member, signal: Signal): Promise<void> {
    if (this.#abort?.aborted === true) return;
    const { pid, identity } = member.info;
    const name = oneLine(redactArgv(member.info.argv).join(' ') || member.info.comm, 120);
    const line = { by: this.#by, host: this.#host.name, pid, identity, signal, subject: this.#subject };
    this.#audit.write({ ...line, event: 'signal-intent', text: `${signal} to PID ${pid}, ${name}` });
    const outcome = await member.held.signal(signal);
    if (outcome.sent) {
      if (signal === 'SIGKILL') this.#killed.add(member);
      this.sent.push(`${signal} ${pid}`);
      this.#audit.note({
        ...line,
        event: 'signal-outcome',
        verdict: 'same',
        text: `${signal} was sent to PID ${pid}`,
      });
    } else {
      const text = refusalSentence(pid, outcome.verdict);
      const settled = outcome.verdict.verdict === 'gone' || outcome.verdict.verdict === 'zombie';
      this.#audit.note({
        ...line,
        event: settled ? 'signal-outcome' : 'refused',
        verdict: outcome.verdict.verdict,
        text,
      });
    }
  }

  /** Waits until every one has exited or the time is up; `onTick` runs about four times a second. */
  async exited(members: readonly Member[], waitMs: number, onTick: (elapsedMs: number) => void): Promise<void> {
    const began = performance.now();
    const ticker = setInterval(() => onTick(performance.now() - began), 250);
    try {
      await Promise.all(members.map((member) => member.held.exited(waitMs)));
    } finally {
      clearInterval(ticker);
    }
  }

  /** Lets go of every grip. */
  release(): void {
    for (const member of this.#members.values()) member.held.release();
  }
}
