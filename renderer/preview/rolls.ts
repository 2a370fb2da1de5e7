/** Example rolls for looking at the window and for its tests. The numbers add up: 16 servers, 8.76 GB, 3 leaked, 4.31 GB. */
import type {
  AuditEntry,
  Check,
  Leftover,
  ProcessRow,
  Roll,
  Server,
  SshEntry,
  Standing,
} from '../../app/roll/schema.ts';
import { ago, DAY, HOME, HOUR, id, MINUTE, TAKEN_AT } from './base.ts';
import { exampleSessions } from './sessions.ts';

export { HOME, TAKEN_AT } from './base.ts';

const MB = 1_000_000;

function identity(pid: number): Server['identity'] {
  return { hostId: 'h1', bootId: 'b1', pidNamespace: '4026531836', pid, startTime: `linux:${pid}00` };
}

function processRow(pid: number, depth: number, command: string, megabytes: number): ProcessRow {
  return {
    id: id(pid),
    identity: identity(pid),
    pid,
    ppid: 1,
    name: command.split(' ')[0] ?? command,
    command,
    role: depth === 0 ? 'server' : 'child',
    depth,
    rssBytes: megabytes * MB,
    pssBytes: megabytes * MB,
    state: 'S',
  };
}

const LEAKED_CHECKS: Check[] = [
  { check: 'owner', label: 'No living owner', result: 'holds', fact: 'VS Code, PID 8812, ended 2 days ago' },
  { check: 'client', label: 'No client', result: 'holds', fact: 'No connection to :34801 but Rollcall’s own' },
  { check: 'busy', label: 'Not busy', result: 'holds', fact: 'No tool child, event stream silent for 5 s' },
  { check: 'service', label: 'Not a service', result: 'holds', fact: 'No unit or container' },
  { check: 'detached', label: 'Not detached on purpose', result: 'holds', fact: 'Hangup is not ignored' },
  { check: 'grace', label: 'Older than the grace period', result: 'holds', fact: 'Alone for 2 days; grace is 2 min' },
  { check: 'identity', label: 'Identity is proved', result: 'holds', fact: 'PID 41207, verdict same' },
];

const SUSPECT_CHECKS: Check[] = [
  { check: 'owner', label: 'No living owner', result: 'holds', fact: 'Its shell, PID 50020, ended 31 min ago' },
  {
    check: 'client',
    label: 'No client',
    result: 'does-not-hold',
    fact: 'node, PID 50112, holds 2 connections to :14200',
  },
  {
    check: 'service',
    label: 'Not a service',
    result: 'could-not-run',
    fact: 'Its unit could not be read: access denied',
  },
];

interface Brief {
  readonly host: string;
  readonly kind: string;
  readonly pid: number;
  readonly standing: Standing;
  readonly place: number | 'stdio' | 'socket';
  readonly directory: string;
  readonly owner: string | null;
  readonly busy?: Server['busy'];
  readonly cpu: number | null;
  readonly megabytes: number;
  readonly age: number;
}

function permissions(brief: Brief): Pick<Server, 'reap' | 'stop' | 'restart'> {
  const no = (why: string): Server['reap'] => ({ allowed: 'no', why });
  if (brief.standing === 'supervised') {
    const why = 'It is busy: a session is at work on it.';
    const stop: Server['stop'] = brief.busy === 'busy' ? { allowed: 'force', why } : { allowed: 'yes' };
    return { reap: no('It is supervised; stop it instead.'), stop, restart: stop };
  }
  const notOurs = no('Rollcall does not supervise it, so it can only be reaped.');
  const reap: Record<Exclude<Standing, 'supervised'>, Server['reap']> = {
    leaked: { allowed: 'yes' },
    suspect: { allowed: 'confirm', why: 'It is suspect, not leaked: somebody still uses it.' },
    detached: { allowed: 'confirm', why: 'It is detached: somebody meant it to stay.' },
    owned: { allowed: 'force', why: `It is owned by ${brief.owner ?? 'somebody'}, which is alive.` },
    service: { allowed: 'force', why: `It is a service: ${brief.owner ?? 'its unit'} starts it again.` },
  };
  return { reap: reap[brief.standing], stop: notOurs, restart: notOurs };
}

