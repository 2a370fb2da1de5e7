/** Sessions of the example servers; the numbers are those of the look: 5 busy, 14 idle. */
import type { Roll, Server, Session, SessionState } from '../../app/roll/schema.ts';
import { serverLabel } from '../../app/text/words.ts';
import { ago, DAY, HOME, HOUR, id, MINUTE } from './base.ts';

interface Brief {
  readonly title: string;
  /** PID of its server. */
  readonly on: number;
  readonly state?: SessionState;
  /** Milliseconds in its state. */
  readonly age: number;
  readonly more?: Partial<Session>;
}

const CLAUDE_ONLY_READ = 'Rollcall only reads what claude says of its sessions.';

/** One that claude carries in a process of its own; its file tells of it. */
const OF_CLAUDE: Partial<Session> = {
  kind: 'claude',
  server: null,
  carrier: 'claude, PID 4711',
  attach: null,
  abort: { allowed: 'no', why: CLAUDE_ONLY_READ },
  end: { allowed: 'no', why: CLAUDE_ONLY_READ },
};

/** Why nothing is known of them, in the words of the kinds. */
const UNKNOWN: Readonly<Record<string, string>> = {
  codex: 'codex tells of its threads only to a client of its own',
  t3: 't3 tells of its sessions only to a client that has been paired with it',
};

const EXAMPLES: readonly Brief[] = [
  { title: 'Move invoices to the new ledger', on: 30_010, state: 'busy', age: 4 * MINUTE },
  { title: 'Split the tokenizer into passes', on: 60_211, state: 'busy', age: 11 * MINUTE, more: OF_CLAUDE },
  { title: 'Rewrite the landing page header', on: 20_533, state: 'busy', age: MINUTE },
  { title: 'Port image tests to the new runner', on: 20_533, state: 'busy', age: 27 * MINUTE },
  { title: 'Sweep learning rates, stage 2', on: 7011, state: 'busy', age: 2 * HOUR + 4 * MINUTE },
  { title: 'Why does the export time out?', on: 30_010, age: 12 * MINUTE },
  { title: 'Shop checkout copy', on: 8100, age: 20 * MINUTE },
  { title: 'Try the kestrel cache patch', on: 50_087, age: 36 * MINUTE },
  { title: 'Outline the release notes', on: 30_010, age: 38 * MINUTE },
  { title: 'Add CSV import', on: 30_010, age: HOUR + 6 * MINUTE },
  { title: 'Review rate limits', on: 20_777, age: 2 * HOUR + MINUTE },
  { title: 'Tidy the footer links', on: 20_533, age: 3 * HOUR + 40 * MINUTE },
  { title: 'Trim unused map layers', on: 41_207, age: 5 * HOUR + 9 * MINUTE },
  { title: 'Backfill the 2019 orders', on: 20_931, age: DAY + 8 * HOUR },
  { title: 'Dry run on the staging dump, then compare the row counts', on: 20_931, age: DAY + 9 * HOUR },
  { title: 'Fix the map tile seams', on: 41_207, age: 2 * DAY + 3 * HOUR },
  { title: 'Profile the tile cache', on: 41_207, age: 2 * DAY + 3 * HOUR + MINUTE },
  { title: 'New session', on: 41_207, age: 2 * DAY + 4 * HOUR },
  { title: 'Compare two allocators', on: 20_801, age: 5 * DAY + 2 * HOUR },
];

/** What one session is, where nothing else is said. */
export function exampleSession(brief: Brief, n: number, server: Server): Session {
  const { title, state = 'idle', age, more = {} } = brief;
  const working = state === 'busy' || state === 'retrying' || state === 'waiting';
  const sessionId = `ses_5b21c9e07f${n.toString(16).padStart(2, '0')}`;
  const { url } = server;
  return {
    key: id(0x5e5_0000 + n),
    id: sessionId,
    host: server.host,
    kind: server.kind,
    server: server.id,
    carrier: serverLabel(server),
    title,
    directory: server.directory,
    state,
    detail: null,
    since: ago(age),
    startedAt: ago(age + 50 * MINUTE),
    lastActivityAt: ago(working ? 2000 : age),
    parent: null,
    attach: url === null || server.kind !== 'opencode' ? null : ['opencode', 'attach', url, '--session', sessionId],
    abort: working ? { allowed: 'yes' } : { allowed: 'no', why: 'It is not at work, so there is nothing to abort.' },
    end: { allowed: 'confirm', why: 'It is taken off the list; its history is kept.' },
    ...more,
  };
}

