/**
 * Looks where there is no procfs: identity from the system's own lister, memory, load and sockets from
 * systeminformation. Environments, namespaces and ignored signals stay unknown, and each server's gap says so.
 */

import { performance } from 'node:perf_hooks';
import type { Systeminformation } from 'systeminformation';
import { messageOf } from '../../util/errors.ts';
import {
  type Client,
  type Listening,
  type Look,
  LookFailed,
  type LookRequest,
  type ProcessInfo,
  type UnprovedProcess,
} from '../host.ts';
import { type Recognise, recogniseAll } from '../local/look/candidates.ts';
import type { Looker, LookingPlace } from '../local/look/looker.ts';
import { isReaper } from '../local/look/reapers.ts';
import { besideServers, relevant } from '../local/look/relevance.ts';
import { hashArgv } from '../local/procfs/argv.ts';
import { type ListedProcess, listOne, listProcesses } from './portable-processes.ts';

/** A TCP socket as systeminformation, or a remote's lister, tells it. */
export type ListedConnection = Pick<
  Systeminformation.NetworkConnectionsData,
  'localAddress' | 'localPort' | 'peerAddress' | 'peerPort' | 'state' | 'pid'
>;
type Usage = Systeminformation.ProcessesProcessData;

const system = async (): Promise<typeof import('systeminformation')> => (await import('systeminformation')).default;

/** Looks through systeminformation and the system's lister, on any system that has them. */
export function portableLooker(recognise: Recognise): Looker {
  let place: LookingPlace | null = null;
  const started = (): LookingPlace => {
    if (place === null) throw new LookFailed('the looker has not been started');
    return place;
  };
  return {
    async start(where) {
      place = where;
    },
    async look(request) {
      const begun = performance.now();
      const { processes, networkConnections } = await system();
      const [rows, usage, connections] = await Promise.all([
        listProcesses(),
        // Without them a look still tells what runs; memory is then unknown, and so are clients.
        processes().catch(() => null),
        networkConnections().catch(() => null),
      ]);
      const usageOf = new Map(usage?.list.map((entry) => [entry.pid, entry]));
      const everyone = new Map(rows.map((row) => [row.pid, describeListed(row, usageOf.get(row.pid), started())]));
      return assemble(everyone, connections, request, recognise, started(), begun);
    },
    async inspect(pid) {
      const row = await listOne(pid);
      return row === null ? null : describeListed(row, undefined, started());
    },
    async portHolder(port) {
      const { networkConnections } = await system();
      const connections = await networkConnections().catch((error: unknown) => {
        throw new LookFailed(messageOf(error), error);
      });
      const listener = connections.find((socket) => isListening(socket) && Number(socket.localPort) === port);
      if (listener === undefined) return null;
      const row = listener.pid > 0 ? await listOne(listener.pid) : null;
      return row === null ? 'unreadable' : describeListed(row, undefined, started());
    },
    async close() {
      place = null;
    },
  };
}

/** The arguments as far as they can be told: the program's path is known and may hold blanks, the rest is a guess. */
export function splitCommandLine(commandLine: string, program: string | null): string[] {
  if (commandLine === '') return [];
  const quoted = program === null ? [] : [program, `"${program}"`];
  const first = quoted.find((text) => commandLine === text || commandLine.startsWith(`${text} `));
  if (first === undefined || program === null) return commandLine.split(/ +/u);
  return [program, ...commandLine.slice(first.length).split(/ +/u).filter(Boolean)];
}

/** The text that is hashed as evidence; where arguments end does not matter to it. */
export function evidenceOf(row: ListedProcess): Pick<ProcessInfo, 'executable' | 'argvHash'> {
  return {
    executable: row.executable,
    argvHash: row.commandLine === '' ? null : hashArgv(Buffer.from(row.commandLine)),
  };
}

