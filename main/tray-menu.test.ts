import { describe, expect, test } from 'vitest';
import type { Roll } from '../app/roll/schema.ts';
import { minuteTime } from '../app/text/words.ts';
import { ended, endedAlert, host, idOf, leftover, roll, server, session } from '../e2e/support/fixture-roll.ts';
import { trayModel } from './tray-menu.ts';
import type { TrayItem } from './tray-model.ts';

/** The menu as indented lines, the way the tray's page draws it. */
function drawn(items: readonly TrayItem[], indent = ''): string[] {
  const lines = (item: TrayItem): string[] => {
    switch (item.type) {
      case 'separator':
        return [`${indent}─`];
      case 'text':
        return [`${indent}${item.label} (disabled)`];
      case 'act':
        return [`${indent}${item.label}${item.enabled ? '' : ' (disabled)'}`];
      case 'menu':
        return [`${indent}${item.label} ▸`, ...drawn(item.items, `${indent}  `)];
    }
  };
  return items.flatMap(lines);
}

const top = (one: Roll): string[] => drawn(trayModel(one).items).filter((line) => !line.startsWith(' '));

function find(items: readonly TrayItem[], label: string): TrayItem {
  const found = items.find((item) => item.type !== 'separator' && item.label === label);
  if (found === undefined) throw new Error(`no ${label} in ${drawn(items).join(' | ')}`);
  return found;
}

function inside(one: Roll, ...labels: string[]): readonly TrayItem[] {
  let items = trayModel(one).items;
  for (const label of labels) {
    const item = find(items, label);
    if (item.type !== 'menu') throw new Error(`${label} is no submenu`);
    items = item.items;
  }
  return items;
}

const many = (count: number, of: (n: number) => ReturnType<typeof server>) =>
  Array.from({ length: count }, (_, n) => of(n));

/** 12 servers on five hosts, 2 of the 4 local ones supervised, 5 busy sessions, 4.03 GB. */
function fine(): Roll {
  const servers = [
    ...many(2, (n) => server(100 + n, 'supervised', { memoryBytes: 500e6 })),
    ...many(2, (n) => server(200 + n, 'owned', { memoryBytes: 500e6 })),
    ...many(3, (n) => server(300 + n, 'owned', { host: 'build-01', memoryBytes: 300e6 })),
    ...many(2, (n) => server(400 + n, 'service', { host: 'gpu-rack', memoryBytes: 300e6 })),
    ...many(3, (n) => server(500 + n, 'owned', { host: 'studio-mac', memoryBytes: 530e6 / 3 })),
  ];
  const sessions = servers.slice(4, 9).map((one, n) => session(one, 'busy', n));
  return roll({
    servers,
    sessions,
    hosts: [
      host('local'),
      host('build-01'),
      host('gpu-rack'),
      host('studio-mac'),
      host('pi-lab', { state: 'disconnected' }),
    ],
  });
}

/** 3 leaked of 16, 4.31 GB: 2 of 7 local ones and 1 on build-01. */
function leaks(): Roll {
  const local = [
    server(1, 'leaked', { memoryBytes: 1.84e9, listening: [{ address: '127.0.0.1', port: 34801 }] }),
    server(2, 'leaked', { kind: 'codex', memoryBytes: 131e6, listening: [{ address: '127.0.0.1', port: 41877 }] }),
    server(3, 'suspect', { memoryBytes: 412e6, listening: [{ address: '127.0.0.1', port: 14200 }] }),
    server(4, 'supervised', { memoryBytes: 90e6, listening: [{ address: '127.0.0.1', port: 4096 }] }),
    server(5, 'supervised', { kind: 't3', memoryBytes: 80e6, listening: [{ address: '127.0.0.1', port: 3773 }] }),
    server(6, 'owned', {
      kind: 'codex',
      memoryBytes: 70e6,
      listening: [],
      transport: 'stdio',
      url: null,
      owner: { label: 'Zed', pid: 900, alive: true, endedAt: null },
    }),
    server(7, 'service', { memoryBytes: 60e6, listening: [{ address: '127.0.0.1', port: 4100 }] }),
  ];
  const build = [
    server(20, 'leaked', { host: 'build-01', memoryBytes: 2.339e9 }),
    ...many(3, (n) => server(21 + n, 'owned', { host: 'build-01' })),
  ];
  const rest = [
    ...many(2, (n) => server(40 + n, 'service', { host: 'gpu-rack' })),
    ...many(3, (n) => server(50 + n, 'owned', { host: 'studio-mac' })),
  ];
  const supervised = local[3];
  if (supervised === undefined) throw new Error('no supervised server');
  return roll({
    servers: [...local, ...build, ...rest],
    sessions: [session(supervised, 'busy', 0), ...rest.slice(0, 4).map((one, n) => session(one, 'busy', n + 1))],
    hosts: [
      host('local'),
      host('build-01'),
      host('gpu-rack'),
      host('studio-mac'),
      host('pi-lab', { state: 'disconnected' }),
    ],
  });
}

