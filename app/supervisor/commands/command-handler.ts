/** Commands and what follows from them. Everything that starts or ends a process passes through here. */

import type { ExitStatus } from '../../hosts/host.ts';
import { refOfRecord } from '../../records/judge.ts';
import type { Command, CommandResult } from '../../roll/commands.ts';
import type { ReapResult } from '../../roll/schema.ts';
import { interruptions } from '../../text/session-words.ts';
import { rowName } from '../../text/words.ts';
import { messageOf } from '../../util/errors.ts';
import type { Actor, QuitReport } from '../core.ts';
import { ActFailed, done, failed } from '../failure.ts';
import type { JudgedServer } from '../judged-server.ts';
import { isOver } from '../lifecycle/lifecycle.ts';
import { supervisedOf } from '../lifecycle/supervised.ts';
import type { JudgedLook } from '../monitor/host-monitor.ts';
import { rebuildLost } from '../reconcile/lost-records.ts';
import { bindCutOffStarts } from '../reconcile/reconcile.ts';
import { leakedTargets, serverTarget, type Target, targetById } from '../terminate/targets.ts';
import type { TerminationResult } from '../terminate/terminate.ts';
import { type CommandContext, serverById } from './command-context.ts';
import { settleMissing } from './missing-records.ts';
import { type Consent, type ReapDeps, reapTargets, summary } from './reaper.ts';
import { clearRecord, setIdle, setKeepRunning } from './record-commands.ts';
import { Recovery } from './recovery.ts';
import { abortSession, endSession } from './session-commands.ts';
import { StartHandler } from './start-handler.ts';

/** Rows that were ended in this run, so that a second reap of one is a quiet no-op. */
const REMEMBER_ENDED = 1000;
/** Of a quit's time, what endings may use; the rest is for the last look and the report. */
const QUIT_SHARE = 0.8;
/** After the time for a quit is up, what is left is still told within this, in milliseconds. */
const LATE_MS = 1000;
/** How much later than a look the event of an exit may come, in milliseconds. */
const EXIT_EVENT_MS = 250;
/** Looks of a quit for servers that have no row and are not proved gone. */
const MISSING_ROUNDS = 4;
/** An ownerless server that did not end is tried again after this long, in milliseconds. */
const OWNERLESS_EVERY_MS = 60_000;

type ReapCommand = Extract<Command, { command: 'reap' }>;

export class CommandHandler {
  readonly #parts: CommandContext;
  readonly #ending = new Map<string, Promise<TerminationResult>>();
  readonly #stoppingIdle = new Set<string>();
  readonly #ended = new Map<string, string>();
  readonly #ownerless = new Map<string, number>();
  readonly #starts: StartHandler;
  readonly #recovery: Recovery;
  #keeping: Promise<void> | null = null;
  /** Fires when this process is about to let go of the writer's lock: nothing is signalled after that. */
  readonly #abort = new AbortController();
  /** Fires at the beginning of quitting: a start that is not ready yet is given up. */
  readonly #leaving = new AbortController();

  constructor(parts: CommandContext) {
    this.#parts = parts;
    this.#starts = new StartHandler(parts, this.#leaving.signal);
    this.#recovery = new Recovery(parts, (wish, by) => this.#starts.start(wish, by), this.#abort.signal);
  }

  /** The process of a server of ours is gone; how it ended, where that is known. */
  async exited(nonce: string, status: ExitStatus | null): Promise<void> {
    // A look, or a poll where there are no pidfds, may come before the event that tells how our own child ended.
    if (status === null && this.#parts.lives.mayHearOfExit(nonce)) {
      await new Promise((resolve) => setTimeout(resolve, EXIT_EVENT_MS));
    }
    return this.#recovery.exited(nonce, status);
  }

  /** PIDs of servers that went away and whose remains are being ended just now. */
  get sweptPids(): ReadonlySet<number> {
    return this.#recovery.sweptPids;
  }

