/** One connected `rollcall` command, as the app sees it. */

import type { Socket } from 'node:net';
import type { z } from 'zod';
import { FrameReader, MalformedFrame } from '../ipc/frames.ts';
import type { NavigationTarget } from '../roll/channels.ts';
import type { Core } from '../supervisor/core.ts';
import { messageOf } from '../util/errors.ts';
import {
  ANSWER_LIMIT,
  frame,
  helloSchema,
  PROTOCOL_VERSION,
  REQUEST_LIMIT,
  type Request,
  requestSchema,
  type ServerMessage,
} from './protocol.ts';
import type { RollFrames } from './roll-frames.ts';

export interface ServeControl {
  readonly core: Core;
  readonly socketPath: string;
  /** Program version, told in the hello. */
  readonly version: string;
  /** Bring the window up, at a place or where it was. */
  readonly onShow: (place: NavigationTarget | null) => void;
  /** Let go of the writer's lock for an app; resolves when it is free. Absent where nobody yields: in the app. */
  readonly onYield?: () => Promise<void>;
  /** The socket was removed and cannot be made again. */
  readonly onLost?: (why: string) => void;
  /** How often to look whether the socket is still there, in milliseconds; for tests. */
  readonly everyMs?: number;
}

/** A client that has not said hello by then is none. */
const HELLO_MS = 5000;
/** A client that has finished reading nothing of what waits for it by then is stuck. */
const STUCK_MS = 60_000;
/** How long a client may take to read why it was refused. */
const REFUSAL_MS = 1000;
const MAX_REQUESTS = 32;
/** Bytes waiting for a slow client above which no more of its requests are read. */
const ENOUGH_WAITING = 1_000_000;

export class ControlConnection {
  readonly #socket: Socket;
  readonly #options: ServeControl;
  readonly #rolls: RollFrames;
  readonly #reader = new FrameReader(REQUEST_LIMIT);
  #greeted = false;
  #refused = false;
  #subscribed = false;
  /** A roll has come that this client has not been sent yet. */
  #rollDue = false;
  #atOnce = 0;
  #closed = false;
  #timer: NodeJS.Timeout;
  readonly #onActive: () => void;
  readonly #onEnd: () => void;

