import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { loopbackOf } from '../client/http.ts';
import type { Endpoint } from '../kind.ts';

/** A real HTTP server on the loopback for tests, with every request it got. */
export interface Fixture {
  readonly endpoint: Endpoint;
  readonly requests: string[];
  /** How many connections are open now. */
  connections(): number;
  close(): Promise<void>;
}

/**
 * Listens on a port of the address, a free one by default. The identity is a placeholder: nothing below looks at it.
 */
export async function fixture(
  handler: RequestListener,
  address = '127.0.0.1',
  host = address,
  port = 0,
): Promise<Fixture> {
  const requests: string[] = [];
  const sockets = new Set<Socket>();
  const server: Server = createServer((req, res) => {
    requests.push(`${req.method} ${req.url} ${req.headers.authorization ?? '-'} ${req.headers.connection}`);
    handler(req, res);
  });
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, address, resolve);
  });
  return {
    endpoint: endpointAt(host, (server.address() as AddressInfo).port),
    requests,
    connections: () => sockets.size,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}

export function endpointAt(address: string, port: number): Endpoint {
  return {
    identity: { hostId: 'h', bootId: 'b', pidNamespace: 'n', pid: 2, startTime: 'linux:1' },
    address,
    port,
    at: { type: 'tcp', address: loopbackOf(address) ?? address, port },
    credentials: null,
  };
}

/** Waits until something holds; fails loudly after `ms` milliseconds. */
export async function until(what: string, holds: () => boolean, ms = 60_000): Promise<void> {
  const end = performance.now() + ms;
  while (!holds()) {
    if (performance.now() > end) throw new Error(`Not within ${ms} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
