import { beforeEach, expect, test } from 'vitest';
import type { ProcessIdentity } from '../../../identity/identity.ts';
import type { Client, Listener, Look, ProcessInfo } from '../../host.ts';
import type { Forward, Forwards } from '../contract.ts';
import { ForwardPool, othersClients, provedListeners } from './forward-pool.ts';

const UID = 1000;

function identity(pid: number, ticks = '5'): ProcessIdentity {
  return { hostId: 'h', bootId: 'b', pidNamespace: '1', pid, startTime: `linux:${ticks}` };
}

interface Row {
  readonly pid: number;
  readonly port: number;
  readonly address?: string;
  readonly ticks?: string;
  readonly uid?: number;
  readonly recognised?: boolean;
  readonly nonce?: string;
}

/** A look in which these processes listen. */
function looked(...rows: readonly Row[]): Look {
  const processes = rows.map(({ pid, ticks, uid = UID, nonce }) => {
    const marks = nonce === undefined ? {} : { ROLLCALL_NONCE: nonce };
    return [pid, { pid, identity: identity(pid, ticks), uid, marks } as unknown as ProcessInfo] as const;
  });
  return {
    processes: new Map(processes),
    candidates: rows.filter(({ recognised = true }) => recognised).map(({ pid }) => ({ pid })),
    listening: rows.map(({ pid, port, address = '127.0.0.1' }) => ({ pid, port, address })),
  } as unknown as Look;
}

const listener = (pid: number, port: number, ticks?: string): Listener => ({
  identity: identity(pid, ticks),
  address: '127.0.0.1',
  port,
});

/** Notes what is opened and closed; a preferred port is given unless it is taken. */
class Noted implements Forwards {
  readonly lines: string[] = [];
  readonly taken = new Set<number>();
  fails = false;
  async socket({ address, port }: { address: string; port: number }): Promise<Forward> {
    if (this.fails) throw new Error('refused');
    this.lines.push(`socket ${address} ${port}`);
    return { at: { type: 'socket', path: `/run/${port}` }, close: async () => void this.lines.push(`close ${port}`) };
  }
  async port({ port }: { address: string; port: number }, preferred: number | null): ReturnType<Forwards['port']> {
    const free = preferred !== null && !this.taken.has(preferred) ? preferred : 50_000;
    this.lines.push(`port ${port} at ${free}`);
    const at = { type: 'tcp', address: '127.0.0.1', port: free } as const;
    return { at, close: async () => void this.lines.push(`close page ${port}`) };
  }
}

let forwards: Noted;
let told: number;
let reach: ForwardPool;
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

beforeEach(() => {
  forwards = new Noted();
  told = 0;
  reach = new ForwardPool(
    forwards,
    UID,
    () => {
      told += 1;
    },
    new Map(),
  );
});

test('a way is opened once to each listener that a look proved, and is told when it stands', async () => {
  expect(reach.at(listener(7, 4096))).toBeNull();
  reach.looked(looked({ pid: 7, port: 4096 }, { pid: 8, port: 5000, address: '0.0.0.0' }));
  expect(reach.at(listener(7, 4096))).toBeNull();
  await settled();
  expect(told).toBe(2);
  reach.looked(looked({ pid: 7, port: 4096 }, { pid: 8, port: 5000, address: '0.0.0.0' }));
  await settled();
  expect(forwards.lines).toEqual(['socket 127.0.0.1 4096', 'socket 127.0.0.1 5000']);
  expect(reach.at(listener(7, 4096))).toEqual({ type: 'socket', path: '/run/4096' });
  expect(told).toBe(2);
});

test('D20 another process on the port has no way, and the one to the former is closed', async () => {
  reach.looked(looked({ pid: 7, port: 4096 }));
  await settled();
  reach.looked(looked({ pid: 7, port: 4096, ticks: '6' }));
  expect(reach.at(listener(7, 4096))).toBeNull();
  expect(reach.at(listener(7, 4096, '6'))).toBeNull();
  await settled();
  expect(forwards.lines).toEqual(['socket 127.0.0.1 4096', 'close 4096', 'socket 127.0.0.1 4096']);
  expect(reach.at(listener(7, 4096))).toBeNull();
  expect(reach.at(listener(7, 4096, '6'))).not.toBeNull();
});

test('a way that comes too late, when the listener is gone, is closed at once', async () => {
  reach.looked(looked({ pid: 7, port: 4096 }));
  reach.looked(looked());
  await settled();
  expect(forwards.lines).toEqual(['socket 127.0.0.1 4096', 'close 4096']);
  expect(told).toBe(0);
});

test('one that cannot be opened is tried again by the next look', async () => {
  forwards.fails = true;
  reach.looked(looked({ pid: 7, port: 4096 }));
  await settled();
  forwards.fails = false;
  reach.looked(looked({ pid: 7, port: 4096 }));
  await settled();
  expect(reach.at(listener(7, 4096))).not.toBeNull();
});

test('D18 strangers, other users and addresses beyond the loopback have no way', () => {
  const look = looked(
    { pid: 1, port: 1, recognised: false },
    { pid: 2, port: 2, uid: 0 },
    { pid: 3, port: 3, address: '192.0.2.1' },
    { pid: 4, port: 4, recognised: false, nonce: 'n' },
    { pid: 5, port: 5, address: '::1' },
  );
  expect(provedListeners(look, UID).map(({ port }) => port)).toEqual([4, 5]);
});

test('D21 a page has the same port as the server, else another, and the same again after a reconnect', async () => {
  const ports = new Map<string, number>();
  const first = new ForwardPool(forwards, UID, () => undefined, ports);
  first.looked(looked({ pid: 7, port: 4096 }));
  first.keepPages([listener(7, 4096), listener(9, 9999)]);
  await settled();
  expect(first.page(listener(7, 4096))).toMatchObject({ address: '127.0.0.1', port: 4096 });
  expect(first.page(listener(9, 9999))).toBeNull();
  first.close();
  forwards.taken.add(4096);
  const second = new ForwardPool(forwards, UID, () => undefined, ports);
  second.looked(looked({ pid: 7, port: 4096 }));
  second.keepPages([listener(7, 4096)]);
  await settled();
  expect(second.page(listener(7, 4096))?.port).toBe(50_000);
  second.looked(looked());
  expect(second.page(listener(7, 4096))).toBeNull();
  expect(forwards.lines).toContain('close page 4096');
});

test('clients that are our own ways are left out by their number; those of others stay', () => {
  const client = (peerPid: number | null, peerAddress = '127.0.0.1'): Client => ({
    port: 4096,
    serverPid: 7,
    peerPid,
    peerAddress,
  });
  const clients = [client(null), client(12), client(null), client(null), client(null, '192.0.2.1')];
  const two = new Map([[4096, 2]]);
  expect(othersClients(clients, new Map([[4096, 1]]), two)).toEqual([
    client(12),
    client(null),
    client(null, '192.0.2.1'),
  ]);
  expect(othersClients(clients, null, two)).toEqual(clients);
  expect(othersClients(clients, new Map(), new Map())).toEqual(clients);
});
