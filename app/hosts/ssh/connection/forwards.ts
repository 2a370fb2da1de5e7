import { unlinkSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { stallTolerantTimer } from '../../../util/stall-tolerant-timer.ts';
import { SshFailed } from '../../ssh-failed.ts';
import type { Forward } from '../contract.ts';
import { CHECK_MS, type Master } from './master.ts';
import { type ForwardEnd, MuxFailed, muxCloseForward, muxOpenForward } from './mux.ts';

/** sockaddr_un less its NUL: 108 on Linux, 104 on macOS and the BSDs. */
const MAX_SOCKET = process.platform === 'linux' ? 107 : 103;
const OPEN_MS = 5000;
const PORT_ATTEMPTS = 5;
const LOOPBACK = '127.0.0.1';
/** Nobody can listen there, so the machine's answer is always a refusal: one round trip. */
const NOWHERE: ForwardEnd = { path: '/dev/null/rollcall' };

export interface Remote {
  readonly address: string;
  readonly port: number;
}

export type PortForward = Forward & {
  readonly at: { readonly type: 'tcp'; readonly address: '127.0.0.1'; readonly port: number };
};

export interface ForwardingOptions {
  readonly alias: string;
  readonly master: Master;
  readonly folder: string;
  readonly prefix: string;
  /** The master gave no answer in time. */
  readonly onDeadline: () => void;
}

let count = 0;

/** The forwards of one master; they end with it. */
export class Forwarding {
  readonly #options: ForwardingOptions;
  readonly #sockets = new Set<string>();
  /** Path of the socket that leads nowhere. */
  #pings: Promise<string | null> | null = null;

  constructor(options: ForwardingOptions) {
    this.#options = options;
    void options.master.ended.then(() => {
      for (const path of this.#sockets) removeFile(path);
      this.#sockets.clear();
    });
  }

  /** See `Forwards.socket`. @throws SshFailed */
  async socket(remote: Remote): Promise<Forward & { readonly at: { readonly type: 'socket'; readonly path: string } }> {
    const path = await this.#listen(remote);
    const close = async (): Promise<void> => {
      await this.#close({ path }, remote);
      if (this.#sockets.delete(path)) removeFile(path);
    };
    return { at: { type: 'socket', path }, close: once(close) };
  }

  /** See `Forwards.port`. @throws SshFailed */
  async port(remote: Remote, preferred: number | null): Promise<PortForward> {
    let last: SshFailed | null = null;
    for (let attempt = 0; attempt < PORT_ATTEMPTS; attempt += 1) {
      const wanted = attempt === 0 ? preferred : null;
      const port = await freePort(wanted);
      if (port === null) continue;
      try {
        await this.#open({ address: LOOPBACK, port }, remote);
        const close = (): Promise<void> => this.#close({ address: LOOPBACK, port }, remote);
        return { at: { type: 'tcp', address: LOOPBACK, port }, close: once(close) };
      } catch (error) {
        // Taken by somebody since it was found free; another will do.
        if (!(error instanceof SshFailed) || error.code !== 'port-taken') throw error;
        last = error;
      }
    }
    throw last ?? this.#refused('no port is free');
  }

  /** One round trip to the machine and back, without a process there. False when none came in time. */
  async ping(deadlineMs: number): Promise<boolean> {
    // Its own wait is bounded, too.
    this.#pings ??= this.#listen(NOWHERE).catch(() => {
      this.#pings = null;
      return null;
    });
    const path = await this.#pings;
    return path !== null && comesBack(path, deadlineMs);
  }

  /** A socket of ours that leads there. */
  async #listen(to: ForwardEnd): Promise<string> {
    const { alias, folder, prefix } = this.#options;
    const path = join(folder, `${prefix}${++count}.sock`);
    if (Buffer.byteLength(path) > MAX_SOCKET) throw pathTooLong(alias, path);
    // Noted before, so that it goes also when the master dies over it.
    this.#sockets.add(path);
    try {
      await this.#open({ path }, to);
      return path;
    } catch (error) {
      this.#sockets.delete(path);
      removeFile(path);
      throw error;
    }
  }

  async #open(listen: ForwardEnd, to: ForwardEnd): Promise<void> {
    const { alias, master } = this.#options;
    try {
      await muxOpenForward(master.socketPath, listen, to, OPEN_MS);
    } catch (error) {
      if (!(error instanceof MuxFailed)) throw error;
      if (error.reason === 'deadline') this.#options.onDeadline();
      if (error.reason !== 'refused') {
        throw new SshFailed(
          alias,
          'link',
          error.reason === 'deadline' ? 'deadline' : 'link-lost',
          `The connection to ${alias} made no tunnel: ${error.message}.`,
          'Rollcall checks the connection and replaces it if it is dead. Try again.',
          null,
          error,
        );
      }
      if ('port' in listen && (await freePort(listen.port)) === null) {
        throw new SshFailed(
          alias,
          'forward',
          'port-taken',
          `Port ${listen.port} of this machine is taken by another program.`,
          'Choose another port, or end that program.',
          error.message,
          error,
        );
      }
      throw this.#refused(error.message);
    }
  }

  #refused(why: string): SshFailed {
    const { alias } = this.#options;
    return new SshFailed(
      alias,
      'forward',
      'refused',
      `ssh made no tunnel to ${alias}.`,
      'What ssh said is shown below. Try again.',
      why,
    );
  }

  async #close(listen: ForwardEnd, remote: Remote): Promise<void> {
    if (!this.#options.master.running) return;
    try {
      await muxCloseForward(this.#options.master.socketPath, listen, remote, CHECK_MS);
    } catch (error) {
      if (!(error instanceof MuxFailed)) throw error;
      // Gone already, or the master is: either way it leads nowhere any more, or ends when the master is replaced.
      if (error.reason === 'deadline') this.#options.onDeadline();
    }
  }
}

function pathTooLong(alias: string, path: string): SshFailed {
  return new SshFailed(
    alias,
    'forward',
    'path-too-long',
    `The path ${path} is too long for a socket.`,
    'Set XDG_RUNTIME_DIR to a shorter folder.',
  );
}

/** Whether a connection that can only be refused is refused: the refusal has come all the way back. */
function comesBack(path: string, deadlineMs: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path);
    let connected = false;
    const settle = (answer: boolean): void => {
      stopWaiting();
      socket.destroy();
      resolve(answer);
    };
    const stopWaiting = stallTolerantTimer(deadlineMs, () => settle(false));
    socket.once('connect', () => {
      connected = true;
      socket.resume();
    });
    socket.once('error', () => settle(connected));
    socket.once('close', () => settle(connected));
  });
}

function once(act: () => Promise<void>): () => Promise<void> {
  let done: Promise<void> | null = null;
  return () => {
    done ??= act();
    return done;
  };
}

function removeFile(path: string): void {
  try {
    unlinkSync(path);
  } catch {
    // Never made, or gone with its folder at the session's end; what is left goes at the next start.
  }
}

/** A free port of 127.0.0.1: this one, or any. Null when it is not free. */
function freePort(wanted: number | null): Promise<number | null> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(null));
    server.listen({ port: wanted ?? 0, host: LOOPBACK, exclusive: true }, () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : null));
    });
  });
}