function server(brief: Brief): Server {
  const port = typeof brief.place === 'number' ? brief.place : null;
  const serves =
    brief.kind === 'codex'
      ? ['app-server', ...(port === null ? [] : ['--listen', `ws://127.0.0.1:${port}`])]
      : ['serve', ...(port === null ? [] : ['--port', String(port)])];
  const command = [brief.kind, ...serves];
  const alive = brief.standing !== 'leaked';
  return {
    id: id(brief.pid),
    host: brief.host,
    kind: brief.kind,
    pid: brief.pid,
    pids: [brief.pid],
    identity: identity(brief.pid),
    standing: brief.standing,
    reasons: [
      brief.standing === 'leaked' ? 'Its owner is gone and nobody uses it.' : `${brief.owner ?? 'Nobody'} owns it.`,
    ],
    checks: brief.standing === 'leaked' ? LEAKED_CHECKS : brief.standing === 'suspect' ? SUSPECT_CHECKS : [],
    health: 'ok',
    healthDetail: null,
    version: brief.kind === 'opencode' ? '1.18.33' : null,
    listening: port === null ? [] : [{ address: '127.0.0.1', port }],
    transport: typeof brief.place === 'number' ? 'tcp' : brief.place,
    url: port === null ? null : `http://127.0.0.1:${port}`,
    clients: brief.standing === 'suspect' ? [{ label: 'node, PID 50112', pid: 50_112, connections: 2 }] : [],
    busy: brief.busy ?? 'idle',
    busySign: brief.busy === 'busy' ? 'a tool child is at work' : 'no tool child, event stream silent for 5 s',
    owner: brief.owner === null ? null : { label: brief.owner, pid: 8812, alive, endedAt: alive ? null : ago(2 * DAY) },
    processes: [processRow(brief.pid, 0, command.join(' '), brief.megabytes)],
    rssBytes: brief.megabytes * MB,
    memoryBytes: brief.megabytes * MB,
    cpuPercent: brief.cpu,
    startedAt: ago(brief.age),
    directory: brief.directory,
    command,
    executable: `/usr/local/bin/${brief.kind}`,
    ownUid: true,
    duplicates: 1,
    keeps: null,
    growing: null,
    sessions: { known: true, live: 0, busy: 0 },
    supervised:
      brief.standing === 'supervised'
        ? {
            recordPath: `${HOME}/.local/state/rollcall/records/${brief.pid}.json`,
            keepRunning: false,
            logPath: `${HOME}/.local/state/rollcall/logs/${brief.pid}.log`,
            nonceSeen: true,
            state: 'ready',
            idleMinutes: null,
            idleStopAt: null,
            outdated: null,
          }
        : null,
    ...permissions(brief),
  };
}

type HostBrief = Pick<Roll['hosts'][number], 'name' | 'state' | 'hostname'> & {
  readonly lookedAgo: number;
  readonly ssh?: Partial<SshEntry>;
};

function ssh(brief: HostBrief): SshEntry {
  return {
    alias: brief.name,
    saved: true,
    connect: 'at-start',
    sharedWith: null,
    target: brief.hostname,
    steps: [],
    attempt: 0,
    retryAt: null,
    failure: null,
    ...brief.ssh,
  };
}

function host(brief: HostBrief): Roll['hosts'][number] {
  return {
    id: brief.name,
    name: brief.name,
    state: brief.state,
    ssh: brief.name === 'local' ? null : ssh(brief),
    hostname: brief.hostname,
    detail: null,
    lookedAt: brief.state === 'disconnected' ? null : ago(brief.lookedAgo),
    counted: 312,
    partial: null,
    signalling: {
      method: 'pidfd',
      note: 'Signals go through a process handle, so they reach only the process that was proved.',
    },
    cpuPercent: 31.4,
    memoryTotalBytes: 33_400 * MB,
    memoryUsedBytes: 12_900 * MB,
    load1: 1.24,
  };
}

