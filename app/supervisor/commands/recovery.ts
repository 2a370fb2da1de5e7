/**
 * Carries out what the state machine says of a server that went away unasked: tells of it, ends what is left of it
 * through the one teardown, and starts it again when its time comes. Decides nothing itself.
 */
import type { ExitStatus, ProcessInfo } from '../../hosts/host.ts';
import { RecordStuck } from '../../records/store.ts';
import type { CommandResult } from '../../roll/commands.ts';
import { ActFailed, done, failureOf } from '../failure.ts';
import { exitWords } from '../lifecycle/lifecycle.ts';
import type { TrackedServer } from '../lifecycle/server-registry.ts';
import { survivorsOf } from '../terminate/survivors.ts';
import { type TerminationResult, terminateTree } from '../terminate/terminate.ts';
import type { CommandContext } from './command-context.ts';
import type { StartRequest } from './start-handler.ts';

/** Looks that may still find something left before the account is closed. */
const SWEEPS = 3;

/** Failures that another try could not mend. */
const FINAL: ReadonlySet<string> = new Set([
  'port-taken',
  'runs-already',
  'no-folder',
  'not-startable',
  'not-found',
  'unknown-kind',
  'no-owner',
  'quitting',
]);

export class Recovery {
  readonly #parts: CommandContext;
  readonly #start: (wish: StartRequest, by: string) => Promise<CommandResult>;
  readonly #abort: AbortSignal;
  readonly #timers = new Map<string, NodeJS.Timeout>();
  readonly #sweeps = new Set<Promise<void>>();
  /** By nonce, the PID of each server that is gone: from before the roll can say so until everything of it is ended. */
  readonly #swept = new Map<string, number>();
  /** Restarts under way, by the nonce of the one that went away: a second wish settles on the first. */
  readonly #restarts = new Map<string, Promise<CommandResult>>();
  #closed = false;

  /** @param abort fires when this process lets go of the writer's lock: nothing is signalled after that */
  constructor(
    parts: CommandContext,
    start: (wish: StartRequest, by: string) => Promise<CommandResult>,
    abort: AbortSignal,
  ) {
    this.#parts = parts;
    this.#start = start;
    this.#abort = abort;
  }

