/** Rolls for tests of the desktop alone, with the numbers of the look's own examples where they have any. */
import type { Alert, Ended, Leftover, Question, Roll, Server, SshEntry, Standing } from '../../app/roll/schema.ts';

const AT = '2026-11-30T08:00:00.000Z';

/** A 16-digit id that tells tests which server it is. */
export const idOf = (n: number): string => n.toString(16).padStart(16, '0');

export function server(pid: number, standing: Standing, over: Partial<Server> = {}): Server {
  return {
    id: idOf(pid),
    host: 'local',
    kind: 'opencode',
    pid,
    pids: [pid],
    identity: { hostId: 'h', bootId: 'b', pidNamespace: 'pid:[1]', pid, startTime: `linux:${pid}` },
    standing,
    reasons: ['its owner `node launcher.js`, PID 4000, exited at 07:50', 'no client connected'],
    checks: [],
    health: 'ok',
    healthDetail: null,
    version: '1.18.33',
    listening: [{ address: '127.0.0.1', port: 30_000 + (pid % 10_000) }],
    transport: 'tcp',
    url: `http://127.0.0.1:${30_000 + (pid % 10_000)}/`,
    clients: [],
    busy: 'idle',
    busySign: 'no tool child',
    owner: null,
    processes: [],
    rssBytes: 131_000_000,
    memoryBytes: 131_000_000,
    cpuPercent: 0.1,
    startedAt: AT,
    directory: '/srv/shop',
    command: ['opencode', 'serve'],
    executable: '/usr/bin/opencode',
    ownUid: true,
    duplicates: 1,
    keeps: null,
    growing: null,
    sessions: { known: true, live: 0, busy: 0 },
    supervised:
      standing === 'supervised'
        ? {
            recordPath: `/state/records/${pid}.json`,
            keepRunning: false,
            logPath: null,
            nonceSeen: true,
            state: 'ready',
            idleMinutes: null,
            idleStopAt: null,
            outdated: null,
          }
        : null,
    reap: standing === 'leaked' ? { allowed: 'yes' } : { allowed: 'confirm', why: 'It is not leaked.' },
    stop: standing === 'supervised' ? { allowed: 'yes' } : { allowed: 'no', why: 'Rollcall did not start it.' },
    restart: standing === 'supervised' ? { allowed: 'yes' } : { allowed: 'no', why: 'Rollcall did not start it.' },
    ...over,
  };
}

export function leftover(pid: number, rssBytes: number): Leftover {
  return {
    id: idOf(pid),
    host: 'local',
    kind: 'opencode',
    pid,
    identity: { hostId: 'h', bootId: 'b', pidNamespace: 'pid:[1]', pid, startTime: `linux:${pid}` },
    ofPid: 1234,
    name: 'bash',
    command: 'bash -c sleep 600',
    reasons: ['its server, PID 1234, is gone'],
    rssBytes,
    startedAt: AT,
    directory: null,
    processes: [],
    reap: { allowed: 'yes' },
  };
}

/** A server of ours that ended; `n` tells it from others. */
export function ended(n: number, over: Partial<Ended> = {}): Ended {
  return {
    nonce: `${n.toString(16).padStart(8, '0')}-5d0c-4c55-8a57-6f1e2d3c4b5a`,
    host: 'local',
    kind: 'opencode',
    label: `opencode :${4095 + n} on local`,
    directory: '/srv/shop',
    pid: 4000 + n,
    state: 'lost',
    why: 'it was ended by SIGKILL',
    endedAt: AT,
    attempt: 1,
    attempts: 5,
    retryAt: '2026-11-30T08:00:01.000Z',
    logPath: `/state/logs/${n}.log`,
    ...over,
  };
}

/** What the supervisor's alerts say of it. */
export function endedAlert({ nonce, label, state }: Ended): Alert {
  return {
    id: `ended-${nonce}`,
    level: state === 'failed' ? 'fault' : 'notice',
    title: `${label} ended unexpectedly`,
    detail: 'The window says what happens next.',
    act: state === 'planned' ? 'none' : 'start-again',
    servers: [],
    ended: nonce,
  };
}

/** What is particular to a host over SSH. */
export function ssh(alias: string, over: Partial<SshEntry> = {}): SshEntry {
  return {
    alias,
    saved: true,
    connect: 'at-start',
    sharedWith: null,
    target: `dev@${alias}.example.net:22`,
    steps: [],
    attempt: 0,
    retryAt: null,
    failure: null,
    ...over,
  };
}

export function question(type: Question['type'], over: Partial<Question> = {}): Question {
  return {
    id: `q-${type}`,
    host: 'web-eu',
    type,
    text: `ssh asks for a ${type}`,
    fingerprint: null,
    keyPath: null,
    attempt: 1,
    until: '2036-11-30T08:02:00.000Z',
    ...over,
  };
}

export function host(name: string, over: Partial<Roll['hosts'][number]> = {}): Roll['hosts'][number] {
  return {
    id: `id-${name}`,
    name,
    state: 'connected',
    hostname: name === 'local' ? 'desk' : name,
    detail: null,
    ssh: name === 'local' ? null : ssh(name),
    lookedAt: AT,
    counted: 312,
    partial: null,
    signalling: { method: 'pidfd', note: 'Signals go through a pidfd.' },
    cpuPercent: 4.2,
    memoryTotalBytes: 32_000_000_000,
    memoryUsedBytes: 8_000_000_000,
    load1: 0.4,
    ...over,
  };
}

export function session(on: Server, state: 'busy' | 'idle', n: number): Roll['sessions'][number] {
  return {
    key: n.toString(16).padStart(16, '0'),
    id: `ses_${n}`,
    host: on.host,
    kind: on.kind,
    server: on.id,
    carrier: `${on.kind} :4096`,
    title: `Session ${n}`,
    directory: null,
    state,
    detail: null,
    since: AT,
    startedAt: AT,
    lastActivityAt: AT,
    parent: null,
    attach: null,
    abort: { allowed: 'confirm', why: 'What it does is interrupted.' },
    end: { allowed: 'confirm', why: 'Its history is kept.' },
  };
}

export function roll(over: Partial<Roll> = {}): Roll {
  return {
    version: 1,
    takenAt: AT,
    hosts: [host('local')],
    servers: [],
    leftovers: [],
    ended: [],
    records: [],
    sessions: [],
    alerts: [],
    tasks: [],
    timeline: [],
    startable: [
      { kind: 'opencode', available: true, detail: '/usr/bin/opencode' },
      { kind: 't3', available: true, detail: '/usr/bin/t3' },
      { kind: 'codex', available: false, detail: 'codex was not found on PATH. Install it, then look again.' },
    ],
    questions: [],
    offered: [],
    settings: {
      reapAsk: 'others',
      graceSeconds: 120,
      configPath: '/config/config.json',
      configProblem: null,
      stopLocalServers: true,
      statePath: '/state',
      hooks: 0,
    },
    ...over,
  };
}
