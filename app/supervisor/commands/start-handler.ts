/** The start command: one server per kind, folder and port, however often it is asked for. */
import { randomUUID } from 'node:crypto';
import { isFinished, refOf } from '../../hosts/process-info.ts';
import type { ServerRecord } from '../../records/schema.ts';
import { RecordChanged } from '../../records/store.ts';
import type { Command, CommandResult } from '../../roll/commands.ts';
import type { RecordEntry, Server } from '../../roll/schema.ts';
import type { Endpoint, Kind } from '../../servers/kind.ts';
import { rowName } from '../../text/words.ts';
import { ActFailed, failed, failureOf } from '../failure.ts';
import { startServer } from '../lifecycle/starter.ts';
import { ownerLabel } from '../standing/owner-label.ts';
import type { CommandContext } from './command-context.ts';
import { moveAside } from './record-commands.ts';

/** How long a tunnel may take to open, in milliseconds. */
const PAGE_MS = 3000;
/** How long an unknown verdict gets before its record is moved aside for a start, in milliseconds. */
const RETRY_UNKNOWN_MS = 200;

type StartCommand = Extract<Command, { command: 'start' }>;
type Owner = ServerRecord['owner'];

/** A start as it is carried out: the owner by identity, no longer by number. */
export interface StartRequest extends Omit<StartCommand, 'command' | 'forPid'> {
  readonly owner: Owner;
  /** Automatic restarts in a row that led to this start; 0 for a person's. */
  readonly attempt: number;
  /** Nonce of the server that this start brings back: it is gone and swept, and its record goes. */
  readonly replaces: string | null;
}

export class StartHandler {
  readonly #parts: CommandContext;
  readonly #abort: AbortSignal;
  /** Starts under way by kind, folder, port and owner: a second one of the same settles on the first. */
  readonly #running = new Map<string, Promise<CommandResult>>();

  /** @param abort fires when this process is about to let go of everything */
  constructor(parts: CommandContext, abort: AbortSignal) {
    this.#parts = parts;
    this.#abort = abort;
  }

  /** Resolves when no start is under way any more. */
  async settled(): Promise<void> {
    await Promise.allSettled([...this.#running.values()]);
  }

  /** @throws ActFailed when the owner is no running process */
  async fromCommand(command: StartCommand, by: string): Promise<CommandResult> {
    const owner = command.forPid === null ? null : await this.#owner(command.forPid);
    return this.start({ ...command, owner, attempt: 0, replaces: null }, by);
  }

  /** @throws ActFailed when this process is quitting: nobody would see to what came of it */
  async start(wish: StartRequest, by: string): Promise<CommandResult> {
    if (this.#abort.aborted) throw quitting(wish.kind);
    const directory = await this.#canonical(wish.directory);
    const key = [wish.kind, directory, wish.port ?? '', wish.owner?.ref.identity.pid ?? ''].join('\n');
    const running = this.#running.get(key);
    if (running !== undefined) return running;
    const starting = this.#alone({ ...wish, directory }, by).finally(() => this.#running.delete(key));
    this.#running.set(key, starting);
    return starting;
  }

  /** No other Rollcall starts anything as this account on that machine meanwhile, so that two wishes settle on one. */
  async #alone(wish: StartRequest, by: string): Promise<CommandResult> {
    const release = await this.#parts.host.startLock(randomUUID(), this.#abort).catch((error: unknown) => {
      throw this.#abort.aborted ? quitting(wish.kind) : error;
    });
    try {
      return await this.#startOnce(wish, by);
    } finally {
      await release();
    }
  }