function carried(briefs: readonly Brief[], servers: readonly Server[]): Session[] {
  return briefs.flatMap((brief, n) => {
    const server = servers.find(({ pid }) => pid === brief.on);
    return server === undefined ? [] : [exampleSession(brief, n, server)];
  });
}

/** What is known of a server's sessions, as its row counts them. */
function countOf(server: Server, sessions: readonly Session[]): Server['sessions'] {
  const own = sessions.filter((session) => session.server === server.id && session.state !== 'ended');
  if (own.length > 0) {
    return { known: true, live: own.length, busy: own.filter(({ state }) => state === 'busy').length };
  }
  return { known: false, why: UNKNOWN[server.kind] ?? 'it is locked behind a password' };
}

/** The example's sessions, of those servers that it has. */
export function exampleSessions(servers: readonly Server[]): Session[] {
  const sessions = carried(EXAMPLES, servers);
  for (const server of servers) server.sessions = countOf(server, sessions);
  return sessions;
}

/** A roll with a session of every state, children, and one that no server carries. */
export function statesRoll(roll: Roll): Roll {
  const on = (title: string, state: SessionState, age: number, more: Partial<Session> = {}): Brief => ({
    title,
    on: 30_010,
    state,
    age,
    more,
  });
  const parent = id(0x5e5_0000);
  const sessions = carried(
    [
      on('Move invoices to the new ledger', 'busy', 4 * MINUTE),
      on('Find every caller of postInvoice', 'busy', 38_000, { parent }),
      on('Read the schema', 'idle', 3 * MINUTE, { parent }),
      on('Drop the old table', 'waiting', 90_000, { detail: 'a permission to run bash: psql -c "drop table old"' }),
      on('Summarise the release notes', 'retrying', 25_000, {
        detail: 'the model is overloaded; attempt 3 in 8 s',
        abort: { allowed: 'confirm', why: 'It waits for its next attempt, which is given up.' },
      }),
      on('Translate the help pages', 'error', 12 * MINUTE, {
        detail: 'the provider refused the key: 401 Unauthorized',
      }),
      on('', 'idle', 20 * MINUTE),
      on('Try the new formatter', 'unknown', 2 * HOUR, {
        detail: 'its tool says “compacting”, which is not known here',
      }),
      on('Clean the fixtures', 'ended', 9 * MINUTE, {
        server: null,
        carrier: 'opencode :4401',
        detail: 'its server, opencode :4401, was ended by SIGKILL',
        attach: null,
        abort: { allowed: 'no', why: 'It has ended.' },
        end: { allowed: 'no', why: 'It has ended.' },
      }),
      on('Explain this stack trace', 'busy', 70_000, {
        ...OF_CLAUDE,
        directory: `${HOME}/src/atlas`,
      }),
    ],
    roll.servers,
  );
  return {
    ...roll,
    sessions,
    servers: roll.servers.map((server) => {
      if (server.pid !== 30_010 || server.supervised === null) return server;
      const children = [
        { ...server.processes[0], depth: 1, pid: 44_210, name: 'bash', command: 'bash -c pnpm test --filter ledger' },
        { ...server.processes[0], depth: 2, pid: 44_211, name: 'node', command: 'node pnpm test' },
      ] as Server['processes'];
      return {
        ...server,
        sessions: { known: true, live: 8, busy: 2 } as const,
        supervised: { ...server.supervised, idleMinutes: 30, idleStopAt: ago(-20 * MINUTE) },
        processes: [
          ...server.processes,
          ...children.map((row) => ({
            ...row,
            id: id(row.pid),
            role: 'child' as const,
            pssBytes: null,
            rssBytes: 40e6,
          })),
        ],
      };
    }),
    settings: { ...roll.settings, hooks: 2 },
  };
}

/** Alerts of the idle stop and of hooks that failed. */
export function watchAlertsRoll(roll: Roll, act: 'keep-awake' | 'retry-hooks'): Roll {
  const states = statesRoll(roll);
  const server = states.servers.find(({ pid }) => pid === 30_010);
  return {
    ...states,
    alerts: [
      act === 'keep-awake'
        ? {
            id: 'idle-30010',
            level: 'notice',
            title: 'opencode :4096 on local stops at 14:52',
            detail: 'It has been idle for 29 min; you set it to stop after 30 min.',
            act,
            servers: server === undefined ? [] : [server.id],
          }
        : {
            id: 'hooks',
            level: 'fault',
            title: '1 session-end hook has failed 5 times',
            detail: '“Clean the fixtures” ended at 14:23; entire answered: no such session.',
            act,
            servers: [],
          },
    ],
  };
}
