import { describe, expect, test } from 'vitest';
import type { Roll, Task } from '../../app/roll/schema.ts';
import { hostProblem } from '../../app/text/host-words.ts';
import type { TimelineChoice } from '../../app/text/timeline-words.ts';
import { hostHeadline, leakedTotals, rollHeadline } from '../../app/text/words.ts';
import { moveIndex, rowKey } from '../components/useGridKeys.ts';
import { shortcut } from '../components/useShortcuts.ts';
import { endedRoll, GIVEN_UP, MEANT, STARTING, WAITING } from '../preview/ended.ts';
import { emptyRoll, exampleRoll, HOME, localRoll } from '../preview/rolls.ts';
import { banners, endedKey, hasKey, phases, taskOf, taskTitle } from './banners.ts';
import { gridOrder } from './gridOrder.ts';
import { holdOrder } from './hold.ts';
import { treeLines } from './processTree.ts';
import { recordItems } from './recordItems.ts';
import { buttonActs, leftoverActs, serverActs } from './serverActs.ts';
import { itemNames, nextSort, type RollItem, type Sort, serverItems, tagOf } from './serverItems.ts';
import { eventShape, timelineItems } from './timelineItems.ts';
import { findTyped, typeLetter } from './typeahead.ts';

const AUDIT_LIKE = [
  'session-started',
  'session-idle',
  'session-aborted',
  'session-ended',
  'hook-done',
  'hook-failed',
  'idle-soon',
];

const NATURAL: Sort = { column: 'standing', descending: true };

function items(roll: Roll, more: { host?: string; filter?: string; sort?: Sort } = {}): readonly RollItem[] {
  return serverItems({
    roll,
    host: more.host ?? null,
    filter: more.filter ?? '',
    sort: more.sort ?? NATURAL,
    home: HOME,
    now: Date.parse(roll.takenAt),
  });
}

function names(list: readonly RollItem[]): readonly string[] {
  return list.map((item) => (item.type === 'group' ? `[${item.title}]` : (itemNames(item, HOME)[0] ?? '')));
}

describe('the servers list', () => {
  test('hosts stand in the order of the sidebar; inside leaked, suspect, then by memory', () => {
    expect(names(items(exampleRoll()))).toEqual([
      '[local]',
      'opencode :34801',
      'codex :41877',
      'opencode :14200',
      'opencode :4096',
      'opencode :4100',
      't3 :3773',
      'codex stdio',
      '[build-01]',
      'opencode :4096',
      'opencode :4500',
      'opencode :39115',
      'opencode :4180',
      '[gpu-rack]',
      'opencode :4096',
      'codex socket',
      '[studio-mac]',
      'opencode :4096',
      't3 :3773',
      'codex stdio',
    ]);
  });

  test('B3 copies of one session are one row, named with their number', () => {
    const roll = exampleRoll();
    const copies = roll.servers.map((server) =>
      server.listening.length === 0 && server.transport === 'stdio'
        ? { ...server, kind: 'claude', duplicates: 12 }
        : server,
    );
    expect(names(items({ ...roll, servers: copies })).filter((name) => name.startsWith('claude'))).toEqual([
      'claude ×12',
      'claude ×12',
    ]);
  });

  test('a group’s figure adds up, and a host that does not answer says as of when', () => {
    const groups = items(exampleRoll()).filter((item) => item.type === 'group');
    expect(groups.map((group) => group.figure)).toEqual([
      '7 servers, 3.70 GB',
      '4 servers, 3.64 GB',
      '2 servers, 782 MB',
      '3 servers, 632 MB',
    ]);
    expect(groups[3]?.note).toBe('reconnecting, shown as of 14:31:20');
    expect(items(exampleRoll()).filter((item) => item.type === 'server' && item.past)).toHaveLength(3);
  });

  test('one host needs no head of its own; its leftovers come last, under theirs', () => {
    expect(names(items(localRoll())).slice(-3)).toEqual(['codex stdio', '[Leftovers]', 'node']);
    expect(names(items(exampleRoll(), { host: 'gpu-rack' }))).toEqual(['opencode :4096', 'codex socket']);
  });

  test('every word of the filter must match, in any order, PIDs included', () => {
    expect(names(items(exampleRoll(), { filter: 'zed parser' }))).toEqual(['[local]', 'codex stdio']);
    expect(names(items(exampleRoll(), { filter: '41207' }))).toEqual(['[local]', 'opencode :34801']);
    expect(items(exampleRoll(), { filter: 'nothing like it' })).toEqual([]);
  });

  test('a chosen column decides, and equals keep the natural order', () => {
    const byCpu = items(exampleRoll(), { host: 'local', sort: { column: 'cpu', descending: true } });
    expect(names(byCpu).slice(0, 3)).toEqual(['opencode :4096', 'codex stdio', 't3 :3773']);
    const oldest = items(exampleRoll(), { host: 'local', sort: { column: 'age', descending: true } });
    expect(names(oldest)[0]).toBe('opencode :4100');
    expect(nextSort(NATURAL, 'memory')).toEqual({ column: 'memory', descending: true });
    expect(nextSort({ column: 'memory', descending: true }, 'memory')).toEqual({ column: 'memory', descending: false });
    const sessions = items(exampleRoll(), { host: 'local', sort: { column: 'sessions', descending: true } });
    expect(names(sessions)).toEqual([
      'opencode :4096',
      'codex stdio',
      'opencode :34801',
      'opencode :14200',
      'codex :41877',
      'opencode :4100',
      't3 :3773',
    ]);
    expect(nextSort(NATURAL, 'server')).toEqual({ column: 'server', descending: false });
  });
});