function servers(): Server[] {
  const local = { host: 'local' } as const;
  const build = { host: 'build-01' } as const;
  const mac = { host: 'studio-mac', cpu: null } as const;
  const list = [
    server({
      ...local,
      kind: 'opencode',
      pid: 41_207,
      standing: 'leaked',
      place: 34_801,
      directory: `${HOME}/src/atlas`,
      owner: 'VS Code',
      cpu: 0.4,
      megabytes: 1840,
      age: 2 * DAY + 4 * HOUR,
    }),
    server({
      ...local,
      kind: 'codex',
      pid: 52_914,
      standing: 'leaked',
      place: 41_877,
      directory: `${HOME}/src/parser`,
      owner: 'npx',
      cpu: 0,
      megabytes: 131,
      age: 5 * HOUR + 12 * MINUTE,
    }),
    server({
      ...local,
      kind: 'opencode',
      pid: 50_087,
      standing: 'suspect',
      place: 14_200,
      directory: `${HOME}/src/kestrel`,
      owner: null,
      cpu: 0.3,
      megabytes: 412,
      age: 38 * MINUTE,
    }),
    server({
      ...local,
      kind: 'opencode',
      pid: 30_010,
      standing: 'supervised',
      place: 4096,
      directory: `${HOME}/src/ledger`,
      owner: 'Rollcall',
      busy: 'busy',
      cpu: 18.2,
      megabytes: 640,
      age: 3 * HOUR + 2 * MINUTE,
    }),
    server({
      ...local,
      kind: 't3',
      pid: 30_044,
      standing: 'supervised',
      place: 3773,
      directory: `${HOME}/src/notes`,
      owner: 'Rollcall',
      cpu: 0.6,
      megabytes: 288,
      age: 3 * HOUR + 2 * MINUTE,
    }),
    server({
      ...local,
      kind: 'codex',
      pid: 60_211,
      standing: 'owned',
      place: 'stdio',
      directory: `${HOME}/src/parser`,
      owner: 'Zed',
      busy: 'busy',
      cpu: 6.1,
      megabytes: 86,
      age: 51 * MINUTE,
    }),
    server({
      ...local,
      kind: 'opencode',
      pid: 1220,
      standing: 'service',
      place: 4100,
      directory: `${HOME}/srv/handbook`,
      owner: 'opencode.service',
      busy: 'unknown',
      cpu: 0.2,
      megabytes: 303,
      age: 12 * DAY,
    }),
    server({
      ...build,
      kind: 'opencode',
      pid: 20_931,
      standing: 'leaked',
      place: 4096,
      directory: '/home/dev/code/importer',
      owner: 'a shell',
      cpu: 0.7,
      megabytes: 2340,
      age: DAY + 9 * HOUR,
    }),
    server({
      ...build,
      kind: 'opencode',
      pid: 20_533,
      standing: 'supervised',
      place: 4500,
      directory: '/home/dev/code/site',
      owner: 'Rollcall',
      busy: 'busy',
      cpu: 31,
      megabytes: 512,
      age: DAY + 2 * HOUR,
    }),
    server({
      ...build,
      kind: 'opencode',
      pid: 20_777,
      standing: 'owned',
      place: 39_115,
      directory: '/home/dev/code/api',
      owner: 'VS Code Server',
      cpu: 0,
      megabytes: 418,
      age: 2 * HOUR + 6 * MINUTE,
    }),
    server({
      ...build,
      kind: 'opencode',
      pid: 20_801,
      standing: 'detached',
      place: 4180,
      directory: '/home/dev/bench',
      owner: null,
      cpu: 0.3,
      megabytes: 371,
      age: 6 * DAY + HOUR,
    }),
    server({
      host: 'gpu-rack',
      kind: 'opencode',
      pid: 7011,
      standing: 'supervised',
      place: 4096,
      directory: '/home/train/train',
      owner: 'Rollcall',
      busy: 'busy',
      cpu: 9.4,
      megabytes: 690,
      age: 2 * HOUR + 11 * MINUTE,
    }),
    server({
      host: 'gpu-rack',
      kind: 'codex',
      pid: 900,
      standing: 'service',
      place: 'socket',
      directory: '/home/train/train',
      owner: 'codex.service',
      busy: 'unknown',
      cpu: 0,
      megabytes: 92,
      age: 31 * DAY,
    }),
    server({
      ...mac,
      kind: 'opencode',
      pid: 8100,
      standing: 'supervised',
      place: 4096,
      directory: '/Users/ada/Sites/shop',
      owner: 'Rollcall',
      megabytes: 330,
      age: DAY + 5 * HOUR,
    }),
    server({
      ...mac,
      kind: 't3',
      pid: 8101,
      standing: 'supervised',
      place: 3773,
      directory: '/Users/ada/Sites/blog',
      owner: 'Rollcall',
      busy: 'unknown',
      megabytes: 214,
      age: DAY + 5 * HOUR,
    }),
    server({
      ...mac,
      kind: 'codex',
      pid: 8102,
      standing: 'owned',
      place: 'stdio',
      directory: '/Users/ada/Sites/shop',
      owner: 'Zed',
      busy: 'unknown',
      megabytes: 88,
      age: HOUR + 15 * MINUTE,
    }),
  ];
  for (const row of list) {
    if (row.pid === 41_207) {
      row.growing = '310 MB more in an hour';
      row.processes = [
        processRow(41_207, 0, 'opencode serve --port 34801', 1210),
        processRow(41_261, 1, 'rust-analyzer', 386),
        processRow(41_260, 1, 'node mcp-github --stdio', 212),
        processRow(41_263, 1, 'node mcp-notes --stdio', 32),
      ];
    }
    if (row.pid === 20_777) {
      row.health = 'unresponsive';
      row.healthDetail = 'No answer from its health endpoint within 2 s.';
    }
  }
  return list;
}

