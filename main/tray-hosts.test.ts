import { describe, expect, test } from 'vitest';
import type { HostEntry, Roll } from '../app/roll/schema.ts';
import { host, question, roll, server, ssh } from '../e2e/support/fixture-roll.ts';
import { hostItem } from './tray-hosts.ts';
import { trayModel } from './tray-menu.ts';
import type { TrayAct, TrayItem } from './tray-model.ts';

const failure = (step: string, code: string) => ({
  step,
  code,
  message: 'It failed.',
  remedy: 'Mend it.',
  output: null,
});

function withHost(state: HostEntry['state'], over: Partial<HostEntry> = {}, more: Partial<Roll> = {}): Roll {
  return roll({ hosts: [host('local'), host('web-eu', { state, ...over })], ...more });
}

/** The host's line, then what its submenu holds. */
function menu(one: Roll): string[] {
  const [, entry] = one.hosts;
  if (entry === undefined) throw new Error('no host');
  const item = hostItem(one, entry);
  const inner = item.type === 'menu' ? item.items : [];
  const label = (each: TrayItem): string =>
    each.type === 'separator' ? '─' : each.type === 'act' && !each.enabled ? `${each.label} (disabled)` : each.label;
  return [label(item), ...inner.map(label)];
}

function act(one: Roll, label: string): TrayAct | undefined {
  const [, entry] = one.hosts;
  const item = entry === undefined ? undefined : hostItem(one, entry);
  const found =
    item?.type === 'menu' ? item.items.find((each) => each.type === 'act' && each.label === label) : undefined;
  return found?.type === 'act' ? found.on : undefined;
}

describe('a host in the menu', () => {
  test('says its state and what can be done about it', () => {
    expect(menu(withHost('disconnected', { lookedAt: null }))).toEqual(['web-eu, not connected', 'Connect']);
    expect(menu(withHost('connected'))).toEqual(['web-eu, no servers', 'Disconnect']);
    const steps = [{ step: 'host-key' as const, state: 'running' as const, detail: null }];
    expect(menu(withHost('connecting', { lookedAt: null, ssh: ssh('web-eu', { steps }) }))).toEqual([
      'web-eu, connecting: host key',
      'Try now (disabled)',
      'Stop trying',
    ]);
    expect(menu(withHost('unsupported', { lookedAt: null }))[0]).toBe('▲ web-eu, unsupported');
  });

  test('a retry that is waited for has no countdown, which would rebuild the menu each second', () => {
    const one = withHost('reconnecting', { ssh: ssh('web-eu', { attempt: 2, retryAt: '2026-11-30T08:00:08.000Z' }) });
    expect(menu(one)[0]).toBe('web-eu, reconnecting');
    expect(menu(one).slice(1, 3)).toEqual(['Try now', 'Stop trying']);
    const later = { ...one, takenAt: '2026-11-30T08:00:05.000Z' };
    expect(JSON.stringify(trayModel(later))).toBe(JSON.stringify(trayModel(one)));
  });

  test('servers come first; what Rollcall supervises there can be stopped with it, after a question', () => {
    const one = withHost('connected', {}, { servers: [server(1, 'supervised', { host: 'web-eu' })] });
    expect(menu(one).slice(-3)).toEqual(['─', 'Disconnect', 'Disconnect and stop 1 server…']);
    expect(act(one, 'Disconnect')).toEqual({
      act: 'run',
      command: { command: 'disconnect', host: 'web-eu', stopServers: false },
    });
    expect(act(one, 'Disconnect and stop 1 server…')).toMatchObject({
      show: { dialog: 'disconnect-host', host: 'web-eu' },
    });
  });

  test('D2 one that is the same machine as another, or this one, says so', () => {
    expect(menu(withHost('connected', { ssh: ssh('web-eu', { sharedWith: 'build-01' }) }))[0]).toBe(
      'web-eu, same machine as build-01',
    );
    expect(menu(withHost('connected', { ssh: ssh('web-eu', { sharedWith: 'local' }) }))[0]).toBe(
      'web-eu, this very machine',
    );
  });
});

describe('a host as a fault', () => {
  const first = (one: Roll): [string, string] => {
    const { items } = trayModel(one);
    const [line, , , action] = items;
    return [line?.type === 'text' ? line.label : '', action?.type === 'act' ? action.label : ''];
  };

  test.each([
    ['host-key', 'unknown-host-key', 'web-eu: its key is not known yet', 'Check the key of web-eu…'],
    ['host-key', 'changed-host-key', 'web-eu: its key has changed', 'Show what changed…'],
    ['authentication', 'permission-denied', 'web-eu refused the sign-in', 'Sign in to web-eu…'],
    ['name', 'name-not-found', 'web-eu: failed at the name', 'Try web-eu now'],
  ])('D5 %s, %s is named with its remedy', (step, code, line, action) => {
    const one = withHost('failed', { ssh: ssh('web-eu', { failure: failure(step, code) }) });
    expect(trayModel(one).state).toBe('fault');
    expect(first(one)).toEqual([line, action]);
  });

  test('a changed key leads to the refusal in the window, not to another attempt', () => {
    const one = withHost('failed', { ssh: ssh('web-eu', { failure: failure('host-key', 'changed-host-key') }) });
    expect(act(one, 'Show what changed…')).toMatchObject({ show: { dialog: 'host-steps', host: 'web-eu' } });
    expect(act(one, 'Try now')).toBeUndefined();
  });

  test.each([
    ['host-key', 'web-eu: its key is not known yet', 'Check the key of web-eu…'],
    ['password', 'web-eu waits for a password', 'Sign in to web-eu…'],
    ['code', 'web-eu waits for a one-time code', 'Sign in to web-eu…'],
  ] as const)('a question about a %s leads to the window, where it is open', (type, line, action) => {
    const one = withHost('authenticating', { lookedAt: null }, { questions: [question(type)] });
    expect(trayModel(one).state).toBe('fault');
    expect(first(one)).toEqual([line, action]);
    expect(menu(one)[0]).toBe('▲ web-eu, waits for an answer');
  });
});