describe('nothing moves under the hand', () => {
  const list = (...keys: string[]) => keys.map((key) => ({ key, text: key }));

  test('a new order and new rows wait while the list is held; content is renewed at once', () => {
    const fresh = [{ key: 'c', text: 'new' }, ...list('x', 'a', 'b')];
    const held = holdOrder(list('a', 'b', 'c'), fresh, true);
    expect(held.items.map((item) => item.key)).toEqual(['a', 'b', 'c']);
    expect(held.items[2]?.text).toBe('new');
    expect(held.waiting).toBe(1);
    expect(holdOrder(held.items, fresh, false)).toEqual({ items: fresh, gone: new Set(), waiting: 0 });
  });

  test('a row that goes keeps its place, so that the next one does not slide under the pointer', () => {
    const held = holdOrder(list('a', 'b', 'c'), list('a', 'c'), true);
    expect(held.items.map((item) => item.key)).toEqual(['a', 'b', 'c']);
    expect([...held.gone]).toEqual(['b']);
    expect([...holdOrder(held.items, list('a', 'c'), true).gone]).toEqual(['b']);
  });

  test('an empty list is filled even while it is held', () => {
    expect(holdOrder([], list('a'), true).items).toHaveLength(1);
  });
});

test('a list of which nothing moved keeps its order, and heads that stay their places', () => {
  const at = (...keys: string[]) => keys.map((key) => ({ type: key.startsWith('[') ? 'group' : 'row', key }));
  const first = gridOrder(null, at('[x]', 'a', 'b'));
  expect(first).toMatchObject({ rows: ['a', 'b'], groups: [0] });
  expect(gridOrder(first, at('[x]', 'a', 'b'))).toBe(first);
  const turned = gridOrder(first, at('[x]', 'b', 'a'));
  expect([...turned.placeOf]).toEqual([
    ['b', 0],
    ['a', 1],
  ]);
  expect(turned.groups).toBe(first.groups);
  expect(gridOrder(first, [{ type: 'row', key: '[x]' }, ...at('a', 'b')]).groups).toEqual([]);
  expect(gridOrder(turned, at('b', '[x]', 'a')).groups).toEqual([1]);
});