describe('fine', () => {
  test('reads as the tray page draws it', () => {
    const model = trayModel(fine());
    expect(model.state).toBe('fine');
    expect(model.tooltip).toBe('Rollcall: 12 servers, none leaked');
    expect(top(fine())).toEqual([
      '12 servers, none leaked (disabled)',
      '5 sessions busy, 4.03 GB (disabled)',
      '─',
      'Open Rollcall',
      '─',
      'local, 4 servers ▸',
      'build-01, 3 servers ▸',
      'gpu-rack, 2 servers ▸',
      'studio-mac, 3 servers ▸',
      'pi-lab, not connected ▸',
      '─',
      'Start server ▸',
      'Stop 2 local servers…',
      '─',
      'Settings…',
      'Quit, stopping 2 local servers',
    ]);
    expect(drawn(inside(fine(), 'Start server'))).toEqual(['opencode…', 't3…', 'codex, not found (disabled)']);
  });

  test('a suspect server is named in the first line', () => {
    const one = fine();
    expect(top({ ...one, servers: [...one.servers, server(900, 'suspect')] })[0]).toBe(
      '13 servers, 1 suspect (disabled)',
    );
  });

  test('with no server at all it says how many processes were looked at', () => {
    expect(top(roll()).slice(0, 2)).toEqual(['No servers (disabled)', '312 processes looked at (disabled)']);
    expect(top(roll()).at(-1)).toBe('Quit Rollcall');
    expect(top(roll())).toContain('local, no servers (disabled)');
  });
});

