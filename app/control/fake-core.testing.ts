/** A core and a roll for tests of what stands above the supervisor. */
import type { Command, CommandResult, Plan } from '../roll/commands.ts';
import type { Leftover, Roll, Server, Standing } from '../roll/schema.ts';
import type { Actor, Core, Explanation, LogText } from '../supervisor/core.ts';

const AT = '2026-01-02T03:04:05.000Z';

export function fakeServer(pid: number, standing: Standing, over: Partial<Server> = {}): Server {
  return {
    id: pid.toString(16).padStart(16, '0'),
    host: 'local',
    kind: 'opencode',
    pid,
    pids: [pid],
    identity: {
      hostId: 'h',
      bootId: 'b',
      pidNamespace: 'pid:[1]',
      pid,
      startTime: `linux:${pid}`,
      pidfdId: String(pid),
    },
    standing,
    reasons: [`reason of ${pid}`],
    checks: [{ check: 'owner', label: 'No owner', result: 'holds', fact: 'node, PID 4000, exited at 03:00' }],
    health: 'ok',
    healthDetail: null,
    version: '1.18.33',
    listening: [{ address: '127.0.0.1', port: 34_801 }],
    transport: 'tcp',
    url: 'http://127.0.0.1:34801/',
    clients: [],
    busy: 'idle',
    busySign: 'no tool child',
    owner: { label: 'node launcher.js', pid: 4000, alive: false, endedAt: AT },
    processes: [
      {
        id: pid.toString(16).padStart(16, '0'),
        identity: { hostId: 'h', bootId: 'b', pidNamespace: 'pid:[1]', pid, startTime: `linux:${pid}` },
        pid,
        ppid: 1,
        name: 'opencode',
        command: 'opencode serve --port 34801',
        role: 'server',
        depth: 0,
        rssBytes: 131_000_000,
        pssBytes: null,
        state: 'S',
      },
    ],
    rssBytes: 131_000_000,
    memoryBytes: 131_000_000,
    cpuPercent: 0.4,
    startedAt: AT,
    directory: '/srv/project',
    command: ['opencode', 'serve', '--port', '34801'],
    executable: '/usr/bin/opencode',
    ownUid: true,
    duplicates: 1,
    keeps: null,
    growing: null,
    sessions: { known: true, live: 0, busy: 0 },
    supervised: null,
    reap: standing === 'leaked' ? { allowed: 'yes' } : { allowed: 'confirm', why: `It is ${standing}.` },
    stop: { allowed: 'no', why: 'Rollcall did not start it.' },
    restart: { allowed: 'no', why: 'Rollcall did not start it.' },
    ...over,
  };
}

export function fakeLeftover(pid: number, over: Partial<Leftover> = {}): Leftover {
  return {
    id: pid.toString(16).padStart(16, '0'),
    host: 'local',
    kind: 'opencode',
    pid,
    identity: { hostId: 'h', bootId: 'b', pidNamespace: 'pid:[1]', pid, startTime: `linux:${pid}` },
    ofPid: 4001,
    name: 'bash',
    command: 'bash -c sleep 100',
    reasons: ['its server, PID 4001, is gone'],
    rssBytes: 4_000_000,
    startedAt: AT,
    directory: '/srv/project',
    processes: [],
    reap: { allowed: 'yes' },
    ...over,
  };
}

export function fakeRoll(version: number, over: Partial<Roll> = {}): Roll {
  return {
    version,
    takenAt: AT,
    hosts: [
      {
        id: 'local',
        name: 'local',
        state: 'connected',
        hostname: 'box',
        detail: null,
        lookedAt: AT,
        counted: 120,
        partial: null,
        signalling: { method: 'pidfd', note: '' },
        cpuPercent: 3,
        memoryTotalBytes: 16_000_000_000,
        memoryUsedBytes: 4_000_000_000,
        load1: 0.5,
        ssh: null,
      },
    ],
    servers: [fakeServer(4711, 'leaked')],
    leftovers: [],
    ended: [],
    records: [],
    sessions: [],
    alerts: [],
    tasks: [],
    timeline: [],
    startable: [{ kind: 'opencode', available: true, detail: '/usr/bin/opencode' }],
    questions: [],
    offered: [],
    settings: {
      reapAsk: 'others',
      graceSeconds: 120,
      configPath: '/nowhere/config.json',
      configProblem: null,
      stopLocalServers: true,
      statePath: '/nowhere/state',
      hooks: 0,
    },
    ...over,
  };
}

/** What a command gets unless a test says otherwise. */
export const FAKE_DONE: CommandResult = { ok: true, message: 'Done.', server: null, results: [] };

export class FakeCore implements Core {
  roll: Roll;
  readonly ran: { readonly command: Command; readonly by: Actor }[] = [];
  readonly planned: ('leaked' | readonly string[])[] = [];
  onRun: (command: Command) => Promise<CommandResult> = async () => FAKE_DONE;
  onPlan: () => Promise<Plan> = async () => ({ rows: [], freesBytes: 0, processes: 0, busy: 0 });
  onExplain: (target: string, host: string | null) => Promise<Explanation> = async (target) => ({
    server: null,
    leftover: null,
    text: `PID ${target} is bash; no kind of server matches it.`,
  });
  readonly #listeners = new Set<(roll: Roll) => void>();

  constructor(roll: Roll = fakeRoll(1)) {
    this.roll = roll;
  }

  push(roll: Roll): void {
    this.roll = roll;
    for (const listener of this.#listeners) listener(roll);
  }

  subscribe(listener: (roll: Roll) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  run(command: Command, by: Actor): Promise<CommandResult> {
    this.ran.push({ command, by });
    return this.onRun(command);
  }

  plan(targets: 'leaked' | readonly string[]): Promise<Plan> {
    this.planned.push(targets);
    return this.onPlan();
  }

  explain(target: string, host: string | null = null): Promise<Explanation> {
    return this.onExplain(target, host);
  }

  async readLog(server: string): Promise<LogText> {
    return { path: `/nowhere/${server}.log`, text: 'listening\n', truncated: false };
  }
}