describe('the keyboard', () => {
  test('typing two letters finds a row from the current one on, by name or folder', () => {
    const rows = items(exampleRoll()).filter((item) => item.type !== 'group');
    const all = rows.map((item) => itemNames(item, HOME));
    expect(findTyped(all, 'c', 0)).toBe(-1);
    expect(findTyped(all, 'co', 0)).toBe(1);
    expect(findTyped(all, 'CO', 2)).toBe(6);
    expect(findTyped(all, 'kest', 0)).toBe(2);
    expect(findTyped(all, 'zz', 0)).toBe(-1);
    expect(findTyped([], 'co', -1)).toBe(-1);
    expect(typeLetter({ text: 'c', at: 1000 }, 'o', 1500).text).toBe('co');
    expect(typeLetter({ text: 'c', at: 1000 }, 'o', 2500).text).toBe('o');
  });

  test('arrows, Home, End and pages stay within the list', () => {
    expect(moveIndex('ArrowDown', 4, 5, 3)).toBe(4);
    expect(moveIndex('ArrowUp', 0, 5, 3)).toBe(0);
    expect(moveIndex('ArrowDown', -1, 5, 3)).toBe(0);
    expect(moveIndex('End', 0, 5, 3)).toBe(4);
    expect(moveIndex('PageUp', 2, 5, 3)).toBe(0);
    expect(moveIndex('ArrowDown', 0, 0, 3)).toBeNull();
    expect(moveIndex('a', 0, 5, 3)).toBeNull();
  });

  test('keys of a row and of the window mean one thing each', () => {
    const chord = (key: string, more: Partial<Parameters<typeof rowKey>[0]> = {}) => ({
      key,
      ctrlKey: false,
      metaKey: false,
      shiftKey: false,
      altKey: false,
      ...more,
    });
    expect(rowKey(chord('Delete'))).toBe('end');
    expect(rowKey(chord('o', { ctrlKey: true }))).toBe('open');
    expect(rowKey(chord('c', { metaKey: true }))).toBe('copy');
    expect(rowKey(chord('c'))).toBeNull();
    expect(rowKey(chord('F10'))).toBeNull();
    expect(rowKey(chord('F10', { shiftKey: true }))).toBe('menu');
    expect(shortcut(chord('/'), false)).toBe('filter');
    expect(shortcut(chord('/'), true)).toBeNull();
    expect(shortcut(chord('3', { ctrlKey: true }), true)).toEqual({ tab: 2 });
    expect(shortcut(chord(',', { ctrlKey: true }), false)).toBe('settings');
    expect(shortcut(chord('r', { ctrlKey: true }), false)).toBe('look');
    expect(shortcut(chord('r'), false)).toBeNull();
  });
});

test('a row has one tag, the worst: it does not answer, it grows, a restart would renew it', () => {
  const roll = endedRoll();
  const server = roll.servers.find(({ supervised }) => supervised?.outdated != null);
  if (server?.supervised == null) throw new Error('the example has no outdated server');
  expect(tagOf(server)).toMatchObject({ word: 'outdated', problem: false });
  expect(tagOf(server)?.why).toMatch(/^\/usr\/local\/bin\/t3 was replaced/u);
  expect(tagOf({ ...server, growing: '310 MB more in an hour' })?.word).toBe('growing');
  const stays = { ...server, supervised: { ...server.supervised, state: 'unresponsive' as const } };
  expect(tagOf(stays)).toEqual({
    word: 'unresponsive',
    why: 'It was to be ended and is still there.',
    problem: true,
  });
  expect(tagOf({ ...stays, health: 'unresponsive', healthDetail: 'No answer.' })?.why).toBe('No answer.');
  expect(tagOf({ ...server, supervised: null })).toBeNull();
  expect(names(items(roll, { filter: 'outdated' }))).toEqual(['t3 :3773']);
});

describe('what can be done with a row', () => {
  test('a refused act stays, with its sentence; buttons are at most three', () => {
    const roll = localRoll();
    const foreign = roll.servers.find((server) => !server.ownUid);
    const supervised = roll.servers.find((server) => server.standing === 'supervised');
    if (foreign === undefined || supervised === undefined) throw new Error('the example lacks a row');
    expect(serverActs(foreign, roll.hosts[0])[0]).toEqual({
      act: 'reap',
      label: 'Reap…',
      refusal: 'It belongs to another user, so Rollcall never signals it.',
    });
    expect(buttonActs(serverActs(supervised, roll.hosts[0])).map((item) => item.act)).toEqual([
      'stop',
      'restart',
      'open',
    ]);
    expect(serverActs(supervised, roll.hosts[0]).map((item) => item.act)).not.toContain('reap');
    const stdio = roll.servers.find((server) => server.transport === 'stdio');
    if (stdio === undefined) throw new Error('the example has no stdio server');
    expect(serverActs(stdio, roll.hosts[0]).find((item) => item.act === 'copy-url')?.refusal).toContain('codex stdio');
    expect(leftoverActs(roll.leftovers[0] ?? (undefined as never), roll.hosts[0])[0]?.act).toBe('reap');
  });

  test('branches of the process tree end where the last child is', () => {
    const [server] = exampleRoll().servers;
    expect(treeLines(server?.processes ?? []).map((line) => [line.process.name, line.last, line.args])).toEqual([
      ['opencode', true, 'serve --port 34801'],
      ['rust-analyzer', false, ''],
      ['node', false, 'mcp-github --stdio'],
      ['node', true, 'mcp-notes --stdio'],
    ]);
  });
});

