/** The `rollcall` command's end of the control socket: the supervisor of the running app, seen from outside. */
import { connect, type Socket } from 'node:net';
import type { z } from 'zod';
import { FrameReader, MalformedFrame } from '../ipc/frames.ts';
import { checkSocketPlace } from '../ipc/socket-path.ts';
import type { NavigationTarget } from '../roll/channels.ts';
import type { Command, CommandResult, Plan } from '../roll/commands.ts';
import { type Roll, rollSchema } from '../roll/schema.ts';
import type { Actor, Core, Explanation, LogText } from '../supervisor/core.ts';
import {
  ANSWER_LIMIT,
  frame,
  type Hello,
  type Operation,
  type OperationResult,
  operations,
  type Payload,
  PROTOCOL_VERSION,
  serverMessageSchema,
} from './protocol.ts';

/** Nobody listens: the app does not run. */
export class ControlAbsent extends Error {
  override readonly name = 'ControlAbsent';
  readonly path: string;
  constructor(path: string) {
    super('The Rollcall app does not run. Start it, then try again.');
    this.path = path;
  }
}

/** The app is there but does not answer, or not in words that this version understands. */
export class ControlFailed extends Error {
  override readonly name = 'ControlFailed';
}

/** The connection ended while something was asked; an act may have been done anyway. */
export class ControlLost extends Error {
  override readonly name = 'ControlLost';
  constructor(why: string) {
    super(`The Rollcall app went away: ${why}. What it had begun may be done or not; look at the list.`);
  }
}

export interface ControlClient extends Core {
  /** The app's PID and version, as it told them. */
  readonly app: { readonly pid: number; readonly version: string };
  /** Brings the app's window up, at a place or where it was. */
  show(place: NavigationTarget | null): Promise<void>;
  /** Asks a guard to let go of the writer's lock; resolves when it is free. */
  yield(): Promise<void>;
  /** Resolves with the reason when the connection has ended for any cause but `close`. */
  readonly lost: Promise<ControlLost>;
  close(): void;
}

export interface ClientOptions {
  /** Program version, told in the hello. */
  readonly version: string;
  /** While something is asked, how often a sign of life is asked for, in milliseconds. */
  readonly pingEveryMs?: number;
  /** How long the app may say nothing at all while something is asked, in milliseconds. */
  readonly silentMs?: number;
}

interface Waiting {
  readonly operation: Operation;
  readonly done: (result: unknown) => void;
  readonly fail: (error: Error) => void;
}

/**
 * Connects, greets and takes the first roll, which it then keeps up to date.
 *
 * Acts have no deadline, since a start may take a minute; a peer that died is noticed at once and one that hangs
 * by its missing signs of life.
 *
 * @param deadlineMs how long connecting and the first roll may take together, in milliseconds
 * @throws ControlAbsent when nobody listens; ControlFailed when it does not answer in time or not as this protocol says;
 *   ControlUnavailable when the socket's folder is not ours alone
 */
