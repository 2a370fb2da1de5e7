/** Commands and what follows from them. Everything that starts or ends a process passes through here. */
import { realpathSync } from 'node:fs';
import type { Host, Look, ProcessInfo } from '../hosts/host.ts';
import type { ProcessRef } from '../identity/identity.ts';
import { RecordChanged, type RecordStore } from '../records/store.ts';
import type { Command, CommandResult } from '../roll/commands.ts';
import type { ReapResult, RecordEntry, Server } from '../roll/schema.ts';
import { rowName, serverLabel } from '../roll/words.ts';
import type { Audit } from './audit.ts';
import type { Actor, QuitReport } from './core.ts';
import type { EndResult } from './ender.ts';
import { ActFailed, done, failed, failureOf } from './failure.ts';
import { refOf } from './members.ts';
import type { Observatory, Sight } from './observatory.ts';
import { type ReapDependencies, reap, summary } from './reaper.ts';
import type { JudgedServer } from './roster.ts';
import type { SettingsSource } from './settings.ts';
import { type StartOrder, startServer } from './starter.ts';
import { leakedTargets, serverTarget, type Target, targetById } from './targets.ts';
import type { Tasks } from './tasks.ts';

/** How long an unknown verdict gets before its record is moved aside for a start, in milliseconds. */
const RETRY_UNKNOWN_MS = 200;
/** Rows that were ended in this run, so that a second reap of one is a quiet no-op. */
const REMEMBER_ENDED = 1000;

export interface ActsParts {
  readonly host: Host;
  readonly store: RecordStore;
  readonly audit: Audit;
  readonly settings: SettingsSource;
  readonly paths: { readonly logsDir: string };
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly tasks: Tasks;
  readonly pending: Set<string>;
  readonly observatory: Observatory;
  readonly refresh: () => Promise<void>;
  readonly sight: () => Sight | null;
}

type StartCommand = Extract<Command, { command: 'start' }>;
type ReapCommand = Extract<Command, { command: 'reap' }>;

export class Acts {
  readonly #parts: ActsParts;
  readonly #ending = new Map<string, Promise<EndResult>>();
  readonly #ended = new Map<string, string>();
  /** Starts under way by kind, folder and port: a second one of the same settles on the first. */
  readonly #starting = new Map<string, Promise<CommandResult>>();
  #self: ProcessRef | null = null;

  constructor(parts: ActsParts) {
    this.#parts = parts;
  }

  isEnding(id: string): boolean {
    return this.#ending.has(id);
  }

  async run(command: Command, by: Actor): Promise<CommandResult> {
    switch (command.command) {
      case 'look':
        await this.#parts.refresh();
        return done('Looked at local.');
      case 'start':
        return this.#start(command, by);
      case 'stop':
        return this.#stop(command.server, command.force, by, 'stop');
      case 'restart':
        return this.#restart(command.server, command.force, by);
      case 'reap':
        return this.#reap(command, by);
      case 'clear':
        return this.#clear(command.path, command.sha256, by);
      case 'keep-running':
        return this.#keepRunning(command.server, command.keepRunning);
      case 'dismiss':
        this.#parts.tasks.dismiss(command.task);
        return done('');
    }
  }