/** The example with every host that is wanted connected. */
function answeringRoll(): Roll {
  const roll = exampleRoll();
  return {
    ...roll,
    hosts: roll.hosts.map((host) => (host.state === 'reconnecting' ? { ...host, state: 'connected' as const } : host)),
  };
}

describe('banners', () => {
  const task = (more: Partial<Task>): Task => ({
    id: 't',
    act: 'reap',
    title: 'Reaping',
    startedAt: answeringRoll().takenAt,
    endedAt: null,
    state: 'running',
    message: '',
    rows: [],
    results: [],
    ...more,
  });
  const kinds = (roll: Roll): readonly string[] => banners(roll, null).map((strip) => strip.key);

  test('the worst comes first, and what a reap deals with is not told twice', () => {
    const roll = answeringRoll();
    const leaked = roll.alerts[0]?.servers ?? [];
    roll.alerts.push({ id: 'f', level: 'fault', title: '', detail: '', act: 'none', servers: [] });
    expect(kinds(roll)).toEqual(['alert f', 'alert leaks']);
    const idle = { id: 'i', level: 'notice', title: '', detail: '', act: 'keep-awake', servers: [] } as const;
    // It stops in a minute; the leak waits.
    expect(kinds({ ...roll, alerts: [...roll.alerts, { ...idle, servers: [] }] })).toEqual([
      'alert f',
      'alert i',
      'alert leaks',
    ]);
    roll.tasks.push(task({ rows: leaked.map((id) => ({ id, label: '', phase: 'TERM', outcome: null })) }));
    expect(kinds(roll)).toEqual(['task t', 'alert f']);
    expect([...phases(roll)]).toEqual(leaked.map((id) => [id, 'TERM']));
  });

  test('a host whose look failed says why and how old its rows are', () => {
    const roll = answeringRoll();
    const [local] = roll.hosts;
    if (local === undefined) throw new Error('the example has no host');
    const failed = { ...local, state: 'failed' as const, detail: 'The look worker ended with exit code 1.' };
    roll.hosts[0] = failed;
    expect(kinds(roll)).toEqual(['host local', 'alert leaks']);
    expect(banners(roll, 'build-01').map((strip) => strip.key)).toEqual(['alert leaks']);
    const at = new Date(failed.lookedAt ?? '');
    const time = [at.getHours(), at.getMinutes(), at.getSeconds()].map((n) => String(n).padStart(2, '0')).join(':');
    expect(hostProblem(failed, Date.parse(roll.takenAt))).toEqual({
      title: 'local cannot be looked at',
      detail: `The look worker ended with exit code 1. Its rows are as of ${time}.`,
    });
  });

  test('a good result stands first for a while, then a new leak is the worse news', () => {
    const roll = answeringRoll();
    const at = (ms: number): string => new Date(Date.parse(roll.takenAt) - ms).toISOString();
    roll.tasks = [task({ state: 'done', endedAt: at(1000) })];
    expect(kinds(roll)).toEqual(['task t', 'alert leaks']);
    roll.tasks = [task({ state: 'done', endedAt: at(60_000) })];
    expect(kinds(roll)).toEqual(['alert leaks', 'task t']);
    roll.tasks = [task({ state: 'failed', endedAt: at(60_000) })];
    expect(kinds(roll)).toEqual(['task t', 'alert leaks']);
    roll.tasks = [task({ act: 'stop', state: 'done', endedAt: at(1000) })];
    expect(kinds(roll)).toEqual(['alert leaks']);
  });

  test('a server that ended is a strip of its own, more than three are one, and a host shows its own', () => {
    const roll = endedRoll(WAITING, MEANT);
    expect(kinds(roll)).toEqual([endedKey(WAITING.nonce), endedKey(MEANT.nonce)]);
    expect(kinds(endedRoll(WAITING, GIVEN_UP))[0]).toBe(endedKey(GIVEN_UP.nonce));
    const many = endedRoll(WAITING, GIVEN_UP, MEANT, STARTING);
    const [strip, none] = banners(many, null);
    if (strip?.type !== 'ended') throw new Error('no strip of what ended');
    expect(none).toBeUndefined();
    expect([strip.level, strip.ended.length]).toEqual(['fault', 4]);
    expect([WAITING, STARTING].every(({ nonce }) => hasKey(strip, endedKey(nonce)))).toBe(true);
    expect(hasKey(strip, endedKey('other'))).toBe(false);
    expect(banners(many, 'build-01')).toEqual([]);
    // An alert whose server is settled says nothing any more.
    expect(kinds({ ...many, ended: [] })).toEqual([]);
  });

  test('a leak and a fault of another cause keep their rank beside it', () => {
    const leak = answeringRoll().alerts[0];
    if (leak === undefined) throw new Error('the example has no alert');
    const roll = endedRoll(WAITING);
    expect(kinds({ ...roll, alerts: [...roll.alerts, leak] })).toEqual(['alert leaks', endedKey(WAITING.nonce)]);
    const given = endedRoll(GIVEN_UP);
    expect(kinds({ ...given, alerts: [...given.alerts, leak] })).toEqual([endedKey(GIVEN_UP.nonce), 'alert leaks']);
  });

  test('a server amid its own start or end says so in its row without any act of a person', () => {
    const roll = endedRoll();
    const [one, two] = roll.servers.filter((server) => server.supervised !== null);
    if (one?.supervised == null || two?.supervised == null) throw new Error('the example lacks supervised servers');
    one.supervised.state = 'starting';
    two.supervised.state = 'stopping';
    expect([...phases(roll)]).toEqual([
      [one.id, 'Starting'],
      [two.id, 'Stopping'],
    ]);
    roll.tasks = [task({ act: 'stop', rows: [{ id: two.id, label: '', phase: 'TERM, 1 of 5 s', outcome: null }] })];
    expect(phases(roll).get(two.id)).toBe('TERM, 1 of 5 s');
  });

  test('a title tells what goes on, what was done, and what failed', () => {
    const title = 'Reaping opencode :34801 on local';
    expect(taskTitle(task({ title }))).toBe(title);
    expect(taskTitle(task({ title, state: 'done' }))).toBe('Reaped opencode :34801 on local');
    expect(taskTitle(task({ title, state: 'failed' }))).toBe('Reaping opencode :34801 on local failed');
    expect(taskTitle(task({ title: 'Reaped 2 of 3 servers', state: 'failed' }))).toBe('Reaped 2 of 3 servers');
    // A restart begins by stopping; what it is called then says no more than that.
    expect(taskTitle(task({ act: 'restart', title: 'Stopping t3 :3773', state: 'done' }))).toBe('Stopping t3 :3773');
  });

  test('an act’s own task is found among those that were there before', () => {
    const rows = [{ id: 'a', label: '', phase: '', outcome: null }];
    const tasks = [task({ id: 'old', rows }), task({ id: 'other', rows: [] }), task({ id: 'new', rows })];
    expect(taskOf(tasks, 'reap', new Set(['old']), ['a'])?.id).toBe('new');
    expect(taskOf(tasks, 'reap', new Set(['old', 'new']), ['a'])).toBeNull();
    expect(taskOf(tasks, 'stop', new Set(), ['a'])).toBeNull();
  });
});

