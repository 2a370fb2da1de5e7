import { describe, expect, test } from 'vitest';
import type { Session, SessionState } from '../../app/roll/schema.ts';
import { exampleRoll } from '../preview/rolls.ts';
import { statesRoll } from '../preview/sessions.ts';
import { sessionActs, sessionButtons } from './sessionActs.ts';
import {
  nextSessionSort,
  noSessions,
  type SessionSort,
  type SessionsRequest,
  sessionItems,
  sessionsFooter,
} from './sessionItems.ts';

const NATURAL: SessionSort = { column: 'state', descending: true };

function items(over: Partial<SessionsRequest> = {}) {
  const { sessions, hosts } = exampleRoll();
  return sessionItems({ sessions, hosts, host: null, server: null, filter: '', sort: NATURAL, ...over });
}
const titles = (list: ReturnType<typeof items>): string[] =>
  list.map(({ session, depth }) => `${'  '.repeat(depth)}${session.title}`);

function session(key: string, state: SessionState, parent: string | null = null, at = '2026-11-30T10:00:00Z'): Session {
  const [first] = exampleRoll().sessions;
  if (first === undefined) throw new Error('the example has no session');
  return { ...first, key, title: key, state, parent, lastActivityAt: at };
}

describe('the sessions list', () => {
  test('what is at work or wants a person comes first, then the one that was active last; ended ones are past', () => {
    const { sessions, hosts } = statesRoll(exampleRoll());
    const list = items({ sessions, hosts });
    expect(list.map(({ session: { state } }) => state)).toEqual([
      'busy',
      'busy',
      'idle',
      'busy',
      'retrying',
      'waiting',
      'error',
      'idle',
      'unknown',
      'ended',
    ]);
    expect(list.filter(({ past }) => past).map(({ session: { title } }) => title)).toEqual(['Clean the fixtures']);
    expect(sessionsFooter(list)).toBe('3 busy, 1 waiting, 1 retrying, 1 with an error, 2 idle, 1 ended, 1 unknown');
    expect(sessionsFooter(items())).toBe('5 busy, 14 idle');
    const idle = items().slice(5);
    expect(titles(idle).slice(0, 3)).toEqual([
      'Why does the export time out?',
      'Shop checkout copy',
      'Try the kestrel cache patch',
    ]);
    // Its host does not answer: it was not just seen.
    expect(idle.filter(({ past }) => past).map(({ session: { host } }) => host)).toEqual(['studio-mac']);
  });

  test('a child stands under its parent, and a busy one brings its family up', () => {
    const sessions = [
      session('root', 'idle', null, '2026-11-30T08:00:00Z'),
      session('alone', 'idle', null, '2026-11-30T12:00:00Z'),
      session('child', 'idle', 'root'),
      session('grandchild', 'busy', 'child'),
      session('of one that is not listed', 'idle', 'elsewhere', '2026-11-30T11:00:00Z'),
    ];
    const order = ['root', '  child', '    grandchild', 'alone', 'of one that is not listed'];
    expect(titles(items({ sessions }))).toEqual(order);
    // By another column every row stands for itself.
    const flat = titles(items({ sessions, sort: { column: 'session', descending: false } }));
    expect(flat).toEqual(['alone', 'child', 'grandchild', 'of one that is not listed', 'root']);
  });

  test('sessions that name each other as their parents are all listed, each once', () => {
    const sessions = [
      session('a', 'busy', 'b'),
      session('b', 'busy', 'a'),
      session('c', 'busy', 'a'),
      session('self', 'busy', 'self'),
    ];
    const list = titles(items({ sessions }));
    expect(list.map((title) => title.trim()).sort()).toEqual(['a', 'b', 'c', 'self']);
    expect(list).toContain('  c');
  });

  test('host, server and every word of the filter narrow the list', () => {
    const roll = exampleRoll();
    const server = roll.servers.find(({ pid }) => pid === 41_207)?.id ?? '';
    expect(titles(items({ server }))).toEqual([
      'Trim unused map layers',
      'Fix the map tile seams',
      'Profile the tile cache',
      'New session',
    ]);
    expect(titles(items({ host: 'gpu-rack' }))).toEqual(['Sweep learning rates, stage 2']);
    expect(titles(items({ filter: 'BUSY site' }))).toEqual([
      'Rewrite the landing page header',
      'Port image tests to the new runner',
    ]);
    expect(items({ filter: 'nothing like it' })).toEqual([]);
  });

  test('a chosen column decides, and the longest stands first by its time', () => {
    expect(titles(items({ sort: { column: 'for', descending: true } }))[0]).toBe('Compare two allocators');
    expect(titles(items({ sort: { column: 'server', descending: false } }))[0]).toBe('Split the tokenizer into passes');
    expect(nextSessionSort(NATURAL, 'for')).toEqual({ column: 'for', descending: true });
    expect(nextSessionSort(NATURAL, 'session')).toEqual({ column: 'session', descending: false });
    expect(nextSessionSort(NATURAL, 'state')).toEqual({ column: 'state', descending: false });
    expect(titles(items({ sort: { column: 'state', descending: false } })).at(-1)).toMatch(
      /^(Move|Split|Sweep|Port|Rew)/u,
    );
  });

  test('an empty list says what was asked, and of whom nothing can be known', () => {
    const { servers, hosts } = exampleRoll();
    expect(noSessions({ servers: [], hosts }, null)).toBe(
      'No session on any host. There is no server that could carry one.',
    );
    expect(noSessions({ servers, hosts }, 'gpu-rack')).toBe(
      'No session on gpu-rack. 1 server was asked. Of 1 server the sessions cannot be seen; the servers view says why.',
    );
  });
});

test('what can be done with a session has a button; where it can neither be aborted nor ended, a closed one says why', () => {
  const roll = statesRoll(exampleRoll());
  const buttons = (title: string): string[] => {
    const found = roll.sessions.find((each) => each.title.startsWith(title));
    if (found === undefined) throw new Error(`no session ${title}`);
    const server = roll.servers.find(({ id }) => id === found.server) ?? null;
    return sessionButtons(sessionActs(found, server, roll.hosts[0])).map(({ label, refusal }) =>
      refusal === null ? label : `${label}: ${refusal}`,
    );
  };
  expect(buttons('Move')).toEqual(['Open in browser', 'Copy attach command', 'Abort', 'End…']);
  expect(buttons('Summarise')).toContain('Abort…');
  expect(buttons('Read the schema')).toEqual(['Open in browser', 'Copy attach command', 'End…']);
  const [move] = roll.sessions;
  if (move === undefined) throw new Error('the example has no session');
  const away = roll.hosts.find(({ name }) => name === 'studio-mac');
  const closed = sessionActs(move, null, away).filter(({ act }) => act === 'abort' || act === 'end');
  expect(closed.map(({ refusal }) => refusal?.slice(0, 30))).toEqual(Array(2).fill('Nothing can be stopped now: wi'));
  expect(buttons('Explain')).toEqual(['End…: Rollcall only reads what claude says of its sessions.']);
});
