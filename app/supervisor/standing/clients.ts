/** Who is connected to a server. Pure. */
import type { Look, UnixListening } from '../../hosts/host.ts';
import type { Server } from '../../roll/schema.ts';
import { plural } from '../../text/words.ts';
import { nameOf } from './owner-label.ts';
import type { ClientFact } from './standing.ts';

type ClientRow = NonNullable<Server['clients']>[number];

/**
 * Clients of a server, by process where that can be told; null where sockets could not be read. Connections of the
 * server's own tree are its inner life, not clients.
 */
export function clientsOf(look: Look, ports: readonly number[], tree: ReadonlySet<number>): ClientRow[] | null {
  if (!look.socketsReadable) return null;
  const rows = new Map<string, ClientRow>();
  for (const client of look.clients) {
    if (!tree.has(client.serverPid) || !ports.includes(client.port)) continue;
    if (client.peerPid !== null && tree.has(client.peerPid)) continue;
    const info = client.peerPid === null ? undefined : look.processes.get(client.peerPid);
    const label =
      client.peerPid === null
        ? `somebody at ${client.peerAddress}`
        : `${info === undefined ? 'a process' : nameOf(info)}, PID ${client.peerPid}`;
    const before = rows.get(label);
    rows.set(label, { label, pid: client.peerPid, connections: (before?.connections ?? 0) + 1 });
  }
  return [...rows.values()].sort((a, b) => b.connections - a.connections);
}

export interface ConnectionFacts {
  readonly clients: readonly ClientRow[] | null;
  readonly ports: readonly number[];
  readonly transport: Server['transport'];
  /** Its own Unix sockets; null where they could not be read. */
  readonly unix: readonly UnixListening[] | null;
  /** What of its processes could not be read; null when all could. */
  readonly gap: string | null;
}

export function clientFact({ clients, ports, transport, unix, gap }: ConnectionFacts): ClientFact {
  // Descriptors that cannot be read may hold a listening socket or a client: then nothing is proved.
  if (gap !== null && (clients === null || clients.length === 0)) {
    return { state: 'unknown', why: `its connections could not be told: ${gap}` };
  }
  if (ports.length === 0) {
    if (transport === 'socket') return unixFact(unix);
    return transport === 'stdio' ? { state: 'not-applicable' } : { state: 'none', fact: 'it listens on no port' };
  }
  if (clients === null) return { state: 'unknown', why: 'its connections could not be read' };
  const named = ports.map((port) => `:${port}`).join(', ');
  const [first] = clients;
  if (first === undefined) return { state: 'none', fact: `no client connected to ${named}` };
  const count = clients.reduce((sum, { connections }) => sum + connections, 0);
  return { state: 'some', count, fact: `${first.label} is connected to ${named} (${plural(count, 'connection')})` };
}

function unixFact(unix: readonly UnixListening[] | null): ClientFact {
  if (unix === null) return { state: 'unknown', why: 'who is connected to its socket cannot be seen' };
  const [first] = unix;
  if (first === undefined) return { state: 'none', fact: 'it listens on no socket' };
  const count = unix.reduce((sum, { connections }) => sum + connections, 0);
  if (count === 0) return { state: 'none', fact: `no client connected to ${first.path}` };
  const used = unix.find(({ connections }) => connections > 0) ?? first;
  return { state: 'some', count, fact: `${plural(count, 'client')} connected to ${used.path}` };
}
