/**
 * Looks where there is no procfs: the process list comes from systeminformation, the identity from `ps`. Modest on
 * purpose: no sockets, no environments, no namespaces; what is not known is null and said to be a gap.
 */
import { execFile } from 'node:child_process';
import { hostname } from 'node:os';
import { performance } from 'node:perf_hooks';
import { promisify } from 'node:util';
import systeminformation from 'systeminformation';
import type { Observer, StartTime } from '../../identity/identity.ts';
import { type Candidate, type Look, LookFailed, type LookRequest, type ProcessInfo } from '../host.ts';
import type { Recognise } from './collect.ts';
import { type Looker, type LookingPlace, reasonOf } from './looker.ts';
import { hashArgv } from './procfs/argv.ts';
import { isReaper } from './reapers.ts';
import { relevant } from './relevance.ts';

const run = promisify(execFile);
const PS_DEADLINE_MS = 5000;
const PS_BYTES = 64 * 1024 * 1024;

/** One process as `ps` tells it. */
export interface PsRow {
  readonly pid: number;
  readonly ppid: number;
  readonly pgrp: number;
  readonly uid: number;
  readonly state: string;
  /** As printed under `LC_ALL=C TZ=UTC`: "Mon Nov 30 06:59:38 2026". Resolution one second. */
  readonly started: string;
}

/** The start is five blank-separated words in the C locale; nothing that a process can choose is in these columns. */
const PS_COLUMNS = 'pid=,ppid=,pgid=,uid=,state=,lstart=';
const PS_ROW = /^\s*(\d+)\s+(\d+)\s+(\d+)\s+(-?\d+)\s+(\S)\S*\s+(\w{3}\s+\w{3}\s+\d+\s+[\d:]{8}\s+\d{4})\s*$/u;

/** Parses the rows of `ps -ww -axo` with the columns above; a line that is none is left out. */
export function parsePs(text: string): PsRow[] {
  const rows: PsRow[] = [];
  for (const line of text.split('\n')) {
    const [, pid, ppid, pgrp, uid, state, started] = PS_ROW.exec(line) ?? [];
    if (started === undefined || state === undefined) continue;
    rows.push({
      pid: Number(pid),
      ppid: Number(ppid),
      pgrp: Number(pgrp),
      uid: Number(uid),
      state,
      started: started.replace(/\s+/gu, ' '),
    });
  }
  return rows;
}

/**
 * Lists all processes with `ps`. The C locale and UTC are forced, for the text of a start is compared (C12). Rejects
 * with `LookFailed`.
 */
export async function psRows(): Promise<PsRow[]> {
  try {
    const { stdout } = await run('ps', ['-ww', '-axo', PS_COLUMNS], {
      env: { PATH: process.env['PATH'] ?? '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' },
      timeout: PS_DEADLINE_MS,
      maxBuffer: PS_BYTES,
    });
    const rows = parsePs(stdout);
    // It lists at least itself; nothing means that its output was not understood, never that nothing runs.
    if (rows.length === 0) throw new Error('ps listed no process');
    return rows;
  } catch (error) {
    throw new LookFailed(reasonOf(error), error);
  }
}

/** Looks through systeminformation and `ps`, on any system that has them. */
export function portableLooker(recognise: Recognise): Looker {
  let place: LookingPlace | null = null;
  const observer = (): Observer => {
    if (place === null) throw new LookFailed('the looker has not been started');
    return place.observer;
  };
  const read = async (): Promise<Map<number, ProcessInfo>> => {
    const [rows, listed] = await Promise.all([psRows(), systeminformation.processes()]);
    const bySystem = new Map(listed.list.map((entry) => [entry.pid, entry]));
    const infos = new Map<number, ProcessInfo>();
    for (const row of rows) {
      const entry = bySystem.get(row.pid);
      const commandLine =
        entry === undefined ? '' : [entry.path, entry.command, entry.params].filter(Boolean).join(' ');
      infos.set(row.pid, describe(row, commandLine, entry, observer()));
    }
    return infos;
  };
  return {
    async start(where) {
      place = where;
    },
    async look(request) {
      const begun = performance.now();
      return assemble(await read(), request, recognise, observer(), begun);
    },
    async inspect(pid) {
      return (await read()).get(pid) ?? null;
    },
    async portHolder(port) {
      const connections = await systeminformation.networkConnections().catch((error: unknown) => {
        throw new LookFailed(reasonOf(error), error);
      });
      const listener = connections.find(({ state, localPort }) => state === 'LISTEN' && Number(localPort) === port);
      if (listener === undefined) return null;
      return listener.pid > 0 ? ((await read()).get(listener.pid) ?? 'unreadable') : 'unreadable';
    },
    async close() {
      place = null;
    },
  };
}

function describe(
  row: PsRow,
  commandLine: string,
  entry: systeminformation.Systeminformation.ProcessesProcessData | undefined,
  observer: Observer,
): ProcessInfo {
  const startTime: StartTime = `darwin:${row.started}`;
  // `ps` joins arguments by blanks, so where they end cannot be told; recognition gets what there is.
  const argv = commandLine === '' ? [] : commandLine.split(' ');
  return {
    identity: { ...observer, pid: row.pid, startTime },
    pid: row.pid,
    ppid: row.ppid,
    pgrp: row.pgrp,
    session: row.pgrp,
    tty: 0,
    tpgid: -1,
    state: row.state,
    threads: 1,
    startTime,
    startedAt: Date.parse(`${row.started} UTC`),
    ageMs: Math.max(0, Date.now() - Date.parse(`${row.started} UTC`)),
    comm: (argv[0] ?? '').split('/').at(-1) ?? '',
    argv,
    argvHash: commandLine === '' ? null : hashArgv(Buffer.from(commandLine)),
    executable: null,
    cwd: null,
    uid: row.uid,
    rssBytes: (entry?.memRss ?? 0) * 1024,
    pssBytes: null,
    cpuPercent: entry?.cpu ?? null,
    ignoresHangup: null,
    cgroup: null,
    ownPidNamespace: null,
    marks: {},
  };
}

function assemble(
  everyone: ReadonlyMap<number, ProcessInfo>,
  request: LookRequest,
  recognise: Recognise,
  observer: Observer,
  begun: number,
): Look {
  const candidates: Candidate[] = [];
  for (const info of everyone.values()) {
    const recognition = recognise({ comm: info.comm, argv: info.argv, executablePath: null }, request.customKinds);
    if (recognition !== null) candidates.push({ pid: info.pid, recognition });
  }
  const table = new Map([...everyone].map(([pid, info]) => [pid, { stat: info }]));
  const { all } = relevant(
    table,
    candidates.map(({ pid }) => pid),
    request.include,
  );
  const processes = new Map([...everyone].filter(([pid]) => all.has(pid)));
  return {
    observer,
    takenAt: Date.now(),
    tookMs: performance.now() - begun,
    counted: everyone.size,
    processes,
    candidates,
    listening: [],
    clients: [],
    outgoing: [],
    socketsReadable: false,
    ownCgroupIsContainer: false,
    reapers: [...processes.values()].filter(isReaper).map(({ pid }) => pid),
    gaps: candidates.map(({ pid }) => ({
      pid,
      why: `${hostname()} has no /proc: its sockets, environment and ignored signals cannot be read`,
    })),
  };
}
