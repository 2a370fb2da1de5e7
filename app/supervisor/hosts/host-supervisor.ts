/** The supervisor of one host: the loop from look to its part of the roll, and the way from a command back to an effect. */

import type { Audit } from '../../audit/audit.ts';
import type { ExitStatus, Host, MachineLine } from '../../hosts/host.ts';
import { refOf } from '../../hosts/process-info.ts';
import type { ProcessRef } from '../../identity/identity.ts';
import type { ServerRecord } from '../../records/schema.ts';
import type { RecordStore } from '../../records/store.ts';
import type { Command, CommandResult, Plan } from '../../roll/commands.ts';
import type { RecordEntry, Roll } from '../../roll/schema.ts';
import type { ProgramFinder } from '../../servers/kind.ts';
import type { ForeignSessions } from '../../sessions/foreign/watcher.ts';
import type { SessionStore } from '../../sessions/session-tracker.ts';
import { atomicWrite } from '../../util/atomic-write.ts';
import { messageOf } from '../../util/errors.ts';
import { throttle } from '../../util/throttle.ts';
import { AuditReporter } from '../audit-reporter.ts';
import { BackgroundTasks } from '../background-tasks.ts';
import { CommandHandler } from '../commands/command-handler.ts';
import { explainTarget } from '../commands/explain.ts';
import { Tasks } from '../commands/tasks.ts';
import type { Actor, Explanation, LogText, Mode, QuitReport, Supervised } from '../core.ts';
import { ActFailed, failed, failureOf } from '../failure.ts';
import { faultsOf } from '../faults.ts';
import type { GuardPort } from '../guard-port.ts';
import { IdleWatch } from '../lifecycle/idle.ts';
import { IdlePolicy } from '../lifecycle/idle-policy.ts';
import { ServerRegistry } from '../lifecycle/server-registry.ts';
import { supervisedOf } from '../lifecycle/supervised.ts';
import { ExitWatches } from '../monitor/exit-watches.ts';
import { HostMonitor, isUndecided, type JudgedLook } from '../monitor/host-monitor.ts';
import { Outdated } from '../monitor/outdated.ts';
import { Poller } from '../monitor/poller.ts';
import type { ServerHistory } from '../monitor/server-history.ts';
import { reconcile } from '../reconcile/reconcile.ts';
import { HostSessions } from '../sessions/host-sessions.ts';
import type { SettingsSource } from '../settings.ts';
import { type HostSnapshot, type LifeFacts, snapshotHost } from '../snapshot.ts';
import { SPANS, type Spans } from '../spans.ts';
import { leakedTargets, planOf, targetById } from '../terminate/targets.ts';

/** One look decides what only watching can decide: for at most this long, looking this often. Milliseconds. */
export const SETTLE_MS = 8000;
const SETTLE_EVERY_MS = 500;
/** Readings that change together make one new roll. */
const GATHER_MS = 50;
/** The same for what servers tell of their sessions alone, which may be much. */
const GATHER_SESSIONS_MS = 250;
/** Servers not seen for this long are forgotten. */
const FORGET_MS = 24 * 3600 * 1000;
/** Looks are this many times rarer while nobody watches. */
const UNWATCHED = 3;
const LOG_LIMIT_BYTES = 64 * 1024;
/** How long a command waits for servers to tell of their sessions, and how often it sees whether they have. Milliseconds. */
const HEAR_MS = 3000;
const HEAR_EVERY_MS = 20;

export interface SupervisorDeps {
  readonly mode: Mode;
  /** A command that is about sessions: every server is followed, and has told of them before anything is answered. */
  readonly hears: boolean;
  readonly host: Host;
  readonly settings: Pick<SettingsSource, 'config' | 'kindOf' | 'startable' | 'onChange'>;
  readonly store: RecordStore;
  readonly audit: Audit;
  readonly memory: ServerHistory;
  /** File on this machine that carries the memory over a restart; null where none is kept. */
  readonly memoryFile: string | null;
  /** Folder on the host that logs of servers go into. */
  readonly logsDir: string;
  /** Environment that a server on this host inherits from us. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly finder: ProgramFinder;
  /** The file behind a program's path; null where it cannot be told. */
  readonly programFileOf: (path: string) => ServerRecord['program'];
  /** This process, as records name their writer. */
  readonly writer: () => Promise<ProcessRef>;
  /** Crashed servers are started again as the settings say; elsewhere only a person starts one. */
  readonly restarts: boolean;
  /** Who acts where no person asked. */
  readonly self: 'app' | 'guard';
  readonly guard: GuardPort | null;
  readonly handed: readonly ServerRecord[];
  /** Where lives of sessions are written down, and what runs at their end; null where nothing is written. */
  readonly keeping: SessionStore | null;
  /** Sessions that other tools tell of in files there; null where none are read. */
  readonly foreign: ((onChange: () => void) => ForeignSessions) | null;
  /** See `IdleWatch`. */
  readonly idleAnnouncedMs?: number;
  /** `SPANS` when left out. */
  readonly spans?: Spans;
  /** Between two looks, in seconds, while somebody watches. */
  readonly lookEverySeconds: () => number;
  /** False while there is no way to the host: no look is tried then. */
  readonly reachable: () => boolean;
}

