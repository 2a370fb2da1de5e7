/** The app's end of the control socket: gives the roll to `rollcall` commands and takes their acts. */
import { lstatSync, mkdirSync, unlinkSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { dirname } from 'node:path';
import { ControlUnavailable, checkSocketPlace } from '../ipc/socket-path.ts';
import { listenUnix } from '../ipc/unix-listener.ts';
import { ControlConnection, type ServeControl } from './connection.ts';
import { RollFrames } from './roll-frames.ts';

/** More commands at once than any person gives; a broken script must not take every descriptor we have. */
const MAX_CONNECTIONS = 64;

export interface ControlServer {
  /** Connected commands. */
  readonly connections: number;
  /** Requests that have not been answered. */
  readonly pending: number;
  /** When a command last connected or asked or was answered, in milliseconds on the monotonic clock. */
  readonly lastActiveAt: number;
  /** Takes no further connections and removes the socket file at once; those that are there stay. */
  stopListening(): void;
  /** Closes every connection, stops listening and removes the socket file. A second call does nothing. */
  close(): Promise<void>;
}

/**
 * Listens on the control socket (0600, in a 0700 folder of ours). The caller holds the writer's lock, which is
 * what makes it right to replace the socket file of a holder that died; one that still answers is left alone.
 *
 * @throws ControlUnavailable when the folder, the path or what stands there will not do
 */
export async function serveControl(options: ServeControl): Promise<ControlServer> {
  const { socketPath } = options;
  try {
    prepareFolder(socketPath);
    await removeStale(socketPath);
  } catch (error) {
    if (error instanceof ControlUnavailable || !(error instanceof Error && 'code' in error)) throw error;
    // The session's end takes the runtime folder away, and only the system can make it again.
    throw new ControlUnavailable(socketPath, `${dirname(socketPath)} cannot be used: ${error.message}.`);
  }
  const rolls = new RollFrames(options.core);
  const connections = new Set<ControlConnection>();
  let lastActiveAt = performance.now();
  const active = (): void => {
    lastActiveAt = performance.now();
  };
  const listener = await listenUnix({
    path: socketPath,
    maxConnections: MAX_CONNECTIONS,
    onConnection: (socket) => {
      active();
      const connection = new ControlConnection(socket, options, rolls, active, () => connections.delete(connection));
      connections.add(connection);
    },
    prepare: () => prepareFolder(socketPath),
    ...(options.onLost === undefined ? {} : { onLost: options.onLost }),
    ...(options.everyMs === undefined ? {} : { everyMs: options.everyMs }),
  }).catch((error: unknown) => {
    if (!(error instanceof Error && 'code' in error)) throw error;
    throw new ControlUnavailable(socketPath, `The control socket ${socketPath} cannot be opened: ${error.message}.`);
  });
  const unsubscribe = options.core.subscribe(() => {
    for (const connection of connections) connection.rollChanged();
  });
  return {
    get connections() {
      return connections.size;
    },
    get pending() {
      return [...connections].reduce((sum, { pending }) => sum + pending, 0);
    },
    get lastActiveAt() {
      return lastActiveAt;
    },
    stopListening: () => void listener.close(),
    close() {
      unsubscribe();
      const done = listener.close();
      for (const connection of connections) connection.close();
      return done;
    },
  };
}

function prepareFolder(socketPath: string): void {
  if (process.platform !== 'win32') mkdirSync(dirname(socketPath), { recursive: true, mode: 0o700 });
  checkSocketPlace(socketPath);
}

/** Removes a socket that nobody listens on. Anything else at that path is somebody's and stays. */
async function removeStale(path: string): Promise<void> {
  if (process.platform === 'win32') return;
  const stats = lstatSync(path, { throwIfNoEntry: false });
  if (stats === undefined) return;
  if (!stats.isSocket()) {
    throw new ControlUnavailable(path, `${path} is in the way: it is no socket. Move it aside, then start again.`);
  }
  if (await isAnswered(path)) {
    throw new ControlUnavailable(path, `Another program listens on ${path}. Stop that program, then start again.`);
  }
  unlinkSync(path);
}

function isAnswered(path: string): Promise<boolean> {
  return new Promise((done) => {
    const socket: Socket = connect(path);
    socket.once('connect', () => {
      socket.destroy();
      done(true);
    });
    // A full backlog (EAGAIN) is a living listener; refused or absent is a dead one.
    socket.once('error', (error) => {
      const code = 'code' in error ? error.code : null;
      done(code !== 'ECONNREFUSED' && code !== 'ENOENT');
    });
  });
}
