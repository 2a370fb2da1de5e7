/** A server on a Unix socket whose folder may be taken away under it: the end of a login session does that. */
import { chmodSync, lstatSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';

/** How often to look whether the socket is still there, in milliseconds. One lstat. */
const EVERY_MS = 2000;

export interface UnixListenerOptions {
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

/**
 * Listens on a socket (0600) and makes it again, with its folder, when somebody has removed it. What else stands at its
 * path is left alone. On Windows the path names a pipe, which nobody can remove.
 *
 * @throws what `prepare` throws, or the system's error when the socket cannot be made at first
 */
export async function listenUnix(options: UnixListenerOptions): Promise<UnixListener> {
  const { path, prepare } = options;
  let current: (() => Promise<void>) | null = await listening(options);
  /** Resolve when the last connection of each earlier server is over. */
  const endings: Promise<void>[] = [];
  let lost: string | null = null;
  let timer: NodeJS.Timeout | null = null;
  let closed: Promise<void> | null = null;

  const renew = async (): Promise<void> => {
    try {
      if (lstatSync(path, { throwIfNoEntry: false }) !== undefined) return;
      // First: closing removes whatever is at the path by then.
      endings.push(current?.() ?? Promise.resolve());
      current = null;
      prepare();
      const next = await listening(options);
      if (closed === null) current = next;
      else endings.push(next());
      lost = null;
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
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
      closed ??= Promise.all([...endings, current?.()]).then(() => undefined);
      return closed;
    },
  };
}

/** Listens; what it resolves with stops that and resolves when the last connection is over. To be called once. */
function listening(options: UnixListenerOptions): Promise<() => Promise<void>> {
  const { path, maxConnections, onConnection } = options;
  const server = createServer(onConnection);
  server.maxConnections = maxConnections;
  return new Promise((done, fail) => {
    server.once('error', fail);
    server.listen(path, () => {
      server.off('error', fail);
      if (process.platform !== 'win32') chmodSync(path, 0o600);
      done(() => new Promise((over) => server.close(() => over())));
    });
  });
}