const LEFTOVER: Leftover = {
  id: id(70_100),
  host: 'local',
  kind: 'opencode',
  pid: 70_100,
  identity: identity(70_100),
  ofPid: 39_902,
  name: 'node',
  command: 'node mcp-github --stdio',
  reasons: ['It carries the mark of opencode, PID 39902, which is gone.'],
  rssBytes: 64 * MB,
  startedAt: ago(4 * HOUR),
  directory: `${HOME}/src/atlas`,
  processes: [processRow(70_100, 0, 'node mcp-github --stdio', 64)],
  reap: { allowed: 'yes' },
};

function records(): Roll['records'] {
  const entry = { clearable: true, keptBecause: null, sha256: 'a'.repeat(64), kind: null, directory: null } as const;
  return [
    {
      ...entry,
      host: 'build-01',
      source: 't3',
      path: '/home/dev/.t3/ssh-launch/9f3c21d07ab4e6f8/pid',
      pid: 4121,
      verdict: 'reused',
      detail: 'Names PID 4121, which is now postgres, started 3 days ago.',
      writtenAt: ago(12 * DAY),
    },
    {
      ...entry,
      host: 'local',
      source: 'rollcall',
      path: `${HOME}/.local/state/rollcall/records/opencode-4096.json`,
      pid: 18_220,
      verdict: 'gone',
      detail: 'Names PID 18220 of an earlier boot; the machine has booted since.',
      writtenAt: ago(13 * DAY),
    },
    {
      ...entry,
      host: 'local',
      source: 'opencode',
      path: `${HOME}/.local/state/opencode/service.json`,
      pid: 3906,
      verdict: 'thread',
      detail: 'Names PID 3906, which is a thread of code.',
      writtenAt: ago(4 * DAY + 2 * HOUR),
    },
    {
      ...entry,
      host: 'build-01',
      source: 'opencode',
      path: '/home/kim/.local/state/opencode/service.json',
      pid: 771,
      verdict: 'unknown',
      detail: 'PID 771 could not be read: access denied.',
      clearable: false,
      keptBecause: 'This record is kept: its process belongs to another user and cannot be read.',
      writtenAt: ago(9 * DAY),
    },
  ];
}

function timeline(): AuditEntry[] {
  const at = (
    ms: number,
    event: string,
    hostName: string,
    pid: number | null,
    subject: string,
    text: string,
    session: number | null = null,
  ): AuditEntry => ({
    at: ago(ms),
    event,
    host: hostName,
    pid,
    server: pid === null ? null : id(pid),
    session: session === null ? null : id(0x5e5_0000 + session),
    subject,
    text,
  });
  return [
    at(
      3000,
      'idle-soon',
      'local',
      39_910,
      'opencode :4410 on local',
      'it has been idle for 29 min and stops at 14:33, as it was set to',
    ),
    at(
      MINUTE,
      'session-started',
      'build-01',
      20_533,
      'Rewrite the landing page header',
      'it began on opencode :4500',
      2,
    ),
    at(MINUTE + 20_000, 'session-aborted', 'local', 30_010, 'Add CSV import', 'it was interrupted from the window', 9),
    at(MINUTE + 21_000, 'session-idle', 'local', 30_010, 'Add CSV import', 'it is idle after 4 min of work', 9),
    at(
      MINUTE + 40_000,
      'session-ended',
      'local',
      39_902,
      'Clean the fixtures',
      'its server, opencode :39902, was reaped',
    ),
    at(MINUTE + 38_000, 'hook-done', 'local', null, 'Clean the fixtures', 'entire hooks opencode session-end, 0.4 s'),
    at(
      MINUTE + 36_000,
      'hook-failed',
      'local',
      null,
      'Clean the fixtures',
      'notify-me exited with code 1, attempt 1 of 5',
    ),
    at(2 * MINUTE, 'reaped', 'local', 39_902, 'Reaped opencode :39902', '5 processes, 1.12 GB freed'),
    at(2 * MINUTE + 20_000, 'refused', 'build-01', 4121, 'Refused to signal PID 4121', 'reused by postgres'),
    at(11 * MINUTE, 'leaked', 'build-01', 20_931, 'opencode :4096 leaked', 'its shell ended, nobody is connected'),
    at(2 * HOUR, 'started', 'gpu-rack', 7011, 'Started opencode :4096', 'ready in 1.4 s'),
    at(3 * HOUR, 'adopted', 'build-01', 20_533, 'Adopted opencode :4500', 'identity same, 2 busy sessions kept'),
    at(20 * HOUR, 'quit', 'local', null, 'Rollcall quit', '2 local servers stopped, 3 remote left running'),
    at(
      21 * HOUR,
      'ended-unexpectedly',
      'local',
      30_010,
      'opencode :4096 ended unexpectedly',
      'signal 9, out of memory',
    ),
    at(22 * HOUR, 'set-aside', 'gpu-rack', null, '2 stale records moved aside', ''),
  ];
}

