/** What the guard keeps of the app while the app lives. Knows no socket and no process. */

import type { ProcessRef } from '../identity/identity.ts';
import { FrameReader } from '../ipc/frames.ts';
import type { Afterwards } from '../supervisor/guard-port.ts';
import {
  type FromGuard,
  GUARD_PROTOCOL,
  type GuardHello,
  type Handed,
  MESSAGE_LIMIT,
  type ToGuard,
  toGuardSchema,
} from './protocol.ts';

export interface Kept {
  readonly hello: GuardHello;
  /** The last full state that was good; empty before the first. */
  readonly servers: readonly Handed[];
  /** The ssh processes of the app, by identity. */
  readonly ssh: readonly ProcessRef[];
  /** Null while the app has not said goodbye. */
  readonly farewell: Afterwards | null;
}

/**
 * Takes what comes through the pipe and answers it. A message that is malformed, too long, out of turn or of another
 * protocol is refused and costs nothing; what was kept before stays.
 */
export class Watcher {
  readonly #reader: FrameReader;
  readonly #answer: (message: FromGuard) => void;
  readonly #pid: number;
  #hello: GuardHello | null = null;
  #servers: readonly Handed[] = [];
  #ssh: readonly ProcessRef[] = [];
  #farewell: Afterwards | null = null;
  #seq = 0;

  /** @param limit longest message in bytes; for tests */
  constructor(pid: number, answer: (message: FromGuard) => void, limit = MESSAGE_LIMIT) {
    this.#pid = pid;
    this.#answer = answer;
    this.#reader = new FrameReader(limit);
  }

  /** Null before a hello that this guard understands. */
  get kept(): Kept | null {
    return this.#hello === null
      ? null
      : { hello: this.#hello, servers: this.#servers, ssh: this.#ssh, farewell: this.#farewell };
  }

  take(chunk: Buffer): void {
    for (const frame of this.#reader.read(chunk)) {
      if (!frame.ok) {
        this.#refuse(frame.error.message);
        continue;
      }
      const parsed = toGuardSchema.safeParse(frame.value);
      if (parsed.success) this.#message(parsed.data);
      else this.#refuse(`a message is not of protocol ${GUARD_PROTOCOL}`);
    }
  }

  #message(message: ToGuard): void {
    if (message.type === 'hello') this.#greet(message);
    else if (this.#hello === null) this.#refuse('no hello came before it');
    else if (message.seq <= this.#seq) this.#refuse(`number ${message.seq} came after number ${this.#seq}`);
    else {
      this.#seq = message.seq;
      if (message.type === 'state') this.#servers = message.servers;
      if (message.type === 'ssh') this.#ssh = message.processes;
      if (message.type === 'farewell') this.#farewell = message.afterwards;
      this.#answer({ type: 'ack', seq: message.seq });
    }
  }

  #greet(hello: GuardHello): void {
    if (this.#hello !== null) {
      this.#refuse('a second hello came');
    } else if (hello.protocol !== GUARD_PROTOCOL) {
      const versions = `the app (${hello.version}) speaks protocol ${hello.protocol} and this guard ${GUARD_PROTOCOL}`;
      this.#refuse(`${versions}; start the app again`);
    } else {
      this.#hello = hello;
      this.#answer({ type: 'hello', protocol: GUARD_PROTOCOL, pid: this.#pid });
    }
  }

  #refuse(why: string): void {
    this.#answer({ type: 'refused', why });
  }
}