describe('leaks', () => {
  test('reads as the tray page draws it', () => {
    const model = trayModel(leaks());
    expect(model.state).toBe('leaks');
    expect(model.leaked).toBe(3);
    expect(model.tooltip).toBe('Rollcall: 3 servers leaked, 4.31 GB');
    expect(top(leaks())).toEqual([
      '3 servers leaked, 4.31 GB (disabled)',
      '16 servers, 5 sessions busy (disabled)',
      '─',
      'Reap 3 leaked servers, frees 4.31 GB',
      'Review…',
      'Open Rollcall',
      '─',
      'local, 7 servers, 2 leaked ▸',
      'build-01, 4 servers, 1 leaked ▸',
      'gpu-rack, 2 servers ▸',
      'studio-mac, 3 servers ▸',
      'pi-lab, not connected ▸',
      '─',
      'Start server ▸',
      'Stop 2 local servers…',
      '─',
      'Settings…',
      // One of them is busy, so a question follows.
      'Quit, stopping 2 local servers…',
    ]);
  });

  test('a host lists its servers, leaked first, then by memory, each with its shape', () => {
    const items = inside(leaks(), 'local, 7 servers, 2 leaked');
    expect(drawn(items).filter((line) => !line.startsWith(' '))).toEqual([
      '◆ opencode :34801, 1.84 GB ▸',
      '◆ codex :41877, 131 MB ▸',
      '◇ opencode :14200, 412 MB ▸',
      '● opencode :4096, 1 busy ▸',
      '● t3 :3773 ▸',
      '◉ codex, Zed’s ▸',
      '■ opencode :4100 ▸',
    ]);
    const of = (label: string) => drawn(inside(leaks(), 'local, 7 servers, 2 leaked', label));
    expect(of('◆ opencode :34801, 1.84 GB')).toEqual(['Show', 'Open in browser', 'Copy URL', '─', 'Reap…']);
    expect(of('● t3 :3773')).toEqual(['Show', 'Open in browser', 'Copy URL', '─', 'Restart…', 'Stop…']);
    expect(of('◉ codex, Zed’s')).toEqual(['Show', '─', 'Reap…']);
  });

  test('the one click reaps what is leaked, without a question and without force', () => {
    const item = find(trayModel(leaks()).items, 'Reap 3 leaked servers, frees 4.31 GB');
    expect(item).toMatchObject({
      on: { act: 'run', command: { command: 'reap', targets: 'leaked', confirmed: false, force: false } },
    });
  });

  test('everything else that ends a process opens a question', () => {
    const leak = inside(leaks(), 'local, 7 servers, 2 leaked', '◆ opencode :34801, 1.84 GB');
    expect(find(leak, 'Reap…')).toMatchObject({
      on: { act: 'show', show: { server: idOf(1), dialog: 'plan-server' } },
    });
    const own = inside(leaks(), 'local, 7 servers, 2 leaked', '● t3 :3773');
    expect(find(own, 'Stop…')).toMatchObject({ on: { act: 'show', show: { server: idOf(5), dialog: 'stop-server' } } });
    expect(find(own, 'Restart…')).toMatchObject({
      on: { act: 'show', show: { server: idOf(5), dialog: 'restart-server' } },
    });
    expect(find(trayModel(leaks()).items, 'Stop 2 local servers…')).toMatchObject({
      on: { show: { dialog: 'stop-all' } },
    });
  });

  test('with `reap.ask: always` the click asks, and its title says so', () => {
    const one = leaks();
    const items = trayModel({ ...one, settings: { ...one.settings, reapAsk: 'always' } }).items;
    expect(find(items, 'Reap 3 leaked servers…')).toMatchObject({
      on: { act: 'show', show: { dialog: 'plan-leaked' } },
    });
    expect(drawn(items)).not.toContain('Review…');
  });

  test('leftovers are counted in, and alone they are reason enough', () => {
    const one = roll({ leftovers: [leftover(70, 31e6), leftover(71, 31e6)] });
    expect(trayModel(one).state).toBe('leaks');
    expect(top(one)).toContain('Reap 2 leftovers, frees 62 MB');
    const both = { ...leaks(), leftovers: [leftover(70, 31e6)] };
    expect(top(both)[3]).toBe('Reap 3 servers and 1 leftover, frees 4.34 GB');
  });

  test("another user's leaked server has no Reap", () => {
    const other = server(1, 'leaked', { ownUid: false, reap: { allowed: 'no', why: 'It belongs to another user.' } });
    const one = roll({ servers: [other] });
    expect(top(one).some((line) => line.startsWith('Reap'))).toBe(false);
    expect(drawn(inside(one, 'local, 1 server, 1 leaked', '◆ opencode :30001, 131 MB'))).toContain('Reap… (disabled)');
  });
});