/** Five hosts, sixteen servers, three of them leaked; every look of a row that exists. */
export function exampleRoll(): Roll {
  const list = servers();
  return {
    version: 41,
    takenAt: TAKEN_AT.toISOString(),
    hosts: [
      host({ name: 'local', state: 'connected', hostname: 'fern', lookedAgo: 1000 }),
      host({ name: 'build-01', state: 'connected', hostname: 'dev@10.0.4.17', lookedAgo: 1000 }),
      host({ name: 'gpu-rack', state: 'connected', hostname: 'via bastion', lookedAgo: 1000 }),
      host({
        name: 'studio-mac',
        state: 'reconnecting',
        hostname: 'ada@studio-mac.local',
        lookedAgo: 45_000,
        ssh: {
          attempt: 3,
          retryAt: ago(-8000),
          failure: {
            step: 'port',
            code: 'no-route',
            message:
              'studio-mac.local port 22, where studio-mac leads, cannot be reached from here: there is no route to it.',
            remedy: 'Check that the machine is up and reachable from here, and the port in your SSH configuration.',
            output: 'ssh: connect to host studio-mac.local port 22: No route to host',
          },
        },
      }),
      host({ name: 'pi-lab', state: 'disconnected', hostname: 'pi-lab', lookedAgo: 0 }),
    ],
    servers: list,
    leftovers: [],
    ended: [],
    records: records(),
    sessions: exampleSessions(list),
    alerts: [
      {
        id: 'leaks',
        level: 'leak',
        title: '3 leaked servers hold 4.31 GB',
        detail: 'Their owners are gone (VS Code, npx, a shell), no client is connected and none is busy.',
        act: 'reap-leaked',
        servers: list.filter((row) => row.standing === 'leaked').map((row) => row.id),
      },
    ],
    tasks: [],
    questions: [],
    offered: [],
    timeline: timeline(),
    startable: [
      { kind: 'opencode', available: true, detail: '/usr/local/bin/opencode, 1.18.33' },
      { kind: 'codex', available: true, detail: '/usr/local/bin/codex' },
      {
        kind: 't3',
        available: false,
        detail: 'No t3 on PATH. Install it, or name its program in the configuration file.',
      },
    ],
    settings: {
      reapAsk: 'others',
      graceSeconds: 120,
      configPath: `${HOME}/.config/rollcall/config.json`,
      configProblem: null,
      stopLocalServers: true,
      statePath: `${HOME}/.local/state/rollcall`,
      hooks: 0,
    },
  };
}

/** Only this machine, with a leftover and another user's server. */
export function localRoll(): Roll {
  const roll = exampleRoll();
  const own = roll.servers.filter((row) => row.host === 'local');
  const kim = server({
    host: 'local',
    kind: 'opencode',
    pid: 7300,
    standing: 'leaked',
    place: 4300,
    directory: '/home/kim/lab',
    owner: null,
    cpu: 0,
    megabytes: 120,
    age: DAY,
  });
  kim.ownUid = false;
  kim.reap = { allowed: 'no', why: 'It belongs to another user, so Rollcall never signals it.' };
  return {
    ...roll,
    hosts: roll.hosts.slice(0, 1),
    servers: [...own, kim],
    leftovers: [LEFTOVER],
    sessions: roll.sessions.filter((session) => session.host === 'local'),
    records: roll.records.filter((record) => record.host === 'local'),
    timeline: roll.timeline.filter((entry) => entry.host === 'local'),
    alerts: [
      {
        id: 'leaks',
        level: 'leak',
        title: '2 leaked servers and 1 leftover hold 2.04 GB',
        detail: 'Their owners are gone (VS Code, npx), no client is connected and none is busy.',
        act: 'reap-leaked',
        servers: own.filter((row) => row.standing === 'leaked').map((row) => row.id),
      },
    ],
  };
}

/** A machine on which nothing runs. */
export function emptyRoll(): Roll {
  const roll = localRoll();
  return { ...roll, servers: [], leftovers: [], sessions: [], records: [], alerts: [], timeline: [] };
}
