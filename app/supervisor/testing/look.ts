/** Looks made by hand, for the pure parts that judge them. */
import type { Look, ProcessInfo } from '../../hosts/host.ts';

const OBSERVER = { hostId: 'host', bootId: 'boot', pidNamespace: '1' };

/** A process of uid 1000 in a session of its own under init, with what `rest` says otherwise. */
export function process(pid: number, ticks: number, rest: Partial<ProcessInfo> = {}): ProcessInfo {
  const startTime = `linux:${ticks}` as const;
  const program = rest.argv?.[0] ?? 'opencode';
  return {
    identity: { ...OBSERVER, pid, startTime, pidfdId: `${pid}-${ticks}` },
    pid,
    ppid: 1,
    pgrp: pid,
    session: pid,
    tty: 0,
    tpgid: -1,
    state: 'S',
    threads: 1,
    startTime,
    startedAt: ticks * 10,
    ageMs: 0,
    comm: 'opencode',
    argv: ['opencode', 'serve'],
    argvHash: 'a',
    executable: { path: program.startsWith('/') ? program : `/usr/bin/${program}`, device: '1', inode: '1' },
    cwd: '/',
    uid: 1000,
    rssBytes: 0,
    pssBytes: null,
    cpuPercent: null,
    ignoresHangup: false,
    cgroup: null,
    ownPidNamespace: '1',
    marks: {},
    ...rest,
  };
}

/** The tests' own process; `process` is a builder here. */
const SELF = globalThis.process.pid;

/** A look that saw exactly these. */
export function lookAt(...processes: readonly ProcessInfo[]): Look {
  return {
    observer: OBSERVER,
    takenAt: 0,
    tookMs: 0,
    counted: processes.length,
    processes: new Map(processes.map((info) => [info.pid, info])),
    candidates: [],
    unproved: [],
    listening: [],
    clients: [],
    outgoing: [],
    unixSockets: [],
    socketsReadable: true,
    ownCgroupIsContainer: false,
    ownPids: [SELF],
    reapers: [],
    gaps: [],
  };
}
