/** Every host as one: the roll is made of what their supervisors know, and each command goes to the one it is about. */

import type { Audit } from '../../audit/audit.ts';
import type { Paths } from '../../config/paths.ts';
import { LOCAL_HOST } from '../../config/schema.ts';
import type { Command, CommandResult, Plan } from '../../roll/commands.ts';
import type { Alert, ReapResult, Roll } from '../../roll/schema.ts';
import { plural } from '../../text/words.ts';
import type { WriterLock } from '../../writer/writer-lock.ts';
import { BackgroundTasks } from '../background-tasks.ts';
import { summary } from '../commands/reaper.ts';
import type { Actor, Explanation, LocalCore, LogText, QuitReport, Supervised } from '../core.ts';
import { done, failed, failureOf } from '../failure.ts';
import { faultsOf } from '../faults.ts';
import type { GuardPort } from '../guard-port.ts';
import { afterwardsOf } from '../lifecycle/supervised.ts';
import type { SessionPersistence } from '../sessions/session-persistence.ts';
import type { SettingsSource } from '../settings.ts';
import { rollOf } from '../snapshot.ts';
import { type HostSupervisor, SETTLE_MS } from './host-supervisor.ts';
import type { RemoteHosts } from './remote-hosts.ts';

export interface HostManagerOptions {
  readonly local: (onPart: () => void) => HostSupervisor;
  readonly remote: (onPart: () => void) => RemoteHosts;
  readonly settings: SettingsSource;
  readonly audit: Audit;
  readonly paths: Paths;
  readonly lock: WriterLock | null;
  readonly guard: GuardPort | null;
  /** Null where nothing is written down: for a command that only reads. */
  readonly keeping: SessionPersistence | null;
  /** What the person should know of sessions and of what runs at their end. */
  readonly sessionAlerts: () => readonly Alert[];
  /** How long hooks may take at the end of this process, in milliseconds; what is not through by then is left to the next. */
  readonly hooksMs: number;
}

/** How long all hosts together wait for a slow one, in milliseconds. */
const PATIENCE_MS = 5000;

type HostCommand = Extract<Command, { command: 'connect' | 'disconnect' | 'save-host' | 'remove-host' }>;

export class HostManager implements LocalCore {
  readonly #parts: HostManagerOptions;
  readonly #local: HostSupervisor;
  readonly #remote: RemoteHosts;
  readonly #backgroundTasks = new BackgroundTasks(() => this.#publish());
  readonly #listeners = new Set<(roll: Roll) => void>();
  #version = 0;
  #opened = false;
  #closed = false;
  #closing = false;
  #roll: Roll;

  constructor(parts: HostManagerOptions) {
    this.#parts = parts;
    this.#local = parts.local(() => this.#publish());
    this.#remote = parts.remote(() => this.#publish());
    this.#roll = this.#snapshot();
    this.#opened = true;
  }

  /** The first look at this machine has been judged when it resolves; hosts that connect at start are under way. */
  async open(): Promise<void> {
    await this.#local.open();
    this.#remote.open();
  }

  get roll(): Roll {
    return this.#roll;
  }

  subscribe(listener: (roll: Roll) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  watchedWhile(test: () => boolean): void {
    this.#local.watchedWhile(test);
    this.#remote.watchedWhile(test);
  }

  supervised(): readonly Supervised[] {
    return this.#local.supervised();
  }

  get hooksDue(): number {
    return this.#parts.keeping?.due ?? 0;
  }

  /** Something about hooks has changed. */
  hooksChanged(): void {
    this.#publish();
  }

  async run(command: Command, by: Actor): Promise<CommandResult> {
    try {
      return await this.#run(command, by);
    } catch (error) {
      return failed(failureOf(error));
    }
  }

  async #run(command: Command, by: Actor): Promise<CommandResult> {
    switch (command.command) {
      case 'look':
        return this.#look(command.host ?? null, by);
      case 'start':
        return this.#start(command, by);
      case 'clear':
        return this.#run1(this.#withRecord(command.path, command.host ?? null), command, by);
      case 'stop':
      case 'restart':
      case 'keep-running':
      case 'set-idle':
      case 'keep-awake':
        return this.#run1(this.#withRow(command.server), command, by);
      case 'abort-session':
      case 'end-session':
        return this.#run1(this.#withSession(command.session), command, by);
      case 'retry-hooks':
        return this.#hooks((keeping) => keeping.retry(), 'run again');
      case 'forget-hooks':
        return this.#hooks((keeping) => keeping.forget(), 'given up');
      case 'start-again':
      case 'forget':
        return this.#run1(this.#withEnded(command.nonce), command, by);
      case 'reap':
        return this.#reap(command, by);
      case 'dismiss':
        return this.#run1(this.#withTask(command.task), command, by);
      case 'start-guard':
        return this.#run1(this.#local, command, by);
      case 'connect':
      case 'disconnect':
      case 'save-host':
      case 'remove-host':
        return this.#host(command, by);
    }
  }