export async function connectControl(
  socketPath: string,
  deadlineMs: number,
  options: ClientOptions,
): Promise<ControlClient> {
  if (!checkSocketPlace(socketPath)) throw new ControlAbsent(socketPath);
  const socket = connect(socketPath);
  const client = new Client(socket, options);
  let timer: NodeJS.Timeout | undefined;
  try {
    const late = new Promise<never>((_, fail) => {
      timer = setTimeout(
        () => fail(new ControlFailed(`The Rollcall app did not answer within ${deadlineMs / 1000} s.`)),
        deadlineMs,
      );
    });
    await Promise.race([client.open(socketPath), late]);
    return client;
  } catch (error) {
    client.close();
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

class Client implements ControlClient {
  readonly #socket: Socket;
  readonly #options: ClientOptions;
  readonly #reader = new FrameReader(ANSWER_LIMIT);
  readonly #waiting = new Map<number, Waiting>();
  readonly #listeners = new Set<(roll: Roll) => void>();
  #nextId = 1;
  #roll: Roll | null = null;
  #hello: Hello | null = null;
  #onHello: (() => void) | null = null;
  #ended: Error | null = null;
  /** Signs of life asked for since the app last said anything. */
  #unanswered = 0;
  #pinging: NodeJS.Timeout | null = null;
  readonly lost: Promise<ControlLost>;
  #sayLost: (why: ControlLost) => void = () => undefined;
  #failOpening: (error: Error) => void = () => undefined;

  constructor(socket: Socket, options: ClientOptions) {
    this.#socket = socket;
    this.#options = options;
    this.lost = new Promise((resolve) => {
      this.#sayLost = resolve;
    });
  }

  get roll(): Roll {
    if (this.#roll === null) throw new Error('the client is used before it is open');
    return this.#roll;
  }

  get app(): { readonly pid: number; readonly version: string } {
    if (this.#hello === null) throw new Error('the client is used before it is open');
    return { pid: this.#hello.pid, version: this.#hello.version };
  }

  async open(socketPath: string): Promise<void> {
    const { version } = this.#options;
    await new Promise<void>((done, fail) => {
      this.#onHello = done;
      this.#failOpening = fail;
      this.#socket.once('connect', () => {
        this.#socket.write(frame({ type: 'hello', protocol: PROTOCOL_VERSION, version, pid: process.pid }));
      });
      this.#socket.on('error', (error) => {
        const code = 'code' in error ? error.code : null;
        if (code === 'ENOENT' || code === 'ECONNREFUSED') fail(new ControlAbsent(socketPath));
        this.#end(new ControlLost(error.message));
      });
      this.#socket.on('data', (chunk: Buffer) => this.#read(chunk));
      this.#socket.on('close', () => this.#end(new ControlLost('the connection closed')));
    });
    this.#accept(await this.#ask('subscribe', null));
  }

  subscribe(listener: (roll: Roll) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** The app notes `cli` as the actor whatever is given. Afterwards `roll` is at least as new as the answer. */
  async run(command: Command, _by: Actor): Promise<CommandResult> {
    const result = await this.#ask('run', command);
    this.#accept(await this.#ask('roll', null));
    return result;
  }

  plan(targets: 'leaked' | readonly string[]): Promise<Plan> {
    return this.#ask('plan', { targets: targets === 'leaked' ? targets : [...targets] });
  }

  explain(target: string, host: string | null = null): Promise<Explanation> {
    return this.#ask('explain', { target, host });
  }

  readLog(server: string): Promise<LogText> {
    return this.#ask('readLog', { server });
  }

  async show(place: NavigationTarget | null): Promise<void> {
    await this.#ask('show', place);
  }

  async yield(): Promise<void> {
    await this.#ask('yield', null);
  }

  close(): void {
    this.#end(new ControlFailed('The connection was closed.'));
  }

  #ask<N extends Operation>(operation: N, payload: Payload<N>): Promise<OperationResult<N>> {
    const ended = this.#ended;
    if (ended !== null) return Promise.reject(ended);
    const id = this.#nextId;
    this.#nextId += 1;
    return new Promise<OperationResult<N>>((done, fail) => {
      // The answer is checked against this operation's schema before it gets here.
      this.#waiting.set(id, { operation, done: done as (result: unknown) => void, fail });
      this.#socket.write(frame({ type: 'request', id, operation, payload }));
      this.#watchLife();
    });
  }

  #read(chunk: Buffer): void {
    this.#unanswered = 0;
    try {
      for (const value of this.#reader.push(chunk)) {
        if (this.#ended !== null) return;
        this.#take(value);
      }
    } catch (error) {
      if (!(error instanceof MalformedFrame)) throw error;
      this.#end(
        new ControlFailed(`The Rollcall app said something this version does not understand: ${error.message}.`),
      );
    }
  }

  #take(value: unknown): void {
    const message = parse(serverMessageSchema, value, 'a message');
    switch (message.type) {
      case 'hello':
        this.#hello = message;
        this.#onHello?.();
        return;
      case 'refusal':
        this.#end(new ControlFailed(message.message));
        return;
      case 'roll':
        this.#accept(parse(rollSchema, message.roll, 'a roll'));
        return;
      case 'failure':
        this.#settle(message.id)?.fail(new ControlFailed(message.message));
        return;
      case 'answer': {
        const waiting = this.#settle(message.id);
        if (waiting === null) return;
        const parsed = operations[waiting.operation].result.safeParse(message.result);
        if (parsed.success) waiting.done(parsed.data);
        else {
          const theirs = this.#hello?.version ?? 'unknown';
          const error = `The running app (${theirs}) answered in another form than this command (${this.#options.version}) knows. `;
          waiting.fail(new ControlFailed(`${error}Quit the app and start the same version of both.`));
        }
        return;
      }
    }
  }

  #settle(id: number): Waiting | null {
    const waiting = this.#waiting.get(id) ?? null;
    this.#waiting.delete(id);
    if (this.#waiting.size === 0) this.#stopPinging();
    return waiting;
  }

  /** A roll that was asked for may arrive after a newer one that was pushed. */
  #accept(roll: Roll): void {
    if (this.#roll !== null && roll.version <= this.#roll.version) return;
    this.#roll = roll;
    for (const listener of this.#listeners) listener(roll);
  }

  #watchLife(): void {
    if (this.#pinging !== null) return;
    const { pingEveryMs = 5000, silentMs = 30_000 } = this.#options;
    this.#unanswered = 0;
    this.#pinging = setInterval(() => {
      // Counted, not timed: after a stall of our own, what the app said meanwhile is read only after this.
      if (this.#unanswered * pingEveryMs >= silentMs) {
        this.#end(new ControlLost(`it said nothing for ${Math.round(silentMs / 1000)} s`));
        return;
      }
      this.#unanswered += 1;
      // Its answer settles nothing, since no one waits for id 0; that it comes is what counts.
      this.#socket.write(frame({ type: 'request', id: 0, operation: 'ping', payload: null }));
    }, pingEveryMs);
  }

  #stopPinging(): void {
    if (this.#pinging !== null) clearInterval(this.#pinging);
    this.#pinging = null;
  }

  #end(error: Error): void {
    if (this.#ended !== null) return;
    this.#ended = error;
    this.#stopPinging();
    this.#socket.destroy();
    this.#failOpening(error);
    for (const waiting of this.#waiting.values()) waiting.fail(error);
    this.#waiting.clear();
    if (error instanceof ControlLost) this.#sayLost(error);
  }
}

function parse<T>(schema: z.ZodType<T>, value: unknown, what: string): T {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  throw new MalformedFrame(`${what} is not of protocol ${PROTOCOL_VERSION}`);
}