test('records: stale ones first, kept ones under their own head', () => {
  const list = recordItems(exampleRoll(), null, '').map((item) =>
    item.type === 'group' ? `[${item.title}]` : `${item.record.verdict} ${item.record.source}`,
  );
  expect(list).toEqual(['thread opencode', 'reused t3', 'gone rollcall', '[Kept]', 'unknown opencode']);
  expect(recordItems(exampleRoll(), 'local', '')).toHaveLength(2);
  expect(recordItems(exampleRoll(), null, 'postgres')).toHaveLength(1);
});

test('timeline: newest first, a head per day, and equal entries keep keys of their own', () => {
  const roll = exampleRoll();
  const now = Date.parse(roll.takenAt);
  const first = roll.timeline[0];
  if (first === undefined) throw new Error('the example has no entry');
  const all = { host: null, server: null, session: null, filter: '' };
  const before = timelineItems(roll, all, now);
  expect(before.flatMap((item) => (item.type === 'group' ? [item.title] : []))).toEqual(['Today', 'Yesterday']);
  expect(before[1]).toMatchObject({ entry: { event: 'idle-soon', subject: 'opencode :4410 on local' } });
  roll.timeline.push({ ...first });
  const keys = timelineItems(roll, all, now).map((item) => item.key);
  expect(new Set(keys).size).toBe(before.length + 1);
  for (const item of before) expect(keys).toContain(item.key);
});