  #server(id: string): JudgedServer {
    const server = this.#parts.sight()?.servers.find(({ row }) => row.id === id);
    if (server !== undefined) return server;
    const known = this.#ended.get(id);
    throw new ActFailed(
      'not-found',
      known === undefined ? `No server has the id ${id}.` : `${known} is gone already.`,
      'Look again; the list shows what runs now.',
    );
  }

  #dependencies(): ReapDependencies {
    const { host, store, audit, tasks, observatory } = this.#parts;
    return {
      host,
      store,
      audit,
      tasks,
      ending: this.#ending,
      look: (include) => observatory.look(include),
      stopAt: (target) => this.#stopAt(target),
    };
  }

  /** Other servers, what stays on purpose and what belongs to another user are none of a target's business. */
  #stopAt(target: Target): (info: ProcessInfo, look: Look) => boolean {
    const uid = process.getuid?.() ?? null;
    return (info, look) => {
      if (uid !== null && info.uid !== uid) return true;
      if (info.ignoresHangup === true) return true;
      const candidate = look.candidates.find(({ pid }) => pid === info.pid);
      if (candidate === undefined) return false;
      // An MCP helper under a live server is part of it; any other server has a standing of its own.
      return !(candidate.recognition.helper && target.type === 'server');
    };
  }

  async #reap({ targets, confirmed, force }: ReapCommand, by: Actor): Promise<CommandResult> {
    await this.#parts.refresh();
    const sight = this.#parts.sight();
    if (sight === null)
      throw new ActFailed(
        'no-look',
        'The processes of local could not be looked at.',
        'Try again after the next look.',
      );
    if (targets === 'leaked') {
      const leaked = leakedTargets(sight);
      if (leaked.length === 0) return done('Nothing is leaked; nothing was signalled.');
      return this.#reapTargets(leaked, [], { by, confirmed, force });
    }
    const found: Target[] = [];
    const results: ReapResult[] = [];
    for (const id of new Set(targets)) {
      const target = targetById(sight, id);
      if (target !== null) found.push(target);
      else results.push(this.#absent(id));
    }
    return this.#reapTargets(found, results, { by, confirmed, force });
  }

  #absent(id: string): ReapResult {
    const label = this.#ended.get(id) ?? `The row ${id}`;
    const message = `${label} was already gone; nothing was signalled.`;
    return { pid: 0, id, label, outcome: 'gone', verdict: 'gone', signals: [], message, freedBytes: 0 };
  }

  async #reapTargets(
    targets: readonly Target[],
    before: readonly ReapResult[],
    consent: { by: string; confirmed: boolean; force: boolean },
  ): Promise<CommandResult> {
    const results = [...before, ...(targets.length === 0 ? [] : await reap(targets, consent, this.#dependencies()))];
    this.#noteEnded(targets, results);
    await this.#parts.refresh();
    const bad = results.find(({ outcome }) => outcome !== 'gone');
    if (bad === undefined) return done(summary(results, 'reap'), results);
    const code = bad.outcome === 'refused' ? 'refused' : bad.outcome;
    return failed({ code, message: summary(results, 'reap'), remedy: '', detail: null }, results);
  }

  #noteEnded(targets: readonly Target[], results: readonly ReapResult[]): void {
    for (const { id, label } of targets) {
      if (results.some((result) => result.id === id && result.outcome === 'gone')) this.#ended.set(id, label);
    }
    while (this.#ended.size > REMEMBER_ENDED) {
      const [oldest] = this.#ended.keys();
      if (oldest === undefined) return;
      this.#ended.delete(oldest);
    }
  }

  async #stop(id: string, force: boolean, by: Actor, act: 'stop' | 'restart'): Promise<CommandResult> {
    await this.#parts.refresh();
    const server = this.#server(id);
    const { stop } = server.row;
    if (stop.allowed === 'no' || (stop.allowed !== 'yes' && !force)) {
      const message = `${rowName(server.row)} was not stopped. ${stop.why}`;
      this.#parts.audit.write({
        event: 'refused',
        by,
        pid: server.row.pid,
        subject: rowName(server.row),
        text: message,
      });
      throw new ActFailed(
        'refused',
        message,
        stop.allowed === 'no' ? '' : 'Stop it all the same with an explicit force.',
      );
    }
    const target = serverTarget(server);
    const results = await reap([target], { by, confirmed: true, force: true }, this.#dependencies(), act);
    this.#noteEnded([target], results);
    await this.#parts.refresh();
    const bad = results.find(({ outcome }) => outcome !== 'gone');
    if (bad !== undefined)
      return failed({ code: bad.outcome, message: bad.message, remedy: '', detail: null }, results);
    return done(results[0]?.message ?? '', results);
  }

  async #restart(id: string, force: boolean, by: Actor): Promise<CommandResult> {
    const record = this.#server(id).record?.record;
    const stopped = await this.#stop(id, force, by, 'restart');
    if (!stopped.ok || record === undefined) return stopped;
    return this.#start(
      {
        command: 'start',
        kind: record.kind,
        directory: record.directory,
        port: record.listening?.port ?? record.port,
        forPid: record.owner?.ref.identity.pid ?? null,
        keepRunning: record.keepRunning,
      },
      by,
    );
  }

  #start(command: StartCommand, by: Actor): Promise<CommandResult> {
    const directory = canonical(command.directory);
    const key = `${command.kind}\n${directory}\n${command.port ?? ''}`;
    const running = this.#starting.get(key);
    if (running !== undefined) return running;
    const starting = this.#startOnce({ ...command, directory }, by).finally(() => this.#starting.delete(key));
    this.#starting.set(key, starting);
    return starting;
  }

  async #startOnce(command: StartCommand, by: Actor): Promise<CommandResult> {
    const { settings, tasks } = this.#parts;
    const kind = settings.kindOf(command.kind);
    if (kind === null) {
      throw new ActFailed(
        'unknown-kind',
        `${command.kind} is no kind of server that Rollcall knows.`,
        'Name one of those that `rollcall start --help` lists.',
      );
    }
    await this.#parts.refresh();
    const existing = this.#parts.sight()?.servers.find(({ record, row }) => {
      if (record === null || record.record.kind !== command.kind) return false;
      if (canonical(record.record.directory) !== command.directory) return false;
      return command.port === null || row.listening.some(({ port }) => port === command.port);
    });
    if (existing !== undefined)
      return started(existing.row, `${rowName(existing.row)} runs already, PID ${existing.row.pid}.`);
    await this.#clearTheWay(command, by);
    const task = tasks.begin('start', `Starting ${command.kind} in ${command.directory}`, [
      { id: null, label: command.kind },
    ]);
    try {
      const order: StartOrder = { ...command, kind };
      const ready = await startServer(order, {
        ...this.#parts,
        logsDir: this.#parts.paths.logsDir,
        writer: await this.#writer(),
        look: (include) => this.#parts.observatory.look(include),
        by,
        progress: (message) => task.row(0, message),
      });
      await this.#parts.refresh();
      const row = this.#parts
        .sight()
        ?.servers.find(({ roots }) => roots.some(({ pid }) => pid === ready.leader.pid))?.row;
      const url = kind.pageUrl(ready.endpoint.address, ready.endpoint.port);
      const message = `${command.kind} :${ready.endpoint.port} on local is ready, PID ${ready.leader.pid}${url === null ? '' : `, ${url}`}.`;
      task.end('done', message);
      if (row === undefined)
        throw new ActFailed(
          'vanished',
          `${command.kind} was ready and has ended since.`,
          'The log shows what it said.',
        );
      return started(row, message);
    } catch (error) {
      const failure = failureOf(error);
      task.end('failed', [failure.message, failure.remedy].filter((part) => part !== '').join(' '));
      await this.#parts.refresh();
      return failed(failure);
    }
  }

  /** Own records of the same server that are not `same`, after one retry where unknown, are moved aside (rule 4.12). */
  async #clearTheWay(command: StartCommand, by: Actor): Promise<void> {
    const stale = (): RecordEntry[] =>
      (this.#parts.sight()?.records.stale ?? []).filter(
        (entry) =>
          entry.kind === command.kind && entry.directory !== null && canonical(entry.directory) === command.directory,
      );
    if (stale().some(({ verdict }) => verdict === 'unknown')) {
      await new Promise((resolve) => setTimeout(resolve, RETRY_UNKNOWN_MS));
      await this.#parts.refresh();
    }
    for (const entry of stale()) {
      if (entry.verdict === 'foreign' || entry.sha256 === '') continue;
      this.#moveAside(entry, by);
    }
  }

  #moveAside(entry: RecordEntry, by: Actor): void {
    const { store, audit } = this.#parts;
    const path = store.setAside(entry.path, entry.sha256, Date.now());
    const text = `${entry.path} ${entry.detail}; it was moved aside to ${path}. Nothing was signalled.`;
    audit.write({
      event: 'set-aside',
      by,
      pid: entry.pid,
      verdict: entry.verdict === 'corrupt' ? null : entry.verdict,
      subject: 'record',
      text,
    });
  }

  async #clear(path: string, sha256: string, by: Actor): Promise<CommandResult> {
    await this.#parts.refresh();
    const entry = this.#parts.sight()?.records.stale.find((candidate) => candidate.path === path);
    if (entry === undefined) {
      throw new ActFailed(
        'not-stale',
        `${path} is no stale record.`,
        'The list of records shows what can be moved aside.',
      );
    }
    if (!entry.clearable) throw new ActFailed('kept', entry.keptBecause ?? 'This record is kept.', '');
    if (entry.sha256 !== sha256) throw changed(path);
    try {
      this.#moveAside(entry, by);
    } catch (error) {
      if (error instanceof RecordChanged) throw changed(path);
      throw error;
    }
    await this.#parts.refresh();
    return done('The record was moved aside. Nothing was signalled.');
  }

  async #keepRunning(id: string, keepRunning: boolean): Promise<CommandResult> {
    const server = this.#server(id);
    if (server.record === null)
      throw new ActFailed(
        'not-ours',
        `${rowName(server.row)} was not started by Rollcall.`,
        'Only its own tool decides how long it runs.',
      );
    await this.#parts.store.write({ ...server.record.record, keepRunning });
    await this.#parts.refresh();
    return done(
      keepRunning
        ? `${rowName(server.row)} stays when Rollcall quits.`
        : `${rowName(server.row)} stops when Rollcall quits.`,
    );
  }

  /** Stops servers that are bound to a process which is provably gone. */
  async endOwnerless(sight: Sight): Promise<void> {
    for (const server of sight.servers) {
      const owner = server.record?.record.owner ?? null;
      if (owner === null || this.#ending.has(server.row.id)) continue;
      const { verdict } = await this.#parts.host.verify(owner.ref);
      if (verdict === 'same' || verdict === 'unknown' || verdict === 'foreign' || this.#ending.has(server.row.id))
        continue;
      const text = `${owner.label}, PID ${owner.ref.identity.pid}, is gone; ${rowName(server.row)} was started for it and is stopped`;
      this.#parts.audit.write({ event: 'exited', by: 'app', pid: owner.ref.identity.pid, subject: owner.label, text });
      await reap([serverTarget(server)], { by: 'app', confirmed: true, force: true }, this.#dependencies(), 'stop');
    }
  }

  /** Stops what is not kept running, all at once, within the deadline in milliseconds. */
  async quit(stopServers: boolean, deadlineMs: number): Promise<QuitReport> {
    if (!stopServers) return { stopped: 0, leftRunning: this.#supervised().length, failed: [] };
    await this.#parts.refresh();
    const servers = this.#supervised();
    const stopping = servers.filter(({ record }) => record?.record.keepRunning === false);
    const left = servers.length - stopping.length;
    if (stopping.length === 0) return { stopped: 0, leftRunning: left, failed: [] };
    const ending = reap(
      stopping.map(serverTarget),
      { by: 'app', confirmed: true, force: true },
      this.#dependencies(),
      'stop',
    );
    const late = new Promise<null>((resolve) => {
      setTimeout(() => resolve(null), deadlineMs).unref();
    });
    const results = await Promise.race([ending, late]);
    if (results === null)
      return {
        stopped: 0,
        leftRunning: left,
        failed: stopping.map(({ row }) => `${rowName(row)}: it did not end in time`),
      };
    return {
      stopped: results.filter(({ outcome }) => outcome === 'gone').length,
      leftRunning: left,
      failed: results.filter(({ outcome }) => outcome !== 'gone').map(({ message }) => message),
    };
  }

  #supervised(): JudgedServer[] {
    return (this.#parts.sight()?.servers ?? []).filter(({ record }) => record !== null);
  }

  async #writer(): Promise<ProcessRef> {
    if (this.#self === null) {
      const info = await this.#parts.host.inspect(process.pid);
      if (info === null)
        throw new ActFailed('no-self', 'Rollcall could not read its own process.', 'Check that /proc is mounted.');
      this.#self = refOf(info);
    }
    return this.#self;
  }
}

function changed(path: string): ActFailed {
  return new ActFailed(
    'changed',
    `${path} has changed since it was judged; it was left where it is.`,
    'Look at it again.',
  );
}

function started(row: Server, message: string): CommandResult {
  return {
    ok: true,
    message: message === '' ? serverLabel(row) : message,
    server: { id: row.id, pid: row.pid, url: row.url },
    results: [],
  };
}

/** The folder itself, whatever links lead to it; as given where it does not exist. */
function canonical(directory: string): string {
  try {
    return realpathSync(directory);
  } catch {
    // The start says in its own words that the folder is missing.
    return directory;
  }
}