  constructor(socket: Socket, options: ServeControl, rolls: RollFrames, onActive: () => void, onEnd: () => void) {
    this.#socket = socket;
    this.#options = options;
    this.#rolls = rolls;
    this.#onActive = onActive;
    this.#onEnd = onEnd;
    this.#timer = setTimeout(() => this.#refuse('no hello came'), HELLO_MS);
    socket.on('data', (chunk: Buffer) => this.#read(chunk));
    socket.on('drain', () => this.#drained());
    // Nothing to do for a client that went away: what it asked for goes on, as it would after a closed terminal.
    socket.on('error', () => this.close());
    socket.on('close', () => this.close());
  }

  /** Requests that have not been answered. */
  get pending(): number {
    return this.#atOnce;
  }

  /** Sends the latest roll now, or as soon as this client has read what it was sent before. */
  rollChanged(): void {
    if (!this.#subscribed || this.#closed) return;
    if (this.#socket.writableLength > 0) {
      this.#rollDue = true;
      return;
    }
    this.#rollDue = false;
    const json = this.#rolls.json();
    if (json !== null) this.#write([Buffer.from('{"type":"roll","roll":'), json, Buffer.from('}\n')]);
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    clearTimeout(this.#timer);
    this.#socket.destroy();
    this.#onEnd();
  }

  #read(chunk: Buffer): void {
    if (this.#refused) return;
    try {
      for (const value of this.#reader.push(chunk)) {
        if (this.#closed || this.#refused) return;
        if (this.#greeted) this.#request(parse(requestSchema, value, 'a request'));
        else this.#greet(parse(helloSchema, value, 'the hello'));
      }
    } catch (error) {
      if (!(error instanceof MalformedFrame)) throw error;
      this.#refuse(error.message);
      return;
    }
    if (this.#socket.writableLength > ENOUGH_WAITING) this.#socket.pause();
  }

  #greet(hello: z.infer<typeof helloSchema>): void {
    const { version } = this.#options;
    if (hello.protocol !== PROTOCOL_VERSION) {
      this.#refuse(
        `The running app is Rollcall ${version} and this command is ${hello.version}; they do not understand each ` +
          'other. Quit the app and start the same version of both.',
      );
      return;
    }
    this.#greeted = true;
    clearTimeout(this.#timer);
    this.#send({ type: 'hello', protocol: PROTOCOL_VERSION, version, pid: process.pid });
  }

  #request(request: Request): void {
    const { id } = request;
    if (request.operation === 'ping') {
      this.#send({ type: 'answer', id, ok: true, result: null });
      return;
    }
    if (this.#atOnce >= MAX_REQUESTS) {
      this.#fail(id, `More than ${MAX_REQUESTS} requests at once were refused. Wait for answers between them.`);
      return;
    }
    this.#atOnce += 1;
    this.#onActive();
    this.#perform(request)
      .catch((error: unknown) => this.#fail(id, messageOf(error)))
      .finally(() => {
        this.#atOnce -= 1;
        this.#onActive();
      });
  }

  /** Rejects only for faults of ours: refusals and failed acts are results of the core. */
  async #perform(request: Request): Promise<void> {
    const { core, onShow, onYield } = this.#options;
    const { id } = request;
    switch (request.operation) {
      case 'subscribe':
        this.#subscribed = true;
        this.#sendRoll(id);
        return;
      case 'roll':
        this.#sendRoll(id);
        return;
      case 'run':
        // Whoever is at the other end of this socket is a command line, whatever it says.
        return this.#result(id, await core.run(request.payload, 'cli'));
      case 'plan':
        return this.#result(id, await core.plan(request.payload.targets));
      case 'explain':
        return this.#result(id, await core.explain(request.payload.target, request.payload.host));
      case 'readLog':
        return this.#result(id, await core.readLog(request.payload.server));
      case 'show':
        onShow(request.payload);
        return this.#result(id, null);
      case 'yield':
        if (onYield === undefined) return this.#fail(id, 'The Rollcall app is in charge and yields to nobody.');
        await onYield();
        return this.#result(id, null);
      case 'ping':
        return;
    }
  }

  #sendRoll(id: number): void {
    const json = this.#rolls.json();
    if (json === null) this.#fail(id, 'The roll is too large to send. Use the window instead.');
    else this.#write([Buffer.from(`{"type":"answer","id":${id},"ok":true,"result":`), json, Buffer.from('}\n')]);
  }

  #result(id: number, result: unknown): void {
    const bytes = frame({ type: 'answer', id, ok: true, result });
    if (bytes.length > ANSWER_LIMIT) this.#fail(id, 'The answer is too large to send. Use the window instead.');
    else this.#write([bytes]);
  }

  #fail(id: number, message: string): void {
    this.#send({ type: 'failure', id, message });
  }

  #send(message: ServerMessage): void {
    this.#write([frame(message)]);
  }

  #write(parts: readonly Buffer[]): void {
    if (this.#closed || this.#refused) return;
    this.#socket.cork();
    for (const part of parts) this.#socket.write(part);
    this.#socket.uncork();
    if (this.#socket.writableLength > 0) this.#watchStuck();
  }

  #watchStuck(): void {
    clearTimeout(this.#timer);
    const before = this.#socket.bytesWritten - this.#socket.writableLength;
    this.#timer = setTimeout(() => {
      const now = this.#socket.bytesWritten - this.#socket.writableLength;
      if (now === before) this.close();
      else if (this.#socket.writableLength > 0) this.#watchStuck();
    }, STUCK_MS).unref();
  }

  #drained(): void {
    if (this.#refused) return;
    clearTimeout(this.#timer);
    this.#socket.resume();
    if (this.#rollDue) this.rollChanged();
  }

  /**
   * Says why, then closes. What the client still sends is read and thrown away meanwhile: closing over unread bytes
   * would reset the connection, and the reason would be lost.
   */
  #refuse(message: string): void {
    if (this.#closed || this.#refused) return;
    this.#refused = true;
    this.#subscribed = false;
    this.#socket.end(frame({ type: 'refusal', message } satisfies ServerMessage));
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.close(), REFUSAL_MS).unref();
  }
}

function parse<T>(schema: z.ZodType<T>, value: unknown, what: string): T {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  throw new MalformedFrame(`${what} is not of protocol ${PROTOCOL_VERSION}`);
}