  async #startOnce(wish: StartRequest, by: string): Promise<CommandResult> {
    const { settings, tasks, monitor, freshLook } = this.#parts;
    const kind = settings.kindOf(wish.kind);
    if (kind === null) {
      const message = `${wish.kind} is no kind of server that Rollcall knows.`;
      throw new ActFailed('unknown-kind', message, 'Name one of those that the start dialog offers.');
    }
    const existing = await this.#existing(wish);
    if (existing !== null) return started(existing, `${rowName(existing)} runs already, PID ${existing.pid}.`);
    // The record of the one it brings back has said what it had to say; others are moved aside.
    if (wish.replaces !== null) await this.#parts.store.remove(wish.replaces);
    await this.#clearTheWay(wish, by);
    const task = tasks.begin('start', `Starting ${wish.kind} in ${wish.directory}`, [{ id: null, label: wish.kind }]);
    try {
      const ready = await startServer(
        { ...wish, kind },
        {
          ...this.#parts,
          writer: await this.#parts.writer(),
          look: (trees) => monitor.look(trees),
          by,
          abort: this.#abort,
          progress: (message) => task.row(0, message),
          serverAt: (pid) => this.#parts.lastLook()?.servers.find(({ row }) => row.pids.includes(pid))?.row ?? null,
        },
      );
      const { servers } = await freshLook();
      const row = servers.find(({ roots }) => roots.some(({ pid }) => pid === ready.leader.pid))?.row;
      const url = await this.#pageOf(kind, ready.endpoint);
      const at = `${wish.kind} :${ready.endpoint.port} on ${this.#parts.host.name}`;
      const message = `${at} is ready, PID ${ready.leader.pid}${url === null ? '' : `, ${url}`}.`;
      if (row === undefined)
        throw new ActFailed('vanished', `${at} was ready and has ended since.`, 'The log shows what it said.');
      task.end('done', message);
      return started({ ...row, url }, message);
    } catch (error) {
      const failure = failureOf(error);
      task.end('failed', [failure.message, failure.remedy].filter((part) => part !== '').join(' '));
      return failed(failure);
    }
  }

  /** Its page on this machine; of one on another host the tunnel opens a moment later. */
  async #pageOf(kind: Kind, endpoint: Endpoint): Promise<string | null> {
    const { host } = this.#parts;
    host.keepPages(this.#endpoints(endpoint));
    for (const until = performance.now() + PAGE_MS; ; ) {
      const page = host.page(endpoint);
      if (page !== null) return kind.pageUrl(page.address, page.port);
      if (performance.now() > until) return null;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  #endpoints(added: Endpoint): Endpoint[] {
    const servers = this.#parts.lastLook()?.servers ?? [];
    return [
      added,
      ...servers.flatMap(({ record, endpoint }) => (record === null || endpoint === null ? [] : [endpoint])),
    ];
  }

  /** @throws ActFailed when one runs that is bound to somebody else */
  async #existing(wish: StartRequest): Promise<Server | null> {
    const { servers } = await this.#parts.freshLook();
    const here = await this.#alike(
      wish.directory,
      servers.flatMap(({ record }) => (record === null ? [] : [record.record.directory])),
    );
    const found = servers.find(({ record, row }) => {
      if (record === null || record.record.kind !== wish.kind) return false;
      if (!here.has(record.record.directory)) return false;
      return wish.port === null || row.listening.some(({ port }) => port === wish.port);
    });
    if (found === undefined) return null;
    const bound = found.record?.record.owner ?? null;
    if (wish.owner !== null && bound?.ref.identity.startTime !== wish.owner.ref.identity.startTime) {
      const message = `${rowName(found.row)} runs already, and not for ${wish.owner.label}, PID ${wish.owner.ref.identity.pid}.`;
      throw new ActFailed('runs-already', message, 'Use that one, stop it first, or choose another port.');
    }
    return found.row;
  }

  /** Own records of the same server that are not `same`, after one retry where unknown, are moved aside (rule 4.12). */
  async #clearTheWay(wish: StartRequest, by: string): Promise<void> {
    const staleOf = async (records: readonly RecordEntry[]): Promise<RecordEntry[]> => {
      const ofKind = records.filter(({ kind }) => kind === wish.kind);
      const here = await this.#alike(
        wish.directory,
        ofKind.flatMap(({ directory }) => directory ?? []),
      );
      return ofKind.filter(({ directory }) => directory !== null && here.has(directory));
    };
    let stale = await staleOf(this.#parts.lastLook()?.records.stale ?? []);
    if (stale.some(({ verdict }) => verdict === 'unknown')) {
      await new Promise((resolve) => setTimeout(resolve, RETRY_UNKNOWN_MS));
      stale = await staleOf((await this.#parts.freshLook()).records.stale);
    }
    for (const entry of stale) {
      if (entry.verdict === 'foreign' || entry.sha256 === '') continue;
      try {
        await moveAside(entry, by, this.#parts);
      } catch (error) {
        if (!(error instanceof RecordChanged)) throw error;
        // Somebody has just written it anew; it is not the stale one any more and stays.
      }
    }
  }

  /** The folder itself, whatever links lead to it; as given where it does not exist: the start says so in its own words. */
  async #canonical(directory: string): Promise<string> {
    const folder = await this.#parts.host.folder(directory);
    return folder.found ? folder.path : directory;
  }

  /** Those of the folders that are this one; asked of the host only where the text does not tell. */
  async #alike(directory: string, folders: readonly string[]): Promise<ReadonlySet<string>> {
    const alike = new Set<string>();
    for (const folder of new Set(folders)) {
      if (folder === directory || (await this.#canonical(folder)) === directory) alike.add(folder);
    }
    return alike;
  }

  async #owner(pid: number): Promise<NonNullable<Owner>> {
    const info = await this.#parts.host.inspect(pid);
    if (info === null || isFinished(info)) {
      throw new ActFailed('no-owner', `No running process has PID ${pid}.`, 'Name one that runs, or leave out --for.');
    }
    return { label: ownerLabel(info), ref: refOf(info) };
  }
}

function quitting(kind: string): ActFailed {
  return new ActFailed('quitting', `${kind} was not started: Rollcall is quitting.`, 'Start it again.');
}

function started(row: Server, message: string): CommandResult {
  return { ok: true, message, server: { id: row.id, pid: row.pid, url: row.url }, results: [] };
}
