import type { Client, Gap, Listening, Outgoing, UnixListening } from '../../host.ts';
import type { ProcSource } from '../procfs/read.ts';
import { parseTcpTable, type TcpSocket } from '../procfs/sockets.ts';
import { parseUnixTable } from '../procfs/unix-sockets.ts';

export interface Connections {
  readonly listening: readonly Listening[];
  readonly clients: readonly Client[];
  readonly outgoing: readonly Outgoing[];
  /** Null when the table could not be read. */
  readonly unix: readonly UnixListening[] | null;
  readonly readable: boolean;
  readonly gaps: readonly Gap[];
}

/** A process whose sockets are wanted; `path` is where its files can be read (see `livePath`). */
export interface SocketHolder {
  readonly pid: number;
  readonly path: string;
}

/** What the reading of sockets needs next; who reads from afar fetches it before going on. */
export type SocketsWanted =
  /** The tables of these networks, named as `Holder`s name them: '' for ours, `PID/` for that of a process. */
  | { readonly wanted: 'tables'; readonly networks: readonly string[] }
  /** The sockets of these processes. */
  | { readonly wanted: 'sockets'; readonly of: readonly number[] }
  /** The sockets of every process, and our network's tables once more after them. */
  | { readonly wanted: 'everyone' };

/** Looks in which an unknown peer is not searched again. */
const FORGET_UNKNOWN_AFTER = 10;
const NOT_ACCEPTED = '0';

function key(address: string, port: number, remoteAddress: string, remotePort: number): string {
  return `${address} ${port} ${remoteAddress} ${remotePort}`;
}

/** Attributes listening ports and connections to processes by socket inode. Remembers who holds which peer socket. */
export class ConnectionReader {
  readonly #reader: ProcSource;
  /** Socket inode → its process, or null for one that was searched in vain; with the look it was learned in. */
  readonly #peers = new Map<string, { readonly pid: number | null; readonly look: number }>();
  #look = 0;

  constructor(reader: ProcSource) {
    this.#reader = reader;
  }

  /**
   * @param holders processes of servers' trees
   * @param ownPids processes whose connections are no clients
   * @param everyone PIDs to search for the other end of a local connection
   */
  *read(
    holders: readonly SocketHolder[],
    ownPids: readonly number[],
    everyone: Iterable<number>,
  ): Generator<SocketsWanted, Connections> {
    this.#look += 1;
    const gaps: Gap[] = [];
    const sockets = new Map<number, Set<string>>();
    for (const { pid, path } of holders) {
      const inodes = this.#reader.socketInodes(pid, path);
      if (inodes.ok) {
        if (inodes.value.size > 0) sockets.set(pid, inodes.value);
      } else if (inodes.reason !== 'vanished') gaps.push({ pid, why: inodes.why });
    }
    const merged: {
      listening: Listening[];
      clients: Client[];
      outgoing: Outgoing[];
      unix: UnixListening[] | null;
      readable: boolean;
      gaps: Gap[];
    } = { listening: [], clients: [], outgoing: [], unix: [], readable: true, gaps };
    const networks = this.#byNetwork(sockets.keys());
    if (networks.size > 0) yield { wanted: 'tables', networks: [...networks.keys()] };
    for (const [network, members] of networks) {
      const table = this.#table(network);
      if (table === null) {
        merged.readable = false;
        continue;
      }
      const part = yield* this.#attribute(table, members, sockets, ownPids, everyone, () => this.#table(network) ?? []);
      merged.listening.push(...part.listening);
      merged.clients.push(...part.clients);
      merged.outgoing.push(...part.outgoing);
      const unix = this.#unixListening(network, members, sockets);
      merged.unix = unix === null || merged.unix === null ? null : [...merged.unix, ...unix];
    }
    return merged;
  }

