import type { ProcessRef } from '../../../identity/identity.ts';
import { messageOf } from '../../../util/errors.ts';
import { SshFailed } from '../../ssh-failed.ts';
import type { SshQuestion } from '../askpass/questions.ts';
import type { ExecResult, Forward, Forwards, RemoteExec } from '../contract.ts';
import { explainClosedAtOnce, isPermanent } from '../diagnostics/explain.ts';
import type { Progress } from '../diagnostics/ssh-log.ts';
import { type AttemptOptions, startMaster } from './attempt.ts';
import { type ConnectionState, pauseBefore } from './connection-state.ts';
import { Forwarding, type PortForward, type Remote } from './forwards.ts';
import type { Master } from './master.ts';
import { disconnected } from './master-failures.ts';
import { Sessions } from './sessions.ts';

/** A living master answers within milliseconds. */
const RESPONDS_MS = 1500;
/** The way to the machine and back, on a bad line. */
const ROUND_TRIP_MS = 5000;
/** One that lasted this long was a connection; attempts after it count anew. */
const LASTED_MS = 10_000;
/** One that is closed within this was not meant to be. */
const CLOSED_AT_ONCE_MS = 1500;

export interface SshConnectionOptions extends AttemptOptions {
  /** The state has changed, or the ssh process has. */
  readonly onChange: (link: SshConnection) => void;
}

export interface ConnectOptions {
  /** True to go on trying after a failure that another attempt may mend, as after a loss. */
  readonly keepTrying?: boolean;
}

interface SshSession {
  readonly master: Master;
  readonly sessions: Sessions;
  readonly forwarding: Forwarding;
  readonly since: number;
}

/**
 * The connection to one account: connects, carries commands and forwards, notices its loss, and comes back by itself
 * for as long as it is wanted.
 */
export class SshConnection implements RemoteExec, Forwards {
  /** The name it was first asked for by. */
  readonly alias: string;
  /** Equal for all aliases that lead to one account by one way. */
  readonly key: string;
  /** `user@machine:port`, as ssh resolved it; the port is left out where it is 22. */
  readonly target: string;
  readonly #options: SshConnectionOptions;
  #state: ConnectionState = { status: 'disconnected' };
  #line: SshSession | null = null;
  #process: ProcessRef | null = null;
  #attempt = 0;
  /** A failure that another attempt may mend is followed by one: it was connected, or is to be as soon as it can be. */
  #keepsTrying = false;
  #closed = false;
  #retry: NodeJS.Timeout | null = null;
  /** The attempt under way. */
  #connecting: { readonly done: Promise<void>; readonly abort: AbortController } | null = null;
  #disconnecting: Promise<void> | null = null;
  #checking: Promise<void> | null = null;

  constructor(options: SshConnectionOptions) {
    this.#options = options;
    this.alias = options.master.resolved.alias;
    this.key = options.master.resolved.key;
    const { user, hostname, port } = options.master.resolved;
    this.target = `${user}@${hostname}${port === 22 ? '' : `:${port}`}`;
  }

  get state(): ConnectionState {
    return this.#state;
  }

  /** The ssh process that runs for it; null when none does. */
  get processRef(): ProcessRef | null {
    return this.#process;
  }

  /**
   * Connects unless it is connected. A failure of a first attempt is final, unless it is to keep trying: the person
   * sees it at once. It is thrown in any case.
   *
   * @throws SshFailed
   */
  async connect({ keepTrying = false }: ConnectOptions = {}): Promise<void> {
    await this.#disconnecting;
    if (this.#closed) throw disconnected(this.alias);
    if (keepTrying) this.#keepsTrying = true;
    if (this.#state.status === 'connected') return;
    this.#clearRetry();
    // One that comes back by itself goes on doing so.
    await (this.#connecting?.done ?? this.#begin(this.#state.status === 'reconnecting' ? this.#attempt : 0));
    const { state } = this;
    if (state.status === 'failed') throw state.error;
    if (state.status === 'reconnecting') throw state.why;
    if (state.status !== 'connected') throw disconnected(this.alias);
  }

  /**
   * Ends the connection and everything that goes through it, and stops coming back. Bounded by about 5 s, and mostly
   * over in milliseconds. Idempotent, never rejects.
   */
  disconnect(): Promise<void> {
    this.#disconnecting ??= this.#disconnect().finally(() => {
      this.#disconnecting = null;
    });
    return this.#disconnecting;
  }

  /** Disconnects for good. Idempotent, never rejects. */
  close(): Promise<void> {
    this.#closed = true;
    return this.disconnect();
  }

  async #disconnect(): Promise<void> {
    this.#clearRetry();
    this.#keepsTrying = false;
    const connecting = this.#connecting;
    connecting?.abort.abort();
    const line = this.#line;
    this.#line = null;
    this.#become({ status: 'disconnected' });
    await Promise.all([line?.master.end(), connecting?.done]);
    this.#become({ status: 'disconnected' });
  }

