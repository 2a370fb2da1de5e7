import type {
  Bridge,
  NavigationTarget,
  PushName,
  PushPayload,
  RequestName,
  RequestPayload,
  RequestResult,
} from '../../app/roll/channels.ts';
import type { Command, CommandResult, Plan } from '../../app/roll/commands.ts';
import type { ReapResult, Roll } from '../../app/roll/schema.ts';
import { leakedTotals, leftoverName, rowName } from '../../app/text/words.ts';
import { HOME } from './rolls.ts';

type Answers = { [N in RequestName]: (payload: RequestPayload<N>) => RequestResult<N> | Promise<RequestResult<N>> };

/** What the preview and the tests need to steer the other side. */
export interface FakeBridge extends Bridge {
  /** Every request in order, by name and payload. */
  readonly asked: { name: RequestName; payload: unknown }[];
  push(roll: Roll): void;
  show(place: NavigationTarget): void;
  /** Replaces the answer to one request; throwing stands for a broken connection. */
  answer<N extends RequestName>(name: N, answer: Answers[N]): void;
}

/** The plan that these targets have in an example roll. */
export function previewPlan(roll: Roll, targets: 'leaked' | readonly string[]): Plan {
  const ids: readonly string[] = targets === 'leaked' ? leakedTotals(roll).ids : targets;
  const servers = roll.servers.filter((server) => ids.includes(server.id));
  const leftovers = roll.leftovers.filter((leftover) => ids.includes(leftover.id));
  const rows: Plan['rows'] = [
    ...servers.map((server) => ({
      id: server.id,
      label: rowName(server),
      host: server.host,
      standing: server.standing,
      ownerLabel: server.owner?.label ?? null,
      memoryBytes: server.memoryBytes,
      refusal: server.reap.allowed === 'no' || server.reap.allowed === 'force' ? server.reap.why : null,
      needsForce: server.reap.allowed === 'force',
      consequences: (server.clients ?? []).map(
        (client) => `${client.label}, loses its ${client.connections} connections`,
      ),
      steps: server.processes.map((process) => ({
        pid: process.pid,
        name: process.name,
        command: process.command,
        memoryBytes: process.rssBytes,
        how: process.depth > 0 ? 'with its parent' : server.kind === 'opencode' ? 'dispose, then TERM' : 'TERM',
      })),
    })),
    ...leftovers.map((leftover) => ({
      id: leftover.id,
      label: leftoverName(leftover),
      host: leftover.host,
      standing: 'leftover' as const,
      ownerLabel: null,
      memoryBytes: leftover.rssBytes,
      refusal: null,
      needsForce: false,
      consequences: [],
      steps: [
        {
          pid: leftover.pid,
          name: leftover.name,
          command: leftover.command,
          memoryBytes: leftover.rssBytes,
          how: 'TERM',
        },
      ],
    })),
  ];
  return {
    rows,
    freesBytes: rows.reduce((sum, row) => sum + row.memoryBytes, 0),
    processes: rows.reduce((sum, row) => sum + row.steps.length, 0),
    busy: 0,
  };
}

function resultOf(roll: Roll, command: Command): CommandResult {
  if (command.command !== 'reap') return { ok: true, message: 'Done.', server: null, results: [] };
  const results: ReapResult[] = previewPlan(roll, command.targets).rows.flatMap((row) =>
    row.steps.map((step) => ({
      pid: step.pid,
      id: row.id,
      label: row.label,
      outcome: 'gone' as const,
      verdict: 'gone' as const,
      signals: [`SIGTERM ${step.pid}`],
      message: `${step.name}, PID ${step.pid}, is gone.`,
      freedBytes: step.memoryBytes,
    })),
  );
  return { ok: true, message: `Reaped ${results.length} processes.`, server: null, results };
}

/** A bridge without anybody behind it: answers from an example roll. */
export function fakeBridge(first: Roll): FakeBridge {
  let roll = first;
  const asked: FakeBridge['asked'] = [];
  const listeners: { [N in PushName]: Set<(payload: PushPayload<N>) => void> } = {
    'roll.changed': new Set(),
    show: new Set(),
  };
  const done = { ok: true as const };
  const answers: Answers = {
    'roll.get': () => roll,
    'command.run': (command) => resultOf(roll, command),
    'plan.get': ({ targets }) => previewPlan(roll, targets),
    'log.read': () => ({
      path: `${HOME}/.local/state/rollcall/logs/30010.log`,
      text: 'opencode server listening on http://127.0.0.1:4096\n14:02:17 session 7c2e idle, 214 s\n14:31:50 heartbeat\n',
      truncated: false,
    }),
    'log.open': () => done,
    'url.open': () => done,
    'url.copy': () => done,
    'text.copy': () => done,
    'folder.choose': () => ({ path: `${HOME}/src/atlas` }),
    'timeline.export': () => ({ ok: true, path: `${HOME}/Documents/rollcall-timeline-2026-11-30.json`, entries: 312 }),
    'config.open': () => done,
    'app.info': () => ({
      version: '0.1.0',
      platform: 'linux',
      home: HOME,
      hasTray: true,
      quitLabel: 'Quit, stopping 2 local servers',
      dataFolders: [
        { label: 'State', path: `${HOME}/.local/state/rollcall` },
        { label: 'Configuration', path: `${HOME}/.config/rollcall` },
        { label: 'Runtime', path: '/run/user/1000/rollcall' },
      ],
    }),
    'question.answer': () => done,
    'app.quit': () => done,
  };
  return {
    asked,
    async request<N extends RequestName>(name: N, payload: RequestPayload<N>): Promise<RequestResult<N>> {
      asked.push({ name, payload });
      return answers[name](payload);
    },
    on(name, listener) {
      listeners[name].add(listener);
      return () => listeners[name].delete(listener);
    },
    push(next) {
      roll = next;
      for (const listener of listeners['roll.changed']) listener({ type: 'whole', roll: next });
    },
    show(place) {
      for (const listener of listeners.show) listener(place);
    },
    answer(name, answer) {
      answers[name] = answer;
    },
  };
}
