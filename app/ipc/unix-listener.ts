/** A server on a Unix socket whose folder may be taken away under it: the end of a login session does that. */

import { randomBytes } from 'node:crypto';
import { chmodSync, linkSync, lstatSync, unlinkSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { dirname, join } from 'node:path';
import { messageOf } from '../util/errors.ts';

/** How often to look whether the socket is still there, in milliseconds. One lstat. */
const EVERY_MS = 2000;

export interface UnixListenerOptions {
  /** On Windows the name of a pipe, which nobody can remove. */
  readonly path: string;
  readonly maxConnections: number;
  readonly onConnection: (socket: Socket) => void;
  /** Makes the folder, with rights for nobody else. Throws when it cannot. */
  readonly prepare: () => void;
  /** Why the socket is gone and cannot be made again; said once for each reason. */
  readonly onLost?: (why: string) => void;
  readonly everyMs?: number;
}

export interface UnixListener {
  /** Takes no further connections and removes the socket. Resolves when the last connection is over; idempotent. */
  close(): Promise<void>;
}

interface Listening {
  /** Nothing of it is at the path any more: nothing at all, or what somebody else has put there. */
  readonly removed: () => 'no' | 'absent' | 'replaced';
  /** To be called once. Resolves when the last connection is over. */
  readonly stop: () => Promise<void>;
}

/**
 * Listens on a socket (0600) and makes it again, with its folder, when somebody has removed it. What else stands at its
 * path is left alone.
 *
 * @throws what `prepare` throws, or the system's error when the socket cannot be made at first
 */
export async function listenUnix(options: UnixListenerOptions): Promise<UnixListener> {
  const { path, prepare } = options;
  let current: Listening | null = await listening(options);
  /** Resolve when the last connection of each earlier server is over. */
  const endings: Promise<void>[] = [];
  let lost: string | null = null;
  let timer: NodeJS.Timeout | null = null;
  let closed: Promise<void> | null = null;

  const renew = async (): Promise<void> => {
    try {
      const removed = current?.removed() ?? 'absent';
      if (removed === 'no') return;
      if (removed === 'replaced') throw new Error(`something else stands at ${path} now`);
      if (current !== null) endings.push(current.stop());
      current = null;
      prepare();
      const next = await listening(options);
      if (closed === null) current = next;
      else endings.push(next.stop());
      lost = null;
    } catch (error) {
      const why = messageOf(error);
      if (why !== lost) options.onLost?.(why);
      lost = why;
    }
  };
  const schedule = (): void => {
    timer = setTimeout(() => {
      void renew().then(() => {
        if (closed === null) schedule();
      });
    }, options.everyMs ?? EVERY_MS);
    timer.unref();
  };
  if (process.platform !== 'win32') schedule();

  return {
    close() {
      if (timer !== null) clearTimeout(timer);
      closed ??= Promise.all([...endings, current?.stop()]).then(() => undefined);
      return closed;
    },
  };
}

/**
 * Listens under a name of its own and then links the socket to its path: libuv removes the name that it was given when it
 * closes, whatever stands there by then, and a link fails where something stands already.
 */
function listening(options: UnixListenerOptions): Promise<Listening> {
  const { path, maxConnections, onConnection } = options;
  const server = createServer(onConnection);
  server.maxConnections = maxConnections;
  const pipe = process.platform === 'win32';
  const bound = pipe ? path : join(dirname(path), `.${randomBytes(3).toString('hex')}`);
  return new Promise((done, fail) => {
    // Also what goes wrong later, while connections are taken, ends nothing.
    server.on('error', (error) => {
      options.onLost?.(error.message);
      fail(error);
    });
    server.listen(bound, () => {
      if (pipe) {
        done({ removed: () => 'no', stop: () => new Promise((over) => server.close(() => over())) });
        return;
      }
      try {
        chmodSync(bound, 0o600);
        linkSync(bound, path);
        unlinkSync(bound);
        const made = lstatSync(path, { bigint: true });
        const removed = (): 'no' | 'absent' | 'replaced' => {
          try {
            const now = lstatSync(path, { bigint: true });
            return now.ino === made.ino && now.dev === made.dev ? 'no' : 'replaced';
          } catch {
            return 'absent'; // why it is gone shows when it is made again
          }
        };
        const stop = (): Promise<void> => {
          if (removed() === 'no') unlinkSync(path);
          return new Promise((over) => server.close(() => over()));
        };
        done({ removed, stop });
      } catch (error) {
        server.close();
        fail(error);
      }
    });
  });
}