  /** PIDs of servers that are gone and being swept after: what they left behind is no news for anybody. */
  get sweptPids(): ReadonlySet<number> {
    return new Set(this.#swept.values());
  }

  /** A server of ours is gone. Resolves when what follows from that is done; a restart comes later by itself. */
  async exited(nonce: string, status: ExitStatus | null): Promise<void> {
    const { lives } = this.#parts;
    const known = lives.tracked(nonce);
    if (known === null || this.#swept.has(nonce)) return;
    // What it left behind is swept after from this moment; the change of its state is published at once.
    this.#swept.set(nonce, known.ref.identity.pid);
    try {
      if (lives.note(nonce, { type: 'exited', status }) !== 'sweep') return;
      const sweep = this.#account(nonce, known, status);
      this.#sweeps.add(sweep);
      await sweep.finally(() => this.#sweeps.delete(sweep));
    } finally {
      this.#swept.delete(nonce);
    }
    if (lives.state(nonce) === 'stopped') await this.#settle(nonce);
    else this.#schedule(nonce);
  }

  async #account(nonce: string, known: TrackedServer, status: ExitStatus | null): Promise<void> {
    const { lives, audit } = this.#parts;
    const why = lives.lifecycle(nonce)?.why ?? exitWords(status);
    const { pid } = known.ref.identity;
    const asked = lives.state(nonce) === 'stopped';
    const how = asked ? 'has ended at last, as it was asked to' : 'ended unexpectedly';
    audit.note({
      event: asked ? 'stopped' : 'exited',
      by: this.#parts.self,
      host: known.host,
      pid,
      identity: known.ref.identity,
      subject: known.label,
      text: `${known.label}, PID ${pid}, ${how}: ${why}`,
    });
    await this.#sweep(known);
  }

  /** Starts one that went away again, now: its time has come, or a person asked. */
  startAgain(nonce: string, by: 'policy' | 'person', actor: string): Promise<CommandResult> {
    const running = this.#restarts.get(nonce);
    if (running !== undefined) return running;
    const restarting = this.#startAgain(nonce, by, actor).finally(() => this.#restarts.delete(nonce));
    this.#restarts.set(nonce, restarting);
    return restarting;
  }

  async #startAgain(nonce: string, by: 'policy' | 'person', actor: string): Promise<CommandResult> {
    const { lives } = this.#parts;
    this.#cancel(nonce);
    const known = lives.tracked(nonce);
    if (known === null || lives.note(nonce, { type: 'due', by }) !== 'restart') {
      throw new ActFailed('not-ended', `No server that ended has the number ${nonce}.`, 'Look at the list once more.');
    }
    const result = await this.#restart(known, lives.lifecycle(nonce)?.attempt ?? 0, actor);
    // One that was ready and went away since has a life, and an entry, of its own.
    if (result.ok || result.failure.code === 'vanished') await this.#settle(nonce);
    else {
      const { message, remedy, code } = result.failure;
      const why = `it could not be started again: ${[message, remedy].filter((part) => part !== '').join(' ')}`;
      lives.note(nonce, { type: 'start-failed', why, final: FINAL.has(code) });
      this.#schedule(nonce);
    }
    return result;
  }

  /** A start of a person's takes the place of whatever of the same kind and folder went away. */
  async settledBy(result: CommandResult): Promise<CommandResult> {
    if (!result.ok || result.server === null) return result;
    const { lives } = this.#parts;
    const running = lives.running().find(({ ref }) => ref.identity.pid === result.server?.pid)?.record;
    for (const { nonce, kind, directory, state } of lives.ended()) {
      if (state === 'planned' || kind !== running?.kind || directory !== running.directory) continue;
      this.#cancel(nonce);
      await this.#settle(nonce);
    }
    return result;
  }

  /** Takes one that went away off the list: no restart, and its record goes. */
  async forget(nonce: string): Promise<CommandResult> {
    const { lives } = this.#parts;
    const state = lives.state(nonce);
    if (state !== 'lost' && state !== 'failed') {
      throw new ActFailed('not-ended', `No server that ended has the number ${nonce}.`, 'Look at the list once more.');
    }
    const label = lives.tracked(nonce)?.label ?? 'The server';
    this.#cancel(nonce);
    await this.#settle(nonce);
    return done(`${label} was taken off the list.`);
  }

  /** Cancels every restart to come and awaits the sweeps under way. */
  async close(): Promise<void> {
    this.#closed = true;
    for (const nonce of [...this.#timers.keys()]) this.#cancel(nonce);
    await Promise.allSettled([...this.#sweeps]);
  }

  /** It is proved gone, so its record says nothing any more. */
  async #settle(nonce: string): Promise<void> {
    this.#parts.lives.forget(nonce);
    try {
      await this.#parts.store.remove(nonce);
    } catch (error) {
      if (!(error instanceof RecordStuck)) throw error;
      // It is listed as stale from now on, and can be moved aside when the folder can be written again.
      this.#parts.problem(error);
    }
  }

  #cancel(nonce: string): void {
    clearTimeout(this.#timers.get(nonce));
    this.#timers.delete(nonce);
  }

  #schedule(nonce: string): void {
    const retryAt = this.#parts.lives.lifecycle(nonce)?.retryAt ?? null;
    if (retryAt === null || this.#closed) return;
    const timer = setTimeout(
      () => {
        this.#timers.delete(nonce);
        // A failure is in the machine's state and in the roll by then.
        this.startAgain(nonce, 'policy', 'app').catch((error: unknown) => this.#parts.problem(error));
      },
      Math.max(0, retryAt - performance.now()),
    );
    this.#timers.set(nonce, timer);
  }

  async #restart(known: TrackedServer, attempt: number, by: string): Promise<CommandResult> {
    const { kind, directory, keepRunning, owner, port, listening } = known.record;
    const wish = { kind, directory, keepRunning, owner, attempt, replaces: known.record.nonce };
    try {
      if (owner !== null && (await this.#parts.host.verify(owner.ref)).verdict !== 'same') {
        const who = `${owner.label}, PID ${owner.ref.identity.pid}, for whom it ran, is gone.`;
        throw new ActFailed('no-owner', `${known.label} was not started again: ${who}`, '');
      }
      const before = listening?.port ?? port;
      const result = await this.#start({ ...wish, port: before }, by);
      // Nobody asked for this very port, so another one is better than none.
      if (!result.ok && result.failure.code === 'port-taken' && port === null)
        return await this.#start({ ...wish, port: null }, by);
      return result;
    } catch (error) {
      return { ok: false, failure: failureOf(error), results: [] };
    }
  }

  /**
   * Ends what is left of it, and looks again until there is nothing more: what a child has started in its last moment
   * turns up only when that child is gone. That something could not be ended is told; the server is gone in any case.
   */
  async #sweep(known: TrackedServer): Promise<void> {
    const { monitor, uid } = this.#parts;
    for (let round = 0; round < SWEEPS && !this.#abort.aborted; round += 1) {
      const look = await monitor.look(known.processes.map(({ pid }) => pid));
      const roots = survivorsOf({
        look,
        nonce: known.record.nonce,
        server: known.ref.identity,
        processes: known.processes,
        uid,
      });
      if (roots.length === 0) break;
      const endings = roots.map((root) => this.#end(root, known));
      for (const ending of await Promise.allSettled(endings)) {
        if (ending.status === 'rejected') this.#parts.problem(ending.reason);
        else if (ending.value.outcome !== 'gone') this.#tell(known, ending.value.message);
      }
    }
    // What the last look showed of them is over; a look that fails says so itself.
    await this.#parts.freshLook().catch(() => undefined);
  }

  /** Something of it stays; the row of a leftover, where it has a mark, shows it from now on. */
  #tell({ label, host }: TrackedServer, text: string): void {
    const { audit, self } = this.#parts;
    audit.note({ event: 'stop-failed', by: self, host, subject: label, text });
    this.#parts.problem(new Error(text));
  }

  #end(root: ProcessInfo, { label }: TrackedServer): Promise<TerminationResult> {
    const { monitor, host, audit, uid } = this.#parts;
    return terminateTree(
      { label: `what is left of ${label}`, roots: [root], kind: null, endpoint: null, ports: [] },
      {
        host,
        look: (trees) => monitor.look(trees),
        audit,
        by: this.#parts.self,
        uid,
        abort: this.#abort,
        budgetMs: null,
        comeBackMs: 0,
        progress: () => undefined,
      },
    );
  }
}