export class HostSupervisor {
  readonly #parts: SupervisorDeps;
  readonly #monitor: HostMonitor;
  readonly #tasks = new Tasks(() => this.#publish());
  readonly #pending = new Set<string>();
  readonly #watches: ExitWatches;
  readonly #lives: ServerRegistry;
  readonly #outdated: Outdated;
  readonly #idle: IdlePolicy;
  #remembering: Promise<void> = Promise.resolve();
  readonly #sessions: HostSessions;
  readonly #backgroundTasks = new BackgroundTasks(() => this.#publish());
  readonly #rounds = new Poller(() => this.#see());
  readonly #readings = throttle(() => this.#judgeAgain(), GATHER_MS, { leading: false });
  readonly #reports = throttle(() => this.#hearAgain(), GATHER_SESSIONS_MS, { leading: false });
  readonly #acts: CommandHandler;
  readonly #news: AuditReporter;
  readonly #onPart: () => void;
  readonly #unfollow: () => void;
  #sight: JudgedLook | null = null;
  #problem: string | null = null;
  #machine: MachineLine | null = null;
  #moved: RecordEntry[] = [];
  /** Why records cannot be kept; null when they can. */
  #recordsProblem: string | null = null;
  #startable: Roll['startable'] = [];
  #watched: () => boolean = () => true;
  #observing: Promise<void> = Promise.resolve();
  #closing = false;
  #closed = false;
  #part: HostSnapshot;