describe('fault', () => {
  const silent = { state: 'reconnecting' as const, lookedAt: '2026-11-30T07:31:00.000Z' };
  const withSilence = (): Roll => {
    const one = leaks();
    return { ...one, hosts: one.hosts.map((each) => (each.name === 'studio-mac' ? { ...each, ...silent } : each)) };
  };

  test('one fault is named, with its remedy as the action, and the leaks come second', () => {
    const time = minuteTime(silent.lookedAt);
    expect(trayModel(withSilence()).state).toBe('fault');
    expect(top(withSilence()).slice(0, 10)).toEqual([
      `studio-mac has not answered since ${time} (disabled)`,
      '3 servers leaked, 4.31 GB (disabled)',
      '─',
      'Try studio-mac now',
      'Reap 3 leaked servers, frees 4.31 GB',
      'Open Rollcall',
      '─',
      'local, 7 servers, 2 leaked ▸',
      'build-01, 4 servers, 1 leaked ▸',
      'gpu-rack, 2 servers ▸',
    ]);
    expect(drawn(inside(withSilence(), '▲ studio-mac, no answer'))).toEqual([
      'Try now',
      'Stop trying',
      '─',
      `as of ${time}: 3 servers (disabled)`,
    ]);
  });

  test('a first reconnection attempt is no fault', () => {
    const one = roll({ hosts: [host('local'), host('studio-mac', { state: 'reconnecting' })] });
    expect(trayModel(one).state).toBe('fine');
    expect(top(one)).toContain('studio-mac, reconnecting ▸');
  });

  test('a look that failed is a fault of its host, whose rows are as of the last one that did not', () => {
    const one = roll({
      hosts: [host('local', { state: 'failed', detail: 'the look worker ended with exit code 1' })],
      servers: [server(1, 'owned'), server(2, 'leaked')],
    });
    const time = minuteTime(one.takenAt);
    expect(trayModel(one).state).toBe('fault');
    expect(top(one).slice(0, 4)).toEqual([
      'local: the look worker ended with exit code… (disabled)',
      '1 server leaked, 131 MB (disabled)',
      '─',
      'Try local now',
    ]);
    expect(drawn(inside(one, '▲ local, failed'))).toEqual(['Try now', '─', `as of ${time}: 2 servers (disabled)`]);
    expect(trayModel({ ...one, hosts: [host('local', { state: 'failed', lookedAt: null })] }).items).toContainEqual(
      expect.objectContaining({ label: '▲ local, failed' }),
    );
  });

  test('a failed start names itself and shows its server', () => {
    const failed = server(9, 'supervised', { kind: 't3', listening: [{ address: '127.0.0.1', port: 3773 }] });
    const one = roll({
      servers: [failed],
      alerts: [
        {
          id: 'start-9',
          level: 'fault',
          title: 't3 did not start: port 3773 is taken',
          detail: '',
          act: 'show-server',
          servers: [failed.id],
        },
      ],
    });
    expect(top(one)[0]).toBe('t3 did not start: port 3773 is taken (disabled)');
    expect(find(trayModel(one).items, 'Show t3 :3773…')).toMatchObject({
      on: { act: 'show', show: { server: failed.id } },
    });
  });

  test('a guard that does not run is named and can be started', () => {
    const alert = {
      id: 'guard',
      level: 'fault' as const,
      title: 'The guard does not run',
      detail: 'If Rollcall crashed now, 2 local servers would be left behind.',
      act: 'start-guard' as const,
      servers: [],
    };
    const one = roll({ alerts: [alert] });
    expect(top(one)[0]).toBe('The guard does not run (disabled)');
    expect(find(trayModel(one).items, 'Start the guard')).toMatchObject({
      on: { act: 'run', command: { command: 'start-guard' } },
    });
  });

  test('several faults are counted', () => {
    const alerts = [1, 2].map((n) => ({
      id: `f${n}`,
      level: 'fault' as const,
      title: `t3 did not start ${n}`,
      detail: '',
      act: 'none' as const,
      servers: [],
    }));
    expect(top(roll({ alerts })).slice(0, 4)).toEqual([
      '2 faults (disabled)',
      '312 processes looked at (disabled)',
      '─',
      'Show 2 faults…',
    ]);
    expect(trayModel(roll({ alerts })).tooltip).toBe('Rollcall: 2 faults');
  });
});