  /** Servers of ours that no record verifies any more: those that live are written down again. */
  async settleMissing(nonces: readonly string[], sight: JudgedLook): Promise<void> {
    const gone = await settleMissing(nonces, sight, this.#parts);
    // The event of an exit may be on its way, and only that tells how it came.
    if (gone.length > 0) await new Promise((resolve) => setTimeout(resolve, EXIT_EVENT_MS));
    await Promise.all(gone.map((nonce) => this.exited(nonce, null)));
  }

  /**
   * What a look asks of the records while this process is the writer: those of living servers that were harmed are
   * written anew, starts that were cut off are bound, and a server that carries our nonce and has none gets its own.
   *
   * @throws WriteFailed and RecordStuck
   */
  keepRecords(missing: readonly string[], sight: JudgedLook): Promise<void> {
    // One that is not through yet judges by an older look; what this one has shown, the next shows again.
    this.#keeping ??= this.#keepRecords(missing, sight).finally(() => {
      this.#keeping = null;
    });
    return this.#keeping;
  }

  async #keepRecords(missing: readonly string[], sight: JudgedLook): Promise<void> {
    const { lives, pending } = this.#parts;
    await this.settleMissing(missing, sight);
    await bindCutOffStarts(sight.files, sight.look, this.#parts);
    // One with a life is being ended or swept after, or has just got its record back.
    const known = new Set([...pending, ...lives.nonces()]);
    await rebuildLost(sight.look, { ...this.#parts, pending: known });
  }

  /** @throws ActFailed and what the store and the host throw */
  async run(command: Command, by: Actor): Promise<CommandResult> {
    if (this.#leaving.signal.aborted) {
      throw new ActFailed('quitting', 'Nothing was done: Rollcall is quitting.', 'Start it again.');
    }
    switch (command.command) {
      case 'look':
        await this.#parts.freshLook();
        return done(`Looked at ${this.#parts.host.name}.`);
      case 'start':
        return this.#recovery.settledBy(await this.#starts.fromCommand(command, by));
      case 'start-again':
        return this.#recovery.startAgain(command.nonce, 'person', by);
      case 'forget': {
        const result = await this.#recovery.forget(command.nonce);
        await this.#parts.freshLook().catch(() => undefined);
        return result;
      }
      case 'stop':
        return this.#stop(command.server, command.force, by, 'stop');
      case 'restart':
        return this.#restart(command.server, command.force, by);
      case 'reap':
        return this.#reap(command, by);
      case 'clear':
        return clearRecord(command.path, command.sha256, by, this.#parts);
      case 'keep-running':
        return setKeepRunning(command.server, command.keepRunning, this.#parts);
      case 'set-idle':
        return setIdle(command.server, command.minutes, this.#parts);
      case 'keep-awake':
        return this.#keepAwake(command.server);
      case 'abort-session':
        return abortSession(command.session, by, this.#parts);
      case 'end-session':
        return endSession(command.session, command.force, by, this.#parts);
      case 'start-guard':
        return this.#startGuard();
      case 'dismiss':
        this.#parts.tasks.dismiss(command.task);
        return done('');
      default:
        // Hosts are the hostManager's.
        throw new ActFailed('no-host', `${this.#parts.host.name} is looked at already.`, '');
    }
  }

  async #startGuard(): Promise<CommandResult> {
    const why = this.#parts.guard === null ? 'This is no running app.' : await this.#parts.guard.startNow();
    if (why === null) return done('The guard runs.');
    const remedy = 'Its log says more (logs/guard.log in the state folder). Start Rollcall again if it stays so.';
    throw new ActFailed('no-guard', `The guard does not run. ${why}`, remedy);
  }

  #dependencies(): ReapDeps {
    const { host, store, audit, tasks, lives, sessions, monitor, uid, freshLook } = this.#parts;
    return {
      host,
      lives,
      sessions,
      store,
      audit,
      tasks,
      uid,
      ending: this.#ending,
      abort: this.#abort.signal,
      look: (trees) => monitor.look(trees),
      judgeAgain: async (id) => targetById(await freshLook(), id),
    };
  }

  async #reap({ targets, confirmed, force }: ReapCommand, by: Actor): Promise<CommandResult> {
    const sight = await this.#parts.freshLook();
    const { endingMs } = this.#parts;
    const consent = { by, confirmed, force, ...(endingMs === null ? {} : { budgetMs: endingMs }) };
    if (targets === 'leaked') {
      const leaked = leakedTargets(sight);
      if (leaked.length === 0) return done('Nothing is leaked; nothing was signalled.');
      return this.#reapTargets(leaked, [], consent);
    }
    const found: Target[] = [];
    const results: ReapResult[] = [];
    for (const id of new Set(targets)) {
      const target = targetById(sight, id);
      if (target !== null) found.push(target);
      else results.push(this.#absent(id));
    }
    return this.#reapTargets(found, results, consent);
  }

  /** A row that is not there: gone if it was ended in this run; of any other nothing is known, so nothing is claimed. */
  #absent(id: string): ReapResult {
    const label = this.#ended.get(id);
    const base = { pid: 0, id, signals: [], freedBytes: 0 };
    if (label !== undefined) {
      const message = `${label} was already gone; nothing was signalled.`;
      return { ...base, label, outcome: 'gone', verdict: 'gone', message };
    }
    const message = `No row has the id ${id}; nothing was signalled. The list shows what is there now.`;
    return { ...base, label: `The row ${id}`, outcome: 'refused', verdict: 'unknown', message };
  }

  async #reapTargets(
    targets: readonly Target[],
    before: readonly ReapResult[],
    consent: Consent,
  ): Promise<CommandResult> {
    const results = [
      ...before,
      ...(targets.length === 0 ? [] : await reapTargets(targets, consent, this.#dependencies())),
    ];
    return this.#conclude(targets, results, summary(results, 'reap'));
  }

  async #conclude(targets: readonly Target[], results: ReapResult[], message: string): Promise<CommandResult> {
    for (const { id, label } of targets) {
      // One that had to wait for the kernel ends by the SIGKILL it got, after its result was told.
      const ends = results.some(({ id: of, outcome }) => of === id && (outcome === 'gone' || outcome === 'survived'));
      if (ends) this.#ended.set(id, label);
    }
    for (const oldest of this.#ended.keys()) {
      if (this.#ended.size <= REMEMBER_ENDED) break;
      this.#ended.delete(oldest);
    }
    // What was done stands, whether or not the roll can show it at once.
    await this.#parts.freshLook().catch(() => undefined);
    const bad = results.find(({ outcome }) => outcome !== 'gone');
    if (bad === undefined) return done(message, results);
    return failed({ code: bad.outcome, message, remedy: '', detail: null }, results);
  }

  async #stop(id: string, force: boolean, by: Actor, act: 'stop' | 'restart'): Promise<CommandResult> {
    const { row, ...server } = serverById(await this.#parts.freshLook(), id, this.#ended.get(id));
    const { stop } = row;
    if (stop.allowed === 'no' || (stop.allowed !== 'yes' && !force)) {
      const sessions = interruptions(this.#parts.sessions.on(row.id)).map((line) => ` ${line}.`);
      const message = `${rowName(row)} was not stopped. ${stop.why}${sessions.join('')}`;
      this.#parts.audit.note({ event: 'refused', by, pid: row.pid, subject: rowName(row), text: message });
      throw new ActFailed('refused', message, stop.allowed === 'no' ? '' : 'Stop it anyway with an explicit force.');
    }
    const target = serverTarget({ row, ...server });
    const results = await reapTargets([target], { by, confirmed: true, force: true }, this.#dependencies(), act);
    return this.#conclude([target], results, results.map(({ message }) => message).join(' '));
  }

  async #keepAwake(id: string): Promise<CommandResult> {
    const { row, record } = serverById(this.#parts.lastLook(), id, this.#ended.get(id));
    if (record === null) throw new ActFailed('not-ours', `${rowName(row)} is not stopped for being idle.`, '');
    this.#parts.idle.keepAwake(record.record.nonce);
    await this.#parts.freshLook();
    return done(`${rowName(row)} goes on; its idle time begins anew.`);
  }

  /** Its idle time is up. A fresh look decides: whoever came meanwhile keeps it. */
  async stopIdle(id: string): Promise<void> {
    if (this.#stoppingIdle.has(id) || this.#ending.has(id) || this.#leaving.signal.aborted) return;
    // Every look finds it due until it is gone; one stop is enough.
    this.#stoppingIdle.add(id);
    try {
      await this.#stopIfStillIdle(id);
    } finally {
      this.#stoppingIdle.delete(id);
    }
  }

  async #stopIfStillIdle(id: string): Promise<void> {
    const sight = await this.#parts.freshLook();
    const server = sight.servers.find(({ row }) => row.id === id);
    const nonce = server?.record?.record.nonce;
    const idle = server?.row.busy === 'idle' && server.row.clients?.length === 0;
    if (nonce === undefined || !idle || this.#parts.idle.stopAt(nonce) === null) return;
    const result = await this.#stop(id, false, this.#parts.self, 'stop');
    // One that did not end is tried again after another idle time, not with every look.
    if (!result.ok) this.#parts.idle.keepAwake(nonce);
  }

  async #restart(id: string, force: boolean, by: Actor): Promise<CommandResult> {
    const { row, record } = serverById(await this.#parts.freshLook(), id, this.#ended.get(id));
    const owner = record?.record.owner ?? null;
    // Before anything is stopped: an owner that is gone could not have the new server either.
    if (owner !== null && (await this.#parts.host.verify(owner.ref)).verdict !== 'same') {
      const message = `${rowName(row)} was not restarted: ${owner.label}, PID ${owner.ref.identity.pid}, for whom it runs, is gone.`;
      throw new ActFailed('no-owner', message, 'Stop it, and start another one if it is still needed.');
    }
    const stopped = await this.#stop(id, force, by, 'restart');
    if (!stopped.ok || record === null) return stopped;
    const { kind, directory, keepRunning, listening, port } = record.record;
    const wish = { kind, directory, keepRunning, owner, attempt: 0, replaces: null };
    return this.#starts.start({ ...wish, port: listening?.port ?? port }, by);
  }

  /** Stops servers that are bound to a process which is provably gone. */
  async endOwnerless(sight: JudgedLook): Promise<void> {
    for (const server of sight.servers) {
      const owner = server.record?.record.owner ?? null;
      const { id } = server.row;
      if (owner === null || this.#ending.has(id) || (this.#ownerless.get(id) ?? 0) > performance.now()) continue;
      const { verdict } = await this.#parts.host.verify(owner.ref);
      if (verdict === 'same' || verdict === 'unknown' || verdict === 'foreign' || this.#ending.has(id)) continue;
      this.#ownerless.set(id, performance.now() + OWNERLESS_EVERY_MS);
      const who = `${owner.label}, PID ${owner.ref.identity.pid},`;
      this.#parts.audit.note({
        event: 'exited',
        by: this.#parts.self,
        pid: owner.ref.identity.pid,
        subject: owner.label,
        text: `${who} is gone; ${rowName(server.row)} was started for it and is stopped`,
      });
      await reapTargets(
        [serverTarget(server)],
        { by: this.#parts.self, confirmed: true, force: true },
        this.#dependencies(),
        'stop',
      );
    }
  }

  /**
   * Gives up starts, stops what is not kept running, all at once, and awaits other endings; within the deadline in
   * milliseconds. Nothing is signalled after it has resolved.
   */
  async quit(stopServers: boolean, deadlineMs: number): Promise<QuitReport> {
    this.#leaving.abort();
    const until = performance.now() + deadlineMs;
    let late: NodeJS.Timeout | undefined;
    const timeIsUp = new Promise<'late'>((resolve) => {
      late = setTimeout(() => resolve('late'), deadlineMs);
    });
    try {
      const done = this.#quitInOrder(stopServers, until);
      const report = await Promise.race([done, timeIsUp]);
      if (report !== 'late') return report;
      const stoppable = stopServers ? this.#stoppable() : [];
      const late = stoppable.filter(({ record }) => !this.#isOver(record?.record.nonce));
      const failed = late.map(({ row }) => `${rowName(row)} did not end in time`);
      return {
        stopped: stoppable.length - late.length,
        leftRunning: this.#supervised().length - stoppable.length,
        failed: [...failed, ...(stopServers ? await this.#unreachedSoon() : [])],
      };
    } finally {
      clearTimeout(late);
      this.#abort.abort();
    }
  }

  async #quitInOrder(stopServers: boolean, until: number): Promise<QuitReport> {
    await this.#recovery.close();
    await this.#starts.settled();
    await Promise.allSettled(this.#ending.values());
    if (!stopServers) return { stopped: 0, leftRunning: this.#supervised().length, failed: [] };
    // With no fresh look the last one serves: every identity is proved again before its signal in any case.
    const sight = await this.#parts.freshLook().catch(() => null);
    if (sight !== null) await this.#seeToMissing(sight);
    const targets = this.#stoppable().map(serverTarget);
    const leftRunning = this.#supervised().length - targets.length;
    const unreached = await this.#unreached();
    if (targets.length === 0) return { stopped: 0, leftRunning, failed: unreached };
    const budgetMs = Math.max(0, until - performance.now()) * QUIT_SHARE;
    const consent = {
      by: this.#parts.self,
      confirmed: true,
      force: true,
      quitting: this.#parts.self === 'app',
      budgetMs,
    };
    const results = await reapTargets(targets, consent, this.#dependencies(), 'stop');
    return {
      stopped: results.filter(({ outcome }) => outcome === 'gone').length,
      leftRunning,
      failed: [...results.filter(({ outcome }) => outcome !== 'gone').map(({ message }) => message), ...unreached],
    };
  }

  /**
   * What has no row any more is not passed over: one whose record was torn or deleted since the last look is written down
   * again, and of one that has just crashed the rest is ended.
   */
  async #seeToMissing(first: JudgedLook): Promise<void> {
    let sight = first;
    try {
      // Without a pidfd, a process that is just ending can be proved neither alive nor gone: no later look comes to do it.
      for (let round = 0; round < MISSING_ROUNDS; round += 1) {
        const live = new Set(sight.records.live.map(({ record }) => record.nonce));
        const missing = this.#parts.lives.running().filter(({ record }) => !live.has(record.nonce));
        if (missing.length === 0) return;
        if (round > 0) await new Promise((resolve) => setTimeout(resolve, EXIT_EVENT_MS));
        await this.settleMissing(
          missing.map(({ record }) => record.nonce),
          sight,
        );
        sight = await this.#parts.freshLook();
      }
    } catch (error) {
      // It is told as one that was not stopped.
      this.#parts.problem(error);
    }
  }

  /** The time is up: a host that does not answer must not draw the quit out any further. */
  async #unreachedSoon(): Promise<string[]> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<string[]>((resolve) => {
      timer = setTimeout(() => resolve(['what else was to be stopped could not be asked for in time']), LATE_MS);
    });
    try {
      return await Promise.race([this.#unreached(), late]);
    } catch (error) {
      return [messageOf(error)];
    } finally {
      clearTimeout(timer);
    }
  }

  /** Servers of ours that live, are not kept and have no row by which they could be ended: a sentence for each. */
  async #unreached(): Promise<string[]> {
    const { lives, store, host, lastLook, pending } = this.#parts;
    const left: string[] = [];
    for (const nonce of pending) {
      const record = (await store.read(store.pathOf(nonce)))?.record ?? null;
      if (record?.keepRunning === false) left.push(`the start of ${record.kind} in ${record.directory} was cut off`);
    }
    for (const { id, record, label } of supervisedOf(lastLook(), lives, store)) {
      const ref = refOfRecord(record);
      if (id !== null || record.keepRunning || ref === null || pending.has(record.nonce)) continue;
      const { verdict } = await host.verify(ref);
      if (verdict === 'gone' || verdict === 'zombie' || verdict === 'reused') continue;
      left.push(`${label}, PID ${ref.identity.pid}, was not stopped: no look shows it as a server of ours`);
    }
    return left;
  }

  #isOver(nonce: string | undefined): boolean {
    const state = nonce === undefined ? null : this.#parts.lives.state(nonce);
    return state === null || isOver(state);
  }

  #supervised(): JudgedServer[] {
    return (this.#parts.lastLook()?.servers ?? []).filter(({ record }) => record !== null);
  }

  #stoppable(): JudgedServer[] {
    return this.#supervised().filter(({ record }) => record?.record.keepRunning === false);
  }
}