  /** @param onPart its part of the roll has changed */
  constructor(parts: SupervisorDeps, onPart: () => void) {
    this.#parts = parts;
    this.#onPart = onPart;
    this.#news = new AuditReporter(parts.audit, parts.self);
    const { host, store, memory, settings } = parts;
    const { uid } = host;
    const spans = parts.spans ?? SPANS;
    this.#monitor = new HostMonitor({
      host,
      store,
      memory,
      uid,
      kindOf: (name) => settings.kindOf(name),
      customKinds: () => settings.config.kinds,
      graceMs: () => settings.config.leak.graceSeconds * 1000,
      spans,
      pending: this.#pending,
      writer: parts.writer,
      followAll: this.#follows || parts.hears,
      onReading: () => this.#readings(),
      onSessions: () => this.#reports(),
    });
    this.#sessions = new HostSessions(parts, () => this.#reports());
    this.#watches = new ExitWatches(host, (ref, status) => this.#onExit(ref, status));
    this.#lives = new ServerRegistry(
      host.name,
      // A guard ends things and starts none.
      () =>
        parts.mode === 'guard' || !parts.restarts
          ? { ...settings.config.restart, when: 'never' }
          : settings.config.restart,
      () => {
        this.#publish();
        this.#watch();
      },
    );
    this.#outdated = new Outdated({
      kindOf: (name) => settings.kindOf(name),
      programOf: (name) => this.#startable.find(({ kind, available }) => available && kind === name)?.detail ?? null,
    });
    const idle = new IdleWatch(parts.idleAnnouncedMs);
    this.#idle = new IdlePolicy({
      watch: idle,
      usualMinutes: () => settings.config.idle.stopAfterMinutes,
      sessionsOn: (row) => this.#sessions.on(row),
      announced: (row, minutes) => this.#news.idleSoon(row, minutes),
      due: (row) => this.#backgroundTasks.run('idle', this.#acts.stopIdle(row.id)),
    });
    this.#acts = new CommandHandler({
      ...parts,
      endingMs: spans.endingMs,
      uid,
      tasks: this.#tasks,
      lives: this.#lives,
      sessions: this.#sessions,
      idle,
      problem: (error) => this.#backgroundTasks.failed('recovery', error),
      pending: this.#pending,
      monitor: this.#monitor,
      freshLook: () => this.#freshLook(),
      lastLook: () => this.#sight,
    });
    this.#part = this.#snapshot();
    this.#unfollow = settings.onChange(() => this.#backgroundTasks.run('settings', this.#onSettings()));
  }

  /** It looks and watches by itself, until it is closed. */
  get #follows(): boolean {
    return this.#parts.mode === 'app' || this.#parts.mode === 'guard';
  }

  get part(): HostSnapshot {
    return this.#part;
  }

  get startable(): Roll['startable'] {
    return this.#startable;
  }

  watchedWhile(test: () => boolean): void {
    this.#watched = test;
  }

  /** Reconciles (as a writer), takes the first look, and in `app` mode starts the loop. */
  async open(): Promise<void> {
    const { mode, audit, self, guard, host } = this.#parts;
    // First of all: the guard that has yielded to this app is gone, and the first look takes its time.
    if (mode === 'app') {
      guard?.open({
        changed: () => this.#publish(),
        note: (text) => audit.note({ event: 'guard', by: self, subject: 'guard', text }),
      });
    }
    if (mode !== 'read') {
      const parts = { ...this.#parts, uid: host.uid, pending: this.#pending };
      const { moved, problem } = await reconcile(parts, () => this.#monitor.look());
      this.#moved = [...moved];
      this.#recordsProblem = problem;
    }
    await this.refresh();
    if (this.#follows) {
      // Looking for programs may ask the login shell, which takes as long as the person's profile does.
      this.#backgroundTasks.run('programs', this.#findStartable());
      this.#news.adopted(this.#sight?.servers ?? []);
      this.#beginRounds();
    } else if (this.#parts.hears) {
      await this.#hear();
    } else if (mode === 'read') {
      await this.settle();
    }
  }

  /** A look that began after this call, judged and published. */
  refresh(): Promise<void> {
    return this.#rounds.ask();
  }

  /** Looks again until no standing hangs on more watching, or the time for that is up. */
  async settle(): Promise<void> {
    const until = performance.now() + SETTLE_MS;
    await this.#monitor.answered();
    for (;;) {
      await this.refresh();
      await this.#monitor.answered();
      if (this.#sight !== null) this.#accept(await this.#monitor.rejudge(this.#sight));
      if (!(this.#sight?.servers ?? []).some(isUndecided) || performance.now() > until) return;
      await new Promise((resolve) => setTimeout(resolve, SETTLE_EVERY_MS));
    }
  }

  /** Waits until every server that answers has told of its sessions, or the time for that is up. */
  async #hear(): Promise<void> {
    const until = performance.now() + HEAR_MS;
    let read = false;
    void this.#sessions.readFiles().then(() => {
      read = true;
    });
    const waits = (sight: JudgedLook): boolean => !read || !this.#monitor.sessionsReady(sight);
    while (this.#sight !== null && waits(this.#sight) && performance.now() < until) {
      await new Promise((resolve) => setTimeout(resolve, HEAR_EVERY_MS));
    }
    if (this.#sight !== null) this.#accept(await this.#monitor.rejudge(this.#sight));
    // Sessions whose server is gone have ended by then.
    await this.#observing;
  }

  async #freshLook(): Promise<JudgedLook> {
    await this.refresh();
    if (this.#problem !== null || this.#sight === null) {
      const message = `Nothing was done, because ${this.#parts.host.name} could not be looked at: ${this.#problem ?? 'no look has succeeded yet'}`;
      throw new ActFailed('no-look', message, 'Try again after the next look.');
    }
    return this.#sight;
  }

  async #see(): Promise<void> {
    try {
      const [sight, machine] = await Promise.all([this.#monitor.observe(), this.#parts.host.machine()]);
      this.#machine = machine;
      this.#problem = null;
      if (this.#parts.mode !== 'read') this.#recordsProblem = await this.#parts.store.problem();
      this.#accept(sight);
    } catch (error) {
      // The roll keeps what was last seen, with the time it was seen at, and says why nothing newer is there.
      this.#problem = messageOf(error);
      this.#publish();
    }
  }

  #accept(sight: JudgedLook): void {
    if (this.#closed) return;
    this.#sight = sight;
    const missing = this.#lives.observe(sight);
    this.#observeSessions(sight);
    // A guard ends what has lost its owner, and a command does what it was told.
    if (this.#parts.mode === 'app' && !this.#closing) this.#idle.observe(sight.servers);
    this.#publish();
    if (!this.#follows) return;
    this.#parts.guard?.update(this.supervised());
    if (!this.#closing) this.#backgroundTasks.run('records', this.#acts.keepRecords(missing, sight));
    this.#news.leaked(sight.servers);
    this.#watch();
    this.#keepPages(sight);
    if (!this.#closing) this.#backgroundTasks.run('owners', this.#acts.endOwnerless(sight));
    this.#remember();
  }

  /** Whose exits are told: servers, their owners, and what servers of ours are bound to. */
  #watch(): void {
    if (!this.#follows || this.#closed) return;
    const { servers } = this.#sight ?? { servers: [] };
    const running = this.#lives.running();
    this.#watches.set([
      ...servers.flatMap(({ roots }) => roots.map(refOf)),
      ...servers.flatMap(({ owner }) => (owner === null ? [] : [refOf(owner)])),
      ...running.map(({ ref }) => ref),
      ...running.flatMap(({ record }) => (record.owner === null ? [] : [record.owner.ref])),
      ...this.#sessions.carriersByFiles(),
    ]);
  }

  /** A page for each server of ours: a person opens those. */
  #keepPages({ servers }: JudgedLook): void {
    const { host } = this.#parts;
    const ours = servers.flatMap(({ record, endpoint }) => (record === null || endpoint === null ? [] : [endpoint]));
    host.keepPages(ours);
  }

  #remember(): void {
    const { memory, memoryFile } = this.#parts;
    const now = performance.now();
    memory.forget(now - FORGET_MS);
    const text = memory.text(now);
    if (text === null || memoryFile === null) return;
    const writing = atomicWrite(memoryFile, text).catch((error: unknown) => {
      memory.unwritten();
      throw error;
    });
    this.#remembering = writing.catch(() => undefined);
    this.#backgroundTasks.run('memory', writing);
  }

  /** The way to a listener has opened or closed. */
  reached(): void {
    this.#readings();
  }

  /** A look that is under way judges anyway. */
  #judgeAgain(): void {
    const sight = this.#sight;
    if (sight === null || this.#rounds.underWay) return;
    const judging = this.#monitor.rejudge(sight).then((judged) => this.#accept(judged));
    this.#backgroundTasks.run('judging', judging);
  }

  #onExit(ref: ProcessRef, status: ExitStatus | null): void {
    if (this.#closing) return;
    this.#sessions.exited(ref.identity, status);
    const nonce = this.#lives.nonceOf(ref.identity);
    if (nonce === null) this.#news.wrapperExited(ref.identity, status, this.#sight?.servers ?? [], this.#lives);
    else this.#backgroundTasks.run('recovery', this.#acts.exited(nonce, status));
    this.#backgroundTasks.run('looking', this.refresh());
  }

  #hearAgain(): void {
    if (this.#sight === null) return;
    this.#observeSessions(this.#sight);
    this.#publish();
  }

  /** What has ended is published when whoever is missing has been asked after. */
  #observeSessions(sight: JudgedLook): void {
    const told = this.#monitor.reports(sight, this.#sessions.toldByFiles);
    const observing = this.#sessions.observe(sight, told).then((changed) => {
      if (changed) this.#publish();
    });
    this.#observing = observing.catch(() => undefined);
    this.#backgroundTasks.run('sessions', observing);
  }

  async #onSettings(): Promise<void> {
    this.#outdated.reset();
    await this.refresh();
    if (this.#follows) await this.#findStartable();
  }

  async #findStartable(): Promise<void> {
    this.#startable = await this.#parts.settings.startable(this.#parts.finder);
    this.#outdated.reset();
    this.#publish();
  }

  #beginRounds(): void {
    const { reachable, lookEverySeconds } = this.#parts;
    this.#rounds.begin(
      () => lookEverySeconds() * (this.#watched() ? 1 : UNWATCHED) * 1000,
      () => !reachable(),
      (round) => this.#backgroundTasks.run('looking', round),
    );
  }

  #snapshot(): HostSnapshot {
    const { host } = this.#parts;
    return snapshotHost({
      host,
      look: this.#sight?.look ?? null,
      problem: this.#problem,
      machine: this.#machine,
      judged: this.#sight ?? { servers: [], leftovers: [] },
      sessions: this.#sessions.rows,
      withSessions: (row) => this.#sessions.withSessions(row),
      ended: this.#lives.ended(),
      // The exit of one that is thought to run may just not have been seen to yet.
      swept: new Set([...this.#acts.sweptPids, ...this.#lives.running().map(({ ref }) => ref.identity.pid)]),
      lifeOf: (record) => this.#lifeOf(record),
      records: [...(this.#sight?.records.stale ?? []), ...this.#moved],
      tasks: this.#tasks.list,
      faults: faultsOf({
        host: host.name,
        look: this.#problem,
        audit: null,
        records: this.#recordsProblem,
        aside: this.#backgroundTasks.problem ?? this.#sessions.problem,
        guard: this.#guardProblem(),
        unproved: this.#sight?.look.unproved ?? [],
      }),
    });
  }

  #lifeOf(record: ServerRecord): LifeFacts {
    return {
      state: this.#lives.state(record.nonce),
      outdated: this.#outdated.of(record),
      idleMinutes: this.#idle.minutesOf(record),
      idleStopAt: this.#idle.stopAtOf(record),
    };
  }

  #guardProblem(): { why: string; unguarded: number } | null {
    const why = this.#parts.guard?.problem ?? null;
    if (why === null) return null;
    const ends = this.#parts.settings.config.quit.stopLocalServers;
    return { why, unguarded: ends ? this.supervised().filter(({ record }) => !record.keepRunning).length : 0 };
  }

  supervised(): readonly Supervised[] {
    return supervisedOf(this.#sight, this.#lives, this.#parts.store);
  }

  #publish(): void {
    if (this.#closed) return;
    this.#part = this.#snapshot();
    this.#onPart();
  }

  async run(command: Command, by: Actor): Promise<CommandResult> {
    try {
      if (this.settlesFirst && command.command === 'reap') await this.settle();
      const result = await this.#acts.run(command, by);
      // On another host the first look comes with the command.
      if (command.command === 'look' && this.#parts.hears) await this.#hear();
      return result;
    } catch (error) {
      return failed(failureOf(error));
    }
  }

  /** A command's own supervisor has watched nothing before: it waits until every standing is decided, for `SETTLE_MS`. */
  get settlesFirst(): boolean {
    return this.#parts.mode === 'act';
  }

  async plan(targets: 'leaked' | readonly string[]): Promise<Plan> {
    if (this.settlesFirst) await this.settle();
    const judged = await this.#freshLook();
    if (targets === 'leaked') return planOf(leakedTargets(judged));
    return planOf(targets.map((id) => targetById(judged, id)).filter((target) => target !== null));
  }

  async explain(target: string): Promise<Explanation> {
    return explainTarget(target, this.#sight, this.#parts.host);
  }

  async readLog(server: string): Promise<LogText> {
    const running = this.#sight?.servers.find(({ row }) => row.id === server)?.record?.record;
    const ended = this.#lives.ended().find(({ nonce }) => nonce === server);
    const path = running?.logPath ?? ended?.logPath ?? null;
    if (path === null) return { path: null, text: '', truncated: false };
    return { path, ...(await this.#parts.host.tail(path, LOG_LIMIT_BYTES)) };
  }

  /** Ends what is not kept running, within the deadline in milliseconds. What ends by itself afterwards is not told. */
  async quit(stopServers: boolean, deadlineMs: number): Promise<QuitReport> {
    if (this.#closing) return { stopped: 0, leftRunning: 0, failed: [] };
    this.#closing = true;
    this.#rounds.end();
    return this.#acts.quit(stopServers, deadlineMs);
  }

  /** Lets go of everything. After it nothing is signalled, looked at or published. */
  async close(): Promise<void> {
    await this.quit(false, 0);
    this.#closed = true;
    this.#unfollow();
    this.#readings.stop();
    this.#reports.stop();
    this.#sessions.close();
    this.#watches.close();
    this.#monitor.close();
    await this.#rounds.over();
    // The lock is let go of next, and then the file is another's.
    await this.#remembering;
    await this.#parts.host.close();
  }
}