describe('servers that ended', () => {
  const rollOf = (...list: ReturnType<typeof ended>[]): Roll =>
    roll({ servers: [server(9, 'owned')], ended: list, alerts: list.map(endedAlert) });

  test('one that waits for its restart is a row and no fault', () => {
    const one = rollOf(ended(1));
    expect(trayModel(one).state).toBe('fine');
    expect(top(one)[0]).toBe('1 server, none leaked (disabled)');
    const row = inside(one, 'local, 1 server, 1 ended', '△ opencode :4096, ended, restarts by itself');
    expect(drawn(row)).toEqual(['Start now', 'Show', 'Show log…', '─', 'Forget']);
    const { nonce } = ended(1);
    expect(find(row, 'Start now')).toMatchObject({ on: { act: 'run', command: { command: 'start-again', nonce } } });
    expect(find(row, 'Forget')).toMatchObject({ on: { act: 'run', command: { command: 'forget', nonce } } });
    expect(find(row, 'Show')).toMatchObject({ on: { act: 'show', show: { ended: nonce, dialog: 'none' } } });
    expect(find(row, 'Show log…')).toMatchObject({ on: { act: 'show', show: { ended: nonce, dialog: 'log' } } });
  });

  test('one that somebody ended has no restart to come, and one without a log none to show', () => {
    const row = inside(
      rollOf(ended(1, { retryAt: null, attempt: 0, logPath: null })),
      'local, 1 server, 1 ended',
      '△ opencode :4096, ended',
    );
    expect(drawn(row)).toEqual(['Start again', 'Show', '─', 'Forget']);
  });

  test('one that was given up is a fault, whose action starts it again', () => {
    const one = rollOf(ended(1), ended(2, { state: 'failed', attempt: 5, retryAt: null }));
    const model = trayModel(one);
    expect(model.state).toBe('fault');
    expect(model.tooltip).toBe('Rollcall: opencode :4097 on local ended unexpectedly');
    expect(top(one).slice(0, 4)).toEqual([
      'opencode :4097 on local ended unexpectedly (disabled)',
      'none busy, 131 MB (disabled)',
      '─',
      'Start opencode :4097 again',
    ]);
    expect(find(model.items, 'Start opencode :4097 again')).toMatchObject({
      on: { act: 'run', command: { command: 'start-again', nonce: ended(2).nonce } },
    });
    // The worse one first.
    const rows = drawn(inside(one, 'local, 1 server, 2 ended')).filter((line) => /^[▲△◉]/u.test(line));
    expect(rows).toEqual([
      '▲ opencode :4097, gave up ▸',
      '△ opencode :4096, ended, restarts by itself ▸',
      '◉ opencode :30009 ▸',
    ]);
  });

  test('while one is being started again its acts are disabled', () => {
    const row = inside(
      rollOf(ended(1, { state: 'planned', retryAt: null })),
      'local, 1 server, 1 ended',
      '△ opencode :4096, starting…',
    );
    expect(drawn(row)).toEqual(['Start again (disabled)', 'Show', 'Show log…', '─', 'Forget (disabled)']);
  });

  test('where no server is left they are still there, and a countdown rebuilds no menu', () => {
    const last = (retryAt: string): Roll => roll({ ended: [ended(1, { retryAt })] });
    const model = trayModel(last('2026-11-30T08:00:01.000Z'));
    expect(drawn(model.items)).toContain('local, no servers, 1 ended ▸');
    expect(trayModel(last('2026-11-30T08:00:02.000Z'))).toEqual(model);
  });
});

