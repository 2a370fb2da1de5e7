/**
 * Ways to the servers of a remote machine. Each is opened only after a look has proved which process listens there, and
 * is closed as soon as a look shows another one, or none: whatever listens then is never talked to.
 */
import { readFile } from 'node:fs/promises';
import { identityKey } from '../../../identity/identity.ts';
import { loopbackOf } from '../../../servers/client/http.ts';
import type { Client, Listener, Look, ProcessInfo } from '../../host.ts';
import { parseUnixTable } from '../../local/procfs/unix-sockets.ts';
import type { At, Forward, Forwards } from '../contract.ts';

/** Nothing a person runs has more; a machine that lists more listeners must not use up the connection. */
const MAX_FORWARDS = 64;

interface Way {
  readonly key: string;
  readonly listener: Listener;
  forward: Forward | null;
  wanted: boolean;
}

function keyOf({ identity, address, port }: Listener): string {
  return `${identityKey(identity)} ${loopbackOf(address) ?? address} ${port}`;
}

/** Opens, keeps and closes one kind of forward for a set of listeners that changes. */
class Ways {
  readonly #open: (listener: Listener) => Promise<Forward>;
  readonly #changed: () => void;
  readonly #ways = new Map<string, Way>();

  constructor(open: (listener: Listener) => Promise<Forward>, changed: () => void) {
    this.#open = open;
    this.#changed = changed;
  }

  at(listener: Listener): At | null {
    return this.#ways.get(keyOf(listener))?.forward?.at ?? null;
  }

  all(): Way[] {
    return [...this.#ways.values()];
  }

  keep(listeners: readonly Listener[]): void {
    const wanted = new Map(listeners.slice(0, MAX_FORWARDS).map((listener) => [keyOf(listener), listener]));
    for (const way of this.#ways.values()) if (!wanted.has(way.key)) this.#close(way);
    for (const [key, listener] of wanted) {
      if (this.#ways.has(key)) continue;
      const way: Way = { key, listener, forward: null, wanted: true };
      this.#ways.set(key, way);
      void this.#establish(way);
    }
  }

  async #establish(way: Way): Promise<void> {
    try {
      const forward = await this.#open(way.listener);
      if (way.wanted) {
        way.forward = forward;
        this.#changed();
      } else {
        await forward.close();
      }
    } catch {
      // The next look that still shows the listener tries again; until then there is no way to it, and that is told.
      if (this.#ways.get(way.key) === way) this.#ways.delete(way.key);
    }
  }

  #close(way: Way): void {
    way.wanted = false;
    this.#ways.delete(way.key);
    if (way.forward === null) return;
    void way.forward.close();
    this.#changed();
  }
}

export class ForwardPool {
  readonly #uid: number;
  readonly #sockets: Ways;
  readonly #pages: Ways;
  /** Port of the page of a listener, by its address: a reconnect gives the same one again where it is free. */
  readonly #ports: Map<string, number>;

  /** @param ports remembered from an earlier connection to this machine */
  constructor(forwards: Forwards, uid: number, onReach: () => void, ports: Map<string, number>) {
    this.#uid = uid;
    this.#ports = ports;
    const remote = ({ address, port }: Listener): { address: string; port: number } => ({
      address: loopbackOf(address) ?? address,
      port,
    });
    this.#sockets = new Ways((listener) => forwards.socket(remote(listener)), onReach);
    this.#pages = new Ways(async (listener) => {
      const end = remote(listener);
      const name = `${end.address} ${end.port}`;
      const forward = await forwards.port(end, this.#ports.get(name) ?? end.port);
      this.#ports.set(name, forward.at.port);
      return forward;
    }, onReach);
  }

  at(listener: Listener): At | null {
    return this.#sockets.at(listener);
  }

  page(listener: Listener): { readonly address: string; readonly port: number } | null {
    const at = this.#pages.at(listener);
    return at?.type === 'tcp' ? at : null;
  }

  keepPages(listeners: readonly Listener[]): void {
    this.#pages.keep(listeners.filter((listener) => this.#proved.has(keyOf(listener))));
  }

  #proved: ReadonlySet<string> = new Set();

  /** A look was taken: opens what it proved, closes what it no longer shows. */
  looked(look: Look): void {
    const listeners = provedListeners(look, this.#uid);
    this.#proved = new Set(listeners.map(keyOf));
    this.#sockets.keep(listeners);
    this.#pages.keep(this.#pages.all().flatMap(({ key, listener }) => (this.#proved.has(key) ? [listener] : [])));
  }

  close(): void {
    this.#sockets.keep([]);
    this.#pages.keep([]);
  }

  /**
   * Connections of this program through its ways, by the remote port; null where this machine does not tell. On the
   * remote they all look like the session's sshd's, whose open files only root may list.
   */
  async ownConnections(): Promise<ReadonlyMap<number, number> | null> {
    const ports = new Map<string, number>();
    for (const { forward, listener } of this.#sockets.all()) {
      if (forward?.at.type === 'socket') ports.set(forward.at.path, listener.port);
    }
    if (ports.size === 0) return new Map();
    let table: string;
    try {
      table = await readFile('/proc/net/unix', 'utf8');
    } catch {
      return null;
    }
    const counts = new Map<number, number>();
    for (const { state, path } of parseUnixTable(table)) {
      const port = ports.get(path);
      if (state === 'connected' && port !== undefined) counts.set(port, (counts.get(port) ?? 0) + 1);
    }
    return counts;
  }
}

/** TCP listeners of this account that a kind recognised, or that a start of ours brought into being. */
export function provedListeners(look: Look, uid: number): Listener[] {
  const recognised = new Set(look.candidates.map(({ pid }) => pid));
  const counts = (info: ProcessInfo): boolean => recognised.has(info.pid) || info.marks?.ROLLCALL_NONCE !== undefined;
  return look.listening.flatMap(({ pid, address, port }) => {
    const info = look.processes.get(pid);
    if (info === undefined || info.uid !== uid || loopbackOf(address) === null || !counts(info)) return [];
    return [{ identity: info.identity, address, port }];
  });
}

/** Clients without those that are this program itself, of whom the remote cannot tell the process. Pure. */
export function othersClients(
  clients: readonly Client[],
  before: ReadonlyMap<number, number> | null,
  after: ReadonlyMap<number, number> | null,
): readonly Client[] {
  if (before === null || after === null) return clients;
  const own = new Map<number, number>();
  return clients.filter(({ port, peerPid, peerAddress }) => {
    if (peerPid !== null || loopbackOf(peerAddress) === null) return true;
    const most = Math.max(before.get(port) ?? 0, after.get(port) ?? 0);
    const dropped = own.get(port) ?? 0;
    if (dropped >= most) return true;
    own.set(port, dropped + 1);
    return false;
  });
}