/** A listed process as a look tells it; what the system does not tell is null. */
export function describeListed(
  row: ListedProcess,
  usage: Pick<Usage, 'memRss' | 'cpu'> | undefined,
  { observer }: Pick<LookingPlace, 'observer'>,
): ProcessInfo {
  const argv = splitCommandLine(row.commandLine, row.executable?.path ?? null);
  return {
    identity: { ...observer, pid: row.pid, startTime: row.startTime },
    pid: row.pid,
    ppid: row.ppid,
    pgrp: row.pgrp,
    session: row.pgrp,
    tty: 0,
    tpgid: -1,
    state: row.state,
    threads: 1,
    startTime: row.startTime,
    startedAt: row.startedAt,
    ageMs: Math.max(0, Date.now() - row.startedAt),
    comm: (argv[0] ?? '').split(/[\\/]/u).at(-1) ?? '',
    argv,
    ...evidenceOf(row),
    cwd: null,
    uid: row.uid,
    rssBytes: (usage?.memRss ?? 0) * 1024,
    pssBytes: null,
    cpuPercent: usage?.cpu ?? null,
    ignoresHangup: null,
    cgroup: null,
    ownPidNamespace: null,
    marks: null,
  };
}

function isListening({ state }: Pick<ListedConnection, 'state'>): boolean {
  return state === 'LISTEN' || state === 'LISTENING';
}

interface Sockets {
  readonly listening: Listening[];
  readonly clients: Client[];
}

/** Attributes sockets to servers. A client on this machine is whoever has the same connection the other way round. */
export function attribute(
  connections: readonly ListedConnection[],
  trees: ReadonlySet<number>,
  ownPids: readonly number[],
): Sockets {
  const listening = connections
    .filter((socket) => isListening(socket) && trees.has(socket.pid))
    .map((socket) => ({ pid: socket.pid, address: socket.localAddress, port: Number(socket.localPort) }));
  const servers = new Map(listening.map(({ port, pid }) => [port, pid]));
  const end = (address: string, port: string): string => `${address} ${port}`;
  const established = connections.filter(({ state }) => state === 'ESTABLISHED');
  const holders = new Map(established.map((socket) => [end(socket.localAddress, socket.localPort), socket.pid]));
  const clients = established.flatMap((socket): Client[] => {
    const port = Number(socket.localPort);
    const serverPid = servers.get(port);
    if (serverPid === undefined || socket.pid !== serverPid) return [];
    const peerPid = holders.get(end(socket.peerAddress, socket.peerPort)) ?? null;
    if (peerPid !== null && ownPids.includes(peerPid)) return [];
    return [{ port, serverPid, peerPid, peerAddress: socket.peerAddress }];
  });
  return { listening, clients };
}

/**
 * Makes a look of all processes and connections. Pure but for the clock.
 *
 * @param connections null where they could not be listed
 * @param begun when the look began, on the monotonic clock
 */
export function assemble(
  everyone: ReadonlyMap<number, ProcessInfo>,
  connections: readonly ListedConnection[] | null,
  request: LookRequest,
  recognise: Recognise,
  place: Pick<LookingPlace, 'observer' | 'ownUid'>,
  begun: number,
  why: UnprovedProcess['why'] = 'denied',
): Look {
  const { candidates, unproved } = recogniseAll(everyone.values(), request.customKinds, recognise, place.ownUid, why);
  const table = new Map([...everyone].map(([pid, info]) => [pid, { stat: info }]));
  const roots = [...candidates.map(({ pid }) => pid), ...(request.trees ?? [])];
  const first = relevant(table, roots, request.include);
  const seen = new Map([...everyone].filter(([pid]) => first.all.has(pid)));
  const { all, trees } = relevant(table, roots, [...request.include, ...besideServers(table, seen)]);
  const sockets = attribute(connections ?? [], trees, request.ownPids);
  const wanted = new Set([...all, ...sockets.clients.flatMap(({ peerPid }) => (peerPid === null ? [] : [peerPid]))]);
  const processes = new Map([...everyone].filter(([pid]) => wanted.has(pid)));
  return {
    observer: place.observer,
    takenAt: Date.now(),
    tookMs: performance.now() - begun,
    counted: everyone.size,
    processes,
    candidates,
    unproved,
    ...sockets,
    outgoing: [],
    unixSockets: null,
    socketsReadable: connections !== null,
    ownCgroupIsContainer: false,
    ownPids: request.ownPids,
    reapers: [...processes.values()].filter((info) => isReaper(info)).map(({ pid }) => pid),
    gaps: candidates.map(({ pid }) => ({
      pid,
      why:
        'this system does not tell its environment, its ignored signals, nor where its arguments end: ' +
        'they are taken to end at blanks',
    })),
  };
}
