/** A core that shows a given roll and remembers what it was asked; for tests of the desktop alone. */
import { existsSync, readFileSync } from 'node:fs';
import type { Command, CommandResult, Plan } from '../../app/roll/commands.ts';
import { type Roll, rollSchema } from '../../app/roll/schema.ts';
import type { Actor, LocalCore, QuitReport } from '../../app/supervisor/core.ts';

/** What a test reaches through `globalThis.fixture` in the app's main process. */
export interface Fixture {
  setRoll(roll: Roll): void;
  /** What every plan lists. */
  plan: Plan;
  readonly commands: { readonly command: Command; readonly by: Actor }[];
  closes: number;
  /** What was answered to questions of ssh. */
  readonly answers: { readonly id: string; readonly answer: string | null }[];
  /** Answers to commands, by name, in place of the plain success; `null` leaves them open. */
  results: Record<string, CommandResult | null>;
}

/** What a server that ended wrote. */
const LOG = 'opencode server listening on http://127.0.0.1:4402\nerror: cannot open database: disk I/O error\n';

/** It closes once the file is gone that `ROLLCALL_FIXTURE_CLOSE_WHILE` names. */
export function openFixtureCore(env: NodeJS.ProcessEnv): LocalCore & { readonly fixture: Fixture } {
  let roll = rollSchema.parse(JSON.parse(readFileSync(env['ROLLCALL_FIXTURE_ROLL'] ?? '', 'utf8')));
  const listeners = new Set<(roll: Roll) => void>();
  const fixture: Fixture = {
    plan: { rows: [], freesBytes: 0, processes: 0, busy: 0 },
    commands: [],
    closes: 0,
    answers: [],
    results: {},
    setRoll(next) {
      roll = rollSchema.parse({ ...next, version: roll.version + 1 });
      for (const listener of listeners) listener(roll);
    },
  };
  return {
    fixture,
    get roll() {
      return roll;
    },
    hooksDue: 0,
    watchedWhile: () => undefined,
    answer(id, answer) {
      fixture.answers.push({ id, answer });
      return true;
    },
    wake: () => undefined,
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    async run(command, by): Promise<CommandResult> {
      // What the app asks for by itself (a look when the window opens) is no person's act.
      if (by !== 'app') fixture.commands.push({ command, by });
      const given = fixture.results[command.command];
      if (given === null) return new Promise(() => undefined);
      if (given !== undefined) return given;
      const gone = roll.servers.filter((server) => server.standing === 'leaked');
      const results = command.command === 'reap' ? gone : [];
      return {
        ok: true,
        message: 'done',
        server: null,
        results: results.map((server) => ({
          pid: server.pid,
          id: server.id,
          label: `${server.kind} <b>&amp;`,
          outcome: 'gone',
          verdict: 'same',
          signals: [],
          message: '',
          freedBytes: server.memoryBytes,
        })),
      };
    },
    plan: async () => fixture.plan,
    explain: async () => ({ server: null, leftover: null, text: '' }),
    async readLog(server) {
      const path = roll.ended.find(({ nonce }) => nonce === server)?.logPath ?? null;
      return { path, text: path === null ? '' : LOG, truncated: false };
    },
    supervised: () => [],
    async close(): Promise<QuitReport> {
      fixture.closes += 1;
      const held = env['ROLLCALL_FIXTURE_CLOSE_WHILE'];
      while (held !== undefined && existsSync(held)) await new Promise((done) => setTimeout(done, 20));
      const supervised = roll.servers.filter((server) => server.supervised !== null);
      return { stopped: supervised.length, leftRunning: 0, failed: [] };
    },
  };
}