describe('rules', () => {
  test('more than 12 servers end with one that shows all', () => {
    const one = roll({ servers: many(31, (n) => server(1000 + n, 'owned')) });
    const items = inside(one, 'local, 31 servers');
    expect(items).toHaveLength(13);
    expect(drawn(items).at(-1)).toBe('Show all 31…');
    expect(inside(roll({ servers: many(12, (n) => server(1000 + n, 'owned')) }), 'local, 12 servers')).toHaveLength(12);
  });

  test('no title is longer than 44 characters and `&` is doubled', () => {
    const owner = { label: 'a launcher & its very long and winding command line', pid: 1, alive: true, endedAt: null };
    const one = roll({
      servers: [server(1, 'owned', { owner }), server(2, 'owned', { owner: { ...owner, label: 'make & run' } })],
    });
    const lines = drawn(inside(one, 'local, 2 servers')).filter((line) => line.startsWith('◉'));
    expect(lines[0]).toBe('◉ opencode :30001, a launcher && its very lo… ▸');
    expect(lines[1]).toBe('◉ opencode :30002, make && run’s ▸');
    for (const line of lines) expect([...line.replace(' ▸', '').replaceAll('&&', '&')].length).toBeLessThanOrEqual(44);
  });

  test('a directory stands only where two would read the same, a PID where even that does not help', () => {
    const stdio = { listening: [], transport: 'stdio' as const, url: null };
    const one = (a: string, b: string): string[] =>
      drawn(
        inside(
          roll({
            servers: [server(1, 'owned', { ...stdio, directory: a }), server(2, 'owned', { ...stdio, directory: b })],
          }),
          'local, 2 servers',
        ),
      ).filter((line) => line.startsWith('◉'));
    expect(one('/srv/shop', '/srv/blog')).toEqual(['◉ opencode in shop ▸', '◉ opencode in blog ▸']);
    expect(one('/srv/shop', '/home/shop')).toEqual(['◉ opencode, PID 1 ▸', '◉ opencode, PID 2 ▸']);
  });

  test('B3 copies of one session are one line with their number', () => {
    const copies = { kind: 'claude', listening: [], transport: 'stdio' as const, url: null, duplicates: 12 };
    const one = roll({ servers: [server(1, 'owned', { ...copies, keeps: { pid: 1, memoryBytes: 1 } })] });
    expect(drawn(inside(one, 'local, 1 server')).find((line) => line.startsWith('◉'))).toBe('◉ claude ×12 ▸');
  });

  test('what is under way is said and its acts are disabled', () => {
    const busy = server(4, 'supervised', { listening: [{ address: '127.0.0.1', port: 4096 }] });
    const task = {
      id: 't',
      act: 'stop' as const,
      title: '',
      startedAt: '2026-11-30T08:00:00.000Z',
      endedAt: null,
      state: 'running' as const,
      message: '',
      rows: [{ id: busy.id, label: '', phase: 'TERM', outcome: null }],
      results: [],
    };
    const items = inside(roll({ servers: [busy], tasks: [task] }), 'local, 1 server');
    expect(drawn(items)).toEqual([
      '● opencode :4096, stopping… ▸',
      '  Show',
      '  Open in browser',
      '  Copy URL',
      '  ─',
      '  Restart… (disabled)',
      '  Stop… (disabled)',
    ]);
  });

  test('while a reap runs its place says how far it is', () => {
    const one = leaks();
    const rows = [1, 2, 20].map((n) => ({
      id: idOf(n),
      label: '',
      phase: '',
      outcome: n === 1 ? ('gone' as const) : null,
    }));
    const task = {
      id: 't',
      act: 'reap' as const,
      title: '',
      startedAt: '2026-11-30T08:00:00.000Z',
      endedAt: null,
      state: 'running' as const,
      message: '',
      rows,
      results: [],
    };
    expect(top({ ...one, tasks: [task] })[3]).toBe('Reaping, 1 of 3 gone (disabled)');
  });

  test('the last line says what quitting does', () => {
    const keep = (n: number, keepRunning: boolean) =>
      server(n, 'supervised', {
        supervised: {
          recordPath: '/r',
          keepRunning,
          logPath: null,
          nonceSeen: true,
          state: 'ready',
          idleMinutes: null,
          idleStopAt: null,
          outdated: null,
        },
      });
    const last = (...servers: ReturnType<typeof server>[]) => top(roll({ servers })).at(-1);
    expect(last(keep(1, true), keep(2, true))).toBe('Quit, leaving 2 local servers running');
    expect(last(keep(1, false))).toBe('Quit, stopping 1 local server');
    expect(last(keep(1, false), keep(2, true))).toBe('Quit, stopping 1 and leaving 1 server');
    // Remote servers survive quitting.
    expect(last(server(3, 'supervised', { host: 'build-01' }))).toBe('Quit Rollcall');
  });
});

test('busy sessions alone are counted; one that no server carries counts in the state line and at no server', () => {
  const ours = server(1, 'supervised', { listening: [{ address: '127.0.0.1', port: 4096 }] });
  const states = (['busy', 'waiting', 'retrying', 'error', 'ended'] as const).map((state, n) => ({
    ...session(ours, 'idle', n),
    state,
  }));
  const claude = { ...session(ours, 'busy', 9), kind: 'claude', server: null, carrier: 'claude, PID 4711' };
  const one = roll({ servers: [ours], sessions: [...states, claude] });
  expect(top(one).slice(0, 2)).toEqual(['1 server, none leaked (disabled)', '2 sessions busy, 131 MB (disabled)']);
  expect(inside(one, 'local, 1 server').map((item) => ('label' in item ? item.label : ''))).toContain(
    '● opencode :4096, 1 busy',
  );
  // Those that have ended are no sign that sessions are watched.
  const over = roll({ servers: [server(2, 'owned', { busy: 'busy' })], sessions: states.slice(4) });
  expect(top(over)[1]).toBe('1 busy, 131 MB (disabled)');
});

test('session-end hooks that have failed for good are a fault, and its act runs them again', () => {
  const title = '2 session-end hooks have failed';
  const one = roll({ alerts: [{ id: 'hooks', level: 'fault', title, detail: '', act: 'retry-hooks', servers: [] }] });
  expect(top(one)[0]).toBe(`${title} (disabled)`);
  expect(find(trayModel(one).items, 'Run session-end hooks again')).toMatchObject({
    on: { act: 'run', command: { command: 'retry-hooks' } },
  });
});