  /**
   * PID that listens on a port of our network namespace; null when nobody does, `unreadable` when no process can be
   * found for the socket. Throws when the sockets cannot be read.
   */
  listener(port: number, everyone: Iterable<number>): number | 'unreadable' | null {
    const inodes = this.#listeningOn(port);
    if (inodes.size === 0) return null;
    for (const pid of everyone) {
      const held = this.#reader.socketInodes(pid);
      if (held.ok && [...inodes].some((inode) => held.value.has(inode))) return pid;
    }
    // It may have closed meanwhile; then nobody is hidden.
    return this.#listeningOn(port).size === 0 ? null : 'unreadable';
  }

  #listeningOn(port: number): Set<string> {
    const table = this.#table('');
    if (table === null) throw new Error('the table of sockets could not be read');
    const listeners = table.filter((socket) => socket.state === 'listen' && socket.localPort === port);
    return new Set(listeners.map(({ inode }) => inode));
  }

  /** Groups processes by network namespace: each has a socket table of its own. Ours is named ''. */
  #byNetwork(pids: Iterable<number>): Map<string, number[]> {
    const own = this.#reader.link(this.#reader.self, 'ns/net');
    const groups = new Map<string, number[]>();
    for (const pid of pids) {
      const link = this.#reader.link(pid, 'ns/net');
      const network = link.ok && own.ok && link.value !== own.value ? `${pid}/` : '';
      const known = network === '' ? '' : this.#sameNetwork(groups, link.ok ? link.value : '');
      const members = groups.get(known ?? network);
      if (members === undefined) groups.set(network, [pid]);
      else members.push(pid);
    }
    return groups;
  }

  #sameNetwork(groups: ReadonlyMap<string, number[]>, wanted: string): string | null {
    for (const name of groups.keys()) {
      if (name === '') continue;
      const link = this.#reader.link(Number.parseInt(name, 10), 'ns/net');
      if (link.ok && link.value === wanted) return name;
    }
    return null;
  }

  #table(network: string): TcpSocket[] | null {
    const ipv4 = this.#reader.global(`${network}net/tcp`);
    const ipv6 = this.#reader.global(`${network}net/tcp6`);
    if (!ipv4.ok) return null;
    // A kernel without IPv6 has no second table.
    return [...parseTcpTable(ipv4.value), ...(ipv6.ok ? parseTcpTable(ipv6.value) : [])];
  }

  /** The Unix sockets that these processes listen on. A connection carries the name of the listener it went to. */
  #unixListening(
    network: string,
    members: readonly number[],
    sockets: ReadonlyMap<number, ReadonlySet<string>>,
  ): UnixListening[] | null {
    const text = this.#reader.global(`${network}net/unix`);
    if (!text.ok) return null;
    const table = parseUnixTable(text.value);
    const connections = new Map<string, number>();
    for (const { state, path } of table) {
      if (state === 'connected') connections.set(path, (connections.get(path) ?? 0) + 1);
    }
    return table.flatMap(({ state, path, inode }) => {
      if (state !== 'listen') return [];
      const held = members.filter((pid) => sockets.get(pid)?.has(inode) === true);
      return held.map((pid) => ({ pid, path, connections: connections.get(path) ?? 0 }));
    });
  }

  *#attribute(
    table: readonly TcpSocket[],
    members: readonly number[],
    sockets: ReadonlyMap<number, ReadonlySet<string>>,
    ownPids: readonly number[],
    everyone: Iterable<number>,
    again: () => TcpSocket[],
  ): Generator<SocketsWanted, Pick<Connections, 'listening' | 'clients' | 'outgoing'>> {
    const holder = new Map<string, number[]>();
    for (const pid of members) {
      for (const inode of sockets.get(pid) ?? []) holder.set(inode, [...(holder.get(inode) ?? []), pid]);
    }
    const listening: Listening[] = [];
    const listenerOf = new Map<number, number>();
    const opposite = new Map<string, TcpSocket>();
    for (const socket of table) {
      if (socket.state === 'established') {
        opposite.set(key(socket.remoteAddress, socket.remotePort, socket.localAddress, socket.localPort), socket);
        continue;
      }
      for (const pid of holder.get(socket.inode) ?? []) {
        listening.push({ pid, address: socket.localAddress, port: socket.localPort });
        if (!listenerOf.has(socket.localPort)) listenerOf.set(socket.localPort, pid);
      }
    }

    const outgoing: Outgoing[] = [];
    const incoming: { socket: TcpSocket; serverPid: number; peer: TcpSocket | undefined }[] = [];
    for (const socket of table) {
      if (socket.state !== 'established') continue;
      const listener = listenerOf.get(socket.localPort);
      const pid = socket.inode === NOT_ACCEPTED ? listener : holder.get(socket.inode)?.[0];
      if (pid === undefined) continue;
      if (listener === undefined) {
        outgoing.push({ pid, address: socket.remoteAddress, port: socket.remotePort });
      } else {
        const peer = opposite.get(key(socket.localAddress, socket.localPort, socket.remoteAddress, socket.remotePort));
        incoming.push({ socket, serverPid: pid, peer });
      }
    }

    const wanted = new Map<string, number>();
    for (const { peer } of incoming) if (peer !== undefined) wanted.set(peer.inode, peer.uid);
    const found = yield* this.#findPeers(wanted, holder, ownPids, everyone);
    let current: Set<string> | null = null;
    const clients: Client[] = [];
    for (const { socket, serverPid, peer } of incoming) {
      const peerPid = peer === undefined ? null : (found.get(peer.inode) ?? null);
      if (peerPid !== null && ownPids.includes(peerPid)) continue;
      if (peer !== undefined && peerPid === null) {
        // Whoever held it may have closed it since the table was read, we ourselves for one: look once more.
        current ??= new Set(
          again().map((row) => key(row.localAddress, row.localPort, row.remoteAddress, row.remotePort)),
        );
        if (!current.has(key(peer.localAddress, peer.localPort, peer.remoteAddress, peer.remotePort))) continue;
      }
      clients.push({ port: socket.localPort, serverPid, peerPid, peerAddress: socket.remoteAddress });
    }
    return { listening, clients, outgoing };
  }

  *#findPeers(
    wanted: ReadonlyMap<string, number>,
    known: ReadonlyMap<string, readonly number[]>,
    ownPids: readonly number[],
    everyone: Iterable<number>,
  ): Generator<SocketsWanted, Map<string, number>> {
    const found = new Map<string, number>();
    const missing = new Map(wanted);
    missing.delete(NOT_ACCEPTED);
    const take = (pid: number): void => {
      const inodes = this.#reader.socketInodes(pid);
      if (!inodes.ok) return;
      for (const inode of missing.keys()) {
        if (!inodes.value.has(inode)) continue;
        found.set(inode, pid);
        this.#peers.set(inode, { pid, look: this.#look });
        missing.delete(inode);
      }
    };
    // Our own first: a descriptor may be shared with a child of ours, and then the connection is ours.
    if (missing.size > 0 && ownPids.length > 0) yield { wanted: 'sockets', of: ownPids };
    for (const pid of ownPids) take(pid);
    for (const inode of [...missing.keys()]) {
      const pid = known.get(inode)?.[0];
      if (pid === undefined) continue;
      found.set(inode, pid);
      missing.delete(inode);
    }
    const remembered = new Set<number>();
    for (const inode of missing.keys()) {
      const pid = this.#peers.get(inode)?.pid;
      if (pid !== undefined && pid !== null) remembered.add(pid);
    }
    if (remembered.size > 0) yield { wanted: 'sockets', of: [...remembered] };
    for (const pid of remembered) take(pid);
    for (const [inode, memory] of this.#peers) {
      if (!wanted.has(inode)) this.#peers.delete(inode);
      else if (memory.pid === null && this.#look - memory.look < FORGET_UNKNOWN_AFTER) missing.delete(inode);
    }
    if (missing.size > 0) {
      yield { wanted: 'everyone' };
      const uids = new Set(missing.values());
      for (const pid of everyone) {
        if (missing.size === 0) break;
        const owner = this.#reader.folderUid(pid);
        if (owner.ok && (uids.has(owner.value) || owner.value === 0)) take(pid);
      }
      for (const inode of missing.keys()) this.#peers.set(inode, { pid: null, look: this.#look });
    }
    return found;
  }
}