  #hooks(act: (keeping: SessionPersistence) => number, word: string): CommandResult {
    const { keeping } = this.#parts;
    const count = keeping === null ? 0 : act(keeping);
    this.#publish();
    return done(
      count === 0
        ? 'No session-end hook has failed.'
        : `${plural(count, 'session-end hook')} ${count === 1 ? 'is' : 'are'} ${word}.`,
    );
  }

  async #start(command: Extract<Command, { command: 'start' }>, by: Actor): Promise<CommandResult> {
    return this.#run1(await this.#named(command.host ?? LOCAL_HOST), command, by);
  }

  #run1(supervisor: HostSupervisor, command: Command, by: Actor): Promise<CommandResult> {
    return supervisor.run(command, by);
  }

  #host(command: HostCommand, by: Actor): Promise<CommandResult> {
    switch (command.command) {
      case 'connect':
        return this.#remote.connect(command.host, by);
      case 'disconnect':
        return this.#remote.disconnect(command.host, command.stopServers, by);
      case 'save-host':
        return this.#remote.save(command);
      case 'remove-host':
        return this.#remote.remove(command.name, by);
    }
  }

  async #look(host: string | null, by: Actor): Promise<CommandResult> {
    if (host !== null) return this.#run1(await this.#named(host), { command: 'look' }, by);
    const others = this.#remote.supervisors();
    const look = { command: 'look' } as const;
    const [here] = await Promise.all([
      this.#local.run(look, by),
      ...others.map((supervisor) => inTime(supervisor.run(look, by))),
    ]);
    // How it went elsewhere is told by the state of each host.
    return here.ok && others.length > 0 ? done('Looked at every host.') : here;
  }

  /** @throws ActFailed when the host cannot be reached */
  async #named(host: string): Promise<HostSupervisor> {
    return host === LOCAL_HOST ? this.#local : this.#remote.reach(host);
  }

  get #all(): HostSupervisor[] {
    return [this.#local, ...this.#remote.supervisors()];
  }

  /** @throws ActFailed while there is no connection: without one nothing can be proved there */
  #on(host: string): HostSupervisor {
    return host === LOCAL_HOST ? this.#local : this.#remote.connected(host);
  }

  /** Whose row it is. An id that nobody has is this machine's to answer. */
  #withRow(id: string): HostSupervisor {
    const row = [...this.#roll.servers, ...this.#roll.leftovers].find((each) => each.id === id);
    return this.#on(row?.host ?? LOCAL_HOST);
  }

  #withSession(key: string): HostSupervisor {
    return this.#on(this.#roll.sessions.find((each) => each.key === key)?.host ?? LOCAL_HOST);
  }

  #withRecord(path: string, host: string | null): HostSupervisor {
    const found = this.#roll.records.find((each) => each.path === path && (host === null || each.host === host));
    return this.#on(found?.host ?? host ?? LOCAL_HOST);
  }

  #withEnded(nonce: string): HostSupervisor {
    return this.#on(this.#roll.ended.find((each) => each.nonce === nonce)?.host ?? LOCAL_HOST);
  }

  #withTask(id: string): HostSupervisor {
    return this.#all.find(({ part }) => part.tasks.some((task) => task.id === id)) ?? this.#local;
  }

  /** Rows of several hosts are several reaps, told as one. */
  async #reap(command: Extract<Command, { command: 'reap' }>, by: Actor): Promise<CommandResult> {
    const { targets } = command;
    if (targets === 'leaked') {
      const others = this.#leaking();
      return this.#together(await Promise.all([this.#local, ...others].map((each) => each.run(command, by))));
    }
    const shares = new Map<HostSupervisor, string[]>();
    for (const id of targets) {
      const supervisor = this.#withRow(id);
      shares.set(supervisor, [...(shares.get(supervisor) ?? []), id]);
    }
    const runs = [...shares].map(([supervisor, ids]) => supervisor.run({ ...command, targets: ids }, by));
    return this.#together(await Promise.all(runs));
  }

  #together(answers: readonly CommandResult[]): CommandResult {
    const [only] = answers;
    if (only !== undefined && answers.length === 1) return only;
    const results: ReapResult[] = answers.flatMap((answer) => answer.results);
    const bad = answers.find((answer) => !answer.ok);
    if (bad !== undefined && !bad.ok) {
      const message = results.length === 0 ? bad.failure.message : summary(results, 'reap');
      return failed({ ...bad.failure, message }, results);
    }
    return done(results.length === 0 ? 'Nothing is leaked; nothing was signalled.' : summary(results, 'reap'), results);
  }

  async plan(targets: 'leaked' | readonly string[]): Promise<Plan> {
    const plans = targets === 'leaked' ? await this.#planLeaked() : await this.#planOf(targets);
    return {
      rows: plans.flatMap(({ rows }) => rows),
      freesBytes: plans.reduce((sum, plan) => sum + plan.freesBytes, 0),
      processes: plans.reduce((sum, plan) => sum + plan.processes, 0),
      busy: plans.reduce((sum, plan) => sum + plan.busy, 0),
    };
  }

  /** A host that does not answer keeps no other one from being planned; its rows wait until it does. */
  async #planLeaked(): Promise<Plan[]> {
    const others = this.#leaking().map((supervisor) =>
      inTime(supervisor.plan('leaked'), PATIENCE_MS + (supervisor.settlesFirst ? SETTLE_MS : 0)),
    );
    const [here, ...there] = await Promise.all([this.#local.plan('leaked'), ...others]);
    return [here, ...there.filter((plan) => plan !== null)];
  }

  /** Other hosts that have something leaked, or something of which that is not decided yet. */
  #leaking(): HostSupervisor[] {
    const leaks = ({ part }: HostSupervisor): boolean =>
      part.leftovers.length > 0 || part.servers.some(({ standing }) => standing === 'leaked' || standing === 'suspect');
    return this.#remote.supervisors().filter(leaks);
  }

  #planOf(targets: readonly string[]): Promise<Plan[]> {
    const whose = new Set(targets.map((id) => this.#withRow(id)));
    return Promise.all([...whose].map((supervisor) => supervisor.plan(targets)));
  }

  async explain(target: string, host: string | null = null): Promise<Explanation> {
    if (host !== null && host !== LOCAL_HOST) return (await this.#remote.reach(host)).explain(target);
    const here = await this.#local.explain(target);
    // A number alone is this machine's.
    if (host !== null || here.server !== null || here.leftover !== null || /^\d{1,7}$/u.test(target)) return here;
    for (const supervisor of this.#remote.supervisors()) {
      const there = await supervisor.explain(target);
      if (there.server !== null || there.leftover !== null) return there;
    }
    return here;
  }

  async readLog(server: string): Promise<LogText> {
    const ended = this.#roll.ended.some(({ nonce }) => nonce === server);
    return (ended ? this.#withEnded(server) : this.#withRow(server)).readLog(server);
  }

  answer(question: string, answer: string | null): boolean {
    return this.#remote.answer(question, answer);
  }

  wake(): void {
    this.#remote.wake();
  }

  close(stopServers: boolean, deadlineMs: number): Promise<QuitReport> {
    if (this.#closing) return Promise.resolve({ stopped: 0, leftRunning: 0, failed: [] });
    this.#closing = true;
    return this.#close(stopServers, deadlineMs);
  }

  async #close(stopServers: boolean, deadlineMs: number): Promise<QuitReport> {
    const { guard, settings, lock, keeping, hooksMs } = this.#parts;
    const [here, there] = await Promise.all([
      this.#local.quit(stopServers, deadlineMs),
      // Servers on other hosts stay, by default; those that are not kept stop with the rest.
      this.#remote.quit(stopServers, deadlineMs),
    ]);
    const report = { ...here, failed: [...here.failed, ...there.failed] };
    // Before the farewell: a guard that has heard it goes, and could not see to an ssh that does not end.
    await this.#remote.close();
    // What is not through by then goes on, and is seen to by the guard or by the next one of us.
    await keeping?.settled(hooksMs);
    const hooksDue = this.hooksDue > 0;
    const unwatched = (await guard?.shutdown(afterwardsOf(here, stopServers, this.supervised(), hooksDue))) ?? null;
    this.#closed = true;
    this.#listeners.clear();
    await settings.close();
    await this.#local.close();
    keeping?.close();
    await lock?.release();
    return unwatched === null ? report : { ...report, unwatched };
  }

  #snapshot(): Roll {
    const { audit, settings, paths, sessionAlerts } = this.#parts;
    return rollOf({
      version: this.#version++,
      parts: [this.#local.part, ...this.#remote.parts()],
      timeline: audit.recent,
      startable: this.#local.startable,
      questions: [...this.#remote.questions()],
      offered: [...this.#remote.offered()],
      settings: {
        reapAsk: settings.config.reap.ask,
        graceSeconds: settings.config.leak.graceSeconds,
        configPath: paths.configFile,
        stopLocalServers: settings.config.quit.stopLocalServers,
        configProblem: settings.problem,
        statePath: paths.stateDir,
        hooks: settings.config.hooks.sessionEnd.length,
      },
      faults: [
        ...faultsOf({
          host: LOCAL_HOST,
          look: null,
          audit: audit.problem,
          records: null,
          aside: this.#backgroundTasks.problem,
          guard: null,
          unproved: [],
        }),
        ...sessionAlerts(),
      ],
      now: Date.now(),
    });
  }

  #publish(): void {
    if (this.#closed || !this.#opened) return;
    this.#roll = this.#snapshot();
    // It is in this roll; whoever fails again is told of in the next.
    this.#backgroundTasks.clear('showing');
    for (const listener of this.#listeners) {
      try {
        listener(this.#roll);
      } catch (error) {
        // A face that fails is no failed look. It is told with the next roll: telling it now would only fail again.
        this.#backgroundTasks.note('showing', error);
      }
    }
  }
}

/** An answer of another host; null when it takes too long or fails, which its own state tells. */
async function inTime<T>(answer: Promise<T>, patienceMs = PATIENCE_MS): Promise<T | null> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<null>((resolve) => {
    timer = setTimeout(() => resolve(null), patienceMs);
  });
  try {
    return await Promise.race([answer.catch(() => null), late]);
  } finally {
    clearTimeout(timer);
  }
}