  /** Tries now what waits for its time, or failed. Does nothing in any other state. */
  retryNow(): void {
    const { status } = this.#state;
    if (status !== 'reconnecting' && status !== 'failed') return;
    if (this.#connecting !== null || this.#disconnecting !== null || this.#closed) return;
    this.#clearRetry();
    void this.#begin(status === 'failed' ? 0 : this.#attempt);
  }

  /**
   * The machine was asleep or the network has changed: a waiting attempt is made now, also after a failure that this
   * may have mended, and a connection that does not answer soon is replaced. Resolves when that is found out.
   */
  async wake(): Promise<void> {
    const state = this.#state;
    if (state.status === 'reconnecting' || (state.status === 'failed' && !isPermanent(state.error))) this.retryNow();
    else if (this.#line !== null) await this.#check();
  }

  async exec(input: string | Buffer, deadlineMs: number): Promise<ExecResult> {
    return this.#usable().sessions.run(input, deadlineMs);
  }

  async socket(remote: Remote): Promise<Forward> {
    return this.#usable().forwarding.socket(remote);
  }

  async port(remote: Remote, preferred: number | null): Promise<PortForward> {
    return this.#usable().forwarding.port(remote, preferred);
  }

  #usable(): SshSession {
    if (this.#line !== null) return this.#line;
    throw new SshFailed(this.alias, 'link', 'not-connected', `${this.alias} is not connected.`, 'Connect it first.');
  }

  #begin(attempt: number): Promise<void> {
    const abort = new AbortController();
    // Begun only once it is known to be under way, since whoever hears of its first step may ask for another.
    const done = Promise.resolve()
      .then(() => this.#try(attempt, abort.signal))
      .finally(() => {
        if (this.#connecting?.abort === abort) this.#connecting = null;
      });
    this.#connecting = { done, abort };
    return done;
  }

  async #try(attempt: number, signal: AbortSignal): Promise<void> {
    this.#attempt = attempt;
    let last: Progress = { step: 'name', text: `Connecting to ${this.alias}` };
    // A master may be found ready before the last of its words is read.
    let over = false;
    const progress = (): void => {
      if (!over && !signal.aborted) this.#become({ status: 'connecting', ...last, attempt });
    };
    const question = (pending: SshQuestion | null): void => {
      if (over || signal.aborted) return;
      if (pending === null) progress();
      else this.#become({ status: 'authenticating', question: pending, attempt });
    };
    progress();
    let master: Master | null;
    try {
      master = await startMaster({
        ...this.#options,
        signal,
        onQuestion: question,
        onProgress: (next) => {
          last = next;
          progress();
        },
        onProcess: (ref) => {
          this.#process = ref;
          this.#options.onChange(this);
        },
      });
    } catch (error) {
      over = true;
      if (!signal.aborted) this.#failed(error, attempt);
      return;
    }
    over = true;
    if (master === null) return;
    if (signal.aborted) return master.end();
    this.#up(master);
  }

  #failed(error: unknown, attempt: number): void {
    const failed = error instanceof SshFailed ? error : unexpected(this.alias, error);
    if (!this.#keepsTrying || isPermanent(failed)) {
      this.#become({ status: 'failed', error: failed });
      return;
    }
    // What could not be reached a moment ago is not tried again without a pause, as what was lost is.
    if (attempt === 0) this.#attempt = 1;
    this.#comeBack(failed);
  }

  #up(master: Master): void {
    const { folder, prefix, master: options } = this.#options;
    const shared = { alias: this.alias, master, folder, prefix, onDeadline: () => void this.#check() };
    const line: SshSession = {
      master,
      sessions: new Sessions({ ...shared, ssh: options.ssh }),
      forwarding: new Forwarding(shared),
      since: performance.now(),
    };
    this.#line = line;
    this.#keepsTrying = true;
    this.#become({ status: 'connected' });
    void master.ended.then((why) => this.#lost(line, why));
  }

  #lost(line: SshSession, why: SshFailed): void {
    if (this.#line !== line) return;
    this.#line = null;
    const lasted = performance.now() - line.since;
    if (lasted > LASTED_MS) this.#attempt = 0;
    this.#comeBack(lasted < CLOSED_AT_ONCE_MS ? explainClosedAtOnce(this.alias, why) : why);
  }

  #comeBack(why: SshFailed): void {
    this.#attempt += 1;
    const attempt = this.#attempt;
    const ms = pauseBefore(attempt);
    const retryAt = { monotonic: performance.now() + ms, wall: Date.now() + ms };
    this.#become({ status: 'reconnecting', attempt, retryAt, why });
    this.#clearRetry();
    this.#retry = setTimeout(() => void this.#begin(attempt), ms);
  }

  /** Replaces the connection unless ssh itself and the machine behind it answer soon. */
  #check(): Promise<void> {
    this.#checking ??= this.#checkLine().finally(() => {
      this.#checking = null;
    });
    return this.#checking;
  }

  async #checkLine(): Promise<void> {
    const line = this.#line;
    if (line === null) return;
    const { master, forwarding } = line;
    const responds = await master.responds(RESPONDS_MS);
    if (responds && (await forwarding.ping(ROUND_TRIP_MS))) return;
    if (this.#line !== line) return;
    await master.kill(stuck(this.alias, responds));
  }

  #clearRetry(): void {
    if (this.#retry !== null) clearTimeout(this.#retry);
    this.#retry = null;
  }

  #become(state: ConnectionState): void {
    if (state.status === 'disconnected' && this.#state.status === 'disconnected') return;
    this.#state = state;
    this.#options.onChange(this);
  }
}

function stuck(alias: string, responds: boolean): SshFailed {
  return new SshFailed(
    alias,
    'link',
    responds ? 'no-answer' : 'stuck-master',
    responds
      ? `${alias} does not answer any more, so its connection was replaced.`
      : `The ssh that led to ${alias} was stuck and was replaced.`,
    'Rollcall connects again by itself.',
  );
}

function unexpected(alias: string, error: unknown): SshFailed {
  const message = messageOf(error);
  return new SshFailed(
    alias,
    'link',
    'unexpected',
    `${alias} could not be connected.`,
    'The reason is shown below. Try again.',
    message,
    error,
  );
}