test('timeline: of one host, one server or one session, and events are found by their words', () => {
  const roll = exampleRoll();
  const of = (choice: Partial<TimelineChoice>): readonly string[] =>
    timelineItems(roll, { host: null, server: null, session: null, filter: '', ...choice }, 0).flatMap((item) =>
      item.type === 'entry' ? [item.entry.event] : [],
    );
  const ledger = roll.servers.find(({ pid }) => pid === 30_010)?.id ?? '';
  const csv = roll.sessions.find(({ title }) => title === 'Add CSV import')?.key ?? '';
  expect(of({ server: ledger })).toEqual(['session-aborted', 'session-idle', 'ended-unexpectedly']);
  expect(of({ session: csv })).toEqual(['session-aborted', 'session-idle']);
  expect(of({ session: csv, filter: 'became idle' })).toEqual(['session-idle']);
  expect(of({ host: 'gpu-rack', server: ledger })).toEqual([]);
  expect(of({ filter: 'session-end hook' })).toEqual(['hook-failed', 'hook-done']);
  expect(AUDIT_LIKE.map(eventShape)).toEqual(['play', 'idle', 'stop', 'ended', 'check', 'fault', 'clock']);
});

describe('the two lines that say the state of everything', () => {
  const fault = (id: string): Roll['alerts'][number] => ({
    id,
    level: 'fault',
    title: 'studio-mac has not answered since 14:31',
    detail: '',
    act: 'none',
    servers: [],
  });

  test('leaks: how many and what they hold, then what runs', () => {
    expect(rollHeadline(exampleRoll())).toEqual({
      first: '3 servers leaked, 4.31 GB',
      second: '16 servers, 5 sessions busy',
    });
    expect(hostHeadline(exampleRoll(), 'local')).toBe('local, 7 servers, 2 leaked');
  });

  test('leftovers count, and what may not be signalled does not', () => {
    expect(rollHeadline(localRoll()).first).toBe('2 servers leaked and 1 leftover, 2.04 GB');
    expect(leakedTotals(localRoll())).toMatchObject({ servers: 2, leftovers: 1, outOfReach: 1 });
    expect(leakedTotals(exampleRoll(), 'build-01')).toMatchObject({ servers: 1, memoryBytes: 2_340_000_000 });
  });

  test('a fault wins over leaks and names both; several are counted', () => {
    const roll = exampleRoll();
    roll.alerts.push(fault('a'));
    expect(rollHeadline(roll)).toEqual({
      first: 'studio-mac has not answered since 14:31',
      second: '3 servers leaked, 4.31 GB',
    });
    roll.alerts.push(fault('b'));
    expect(rollHeadline(roll).first).toBe('2 faults');
  });

  test('fine: none leaked, or how many are suspect', () => {
    const roll = exampleRoll();
    roll.servers = roll.servers.filter((server) => server.standing !== 'leaked');
    expect(rollHeadline(roll)).toEqual({ first: '13 servers, 1 suspect', second: '5 sessions busy, 4.44 GB' });
    roll.servers = roll.servers.filter((server) => server.standing !== 'suspect');
    expect(rollHeadline(roll)).toEqual({ first: '12 servers, none leaked', second: '5 sessions busy, 4.03 GB' });
  });

  test('nothing there, and nothing known yet, are two different things', () => {
    expect(rollHeadline(emptyRoll())).toEqual({ first: 'No servers', second: '312 processes looked at' });
    const roll = emptyRoll();
    for (const host of roll.hosts) host.lookedAt = null;
    expect(rollHeadline(roll).first).toBe('Not looked yet');
  });
});
