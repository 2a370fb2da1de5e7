import { describe, expect, test } from 'vitest';
import type { Session } from '../../app/roll/schema.ts';
import { type FakeBridge, fakeBridge } from '../preview/bridge.ts';
import { exampleRoll } from '../preview/rolls.ts';
import { statesRoll, watchAlertsRoll } from '../preview/sessions.ts';
import { createActs, type WindowActions } from './actions.ts';
import { showPlace } from './navigation.ts';
import { createWindowStore, receiveRoll, type WindowStore } from './store.ts';

interface Window {
  readonly store: WindowStore;
  readonly acts: WindowActions;
  readonly bridge: FakeBridge;
  session(title: string): Session;
  asked(name: string): readonly unknown[];
}

function open(): Window {
  const roll = statesRoll(exampleRoll());
  const store = createWindowStore();
  const bridge = fakeBridge(roll);
  receiveRoll(store, roll);
  return {
    store,
    bridge,
    acts: createActs(store, bridge),
    session(title) {
      const found = roll.sessions.find((each) => each.title.startsWith(title));
      if (found === undefined) throw new Error(`no session ${title}`);
      return found;
    },
    asked: (name) => bridge.asked.filter((entry) => entry.name === name).map(({ payload }) => payload),
  };
}

const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('acts on a session', () => {
  test('what may be aborted at once is, what asks opens a question, what is closed says why', () => {
    const { store, acts, session, asked } = open();
    acts.openSession(session('Move'), 'abort');
    expect(asked('command.run')).toEqual([{ command: 'abort-session', session: session('Move').key }]);
    acts.openSession(session('Summarise'), 'abort');
    expect(store.getState().dialog).toEqual({ type: 'session', act: 'abort', session: session('Summarise') });
    acts.closeDialog();
    acts.openSession(session('Explain'), 'abort');
    expect(store.getState().problem?.message).toBe('Rollcall only reads what claude says of its sessions.');
    expect(store.getState().dialog).toBeNull();
    expect(asked('command.run')).toHaveLength(1);
  });

  test('an end is always asked for, and never where its host does not answer', () => {
    const { store, acts, session, asked } = open();
    acts.openSession({ ...session('Move'), end: { allowed: 'yes' } }, 'end');
    expect(store.getState().dialog).toMatchObject({ type: 'session', act: 'end' });
    acts.closeDialog();
    acts.openSession({ ...session('Move'), host: 'studio-mac' }, 'end');
    expect(store.getState().problem?.message).toContain('Nothing can be stopped now');
    expect(store.getState().dialog).toBeNull();
    expect(asked('command.run')).toEqual([]);
  });

  test('a browser is given its server, never an address; an attach command is quoted for a shell', () => {
    const { store, acts, session, asked } = open();
    const move = session('Move');
    acts.openSession(move, 'open');
    expect(asked('url.open')).toEqual([{ server: move.server }]);
    acts.openSession(session('Explain'), 'open');
    expect(store.getState().problem?.message).toBe('claude, PID 4711 has no address that a browser could open.');
    acts.openSession(session('Clean'), 'open');
    expect(store.getState().problem?.message).toContain('It has ended');
    expect(asked('url.open')).toHaveLength(1);
    acts.openSession({ ...move, attach: ['opencode', 'attach', "it's"] }, 'copy-attach');
    expect(asked('text.copy')).toEqual([{ text: "opencode attach 'it'\\''s'" }]);
  });
});

describe('one server or session alone', () => {
  test('its sessions and its timeline are narrowed to it until a view, a host or a row is chosen', () => {
    const { store, acts, session } = open();
    const server = store.getState().roll?.servers.find(({ id }) => id === session('Move').server);
    if (server === undefined) throw new Error('the example has no such server');
    store.setState({ filter: 'x', host: 'build-01' });
    acts.openServer(server, 'show-sessions');
    const scope = { type: 'server', id: server.id, name: 'opencode :4096 on local' };
    expect(store.getState()).toMatchObject({ view: 'sessions', scope, filter: '', host: null });
    acts.show('sessions');
    expect(store.getState().scope).toBeNull();
    acts.openServer(server, 'show-timeline');
    expect(store.getState()).toMatchObject({ view: 'timeline', scope });
    showPlace(store, acts, { view: 'sessions', server: null, dialog: 'none', kind: null });
    expect(store.getState()).toMatchObject({ view: 'sessions', scope: null });
    acts.openSession(session('Move'), 'show-timeline');
    expect(store.getState()).toMatchObject({ view: 'timeline', scope: { type: 'session', id: session('Move').key } });
    acts.openSession(session('Move'), 'show-server');
    expect(store.getState()).toMatchObject({ view: 'servers', scope: null, selected: { servers: server.id } });
  });
});

test('an export that is cancelled says nothing, one that fails says why', async () => {
  const { store, acts, bridge, asked } = open();
  const choice = { host: null, server: null, session: null, filter: 'x'.repeat(2000) };
  expect(await acts.exportTimeline(choice)).toMatchObject({ entries: 312 });
  expect(asked('timeline.export')).toEqual([{ ...choice, filter: 'x'.repeat(1000) }]);
  bridge.answer('timeline.export', () => ({ ok: true, path: null, entries: 0 }));
  expect(await acts.exportTimeline(choice)).toBeNull();
  expect(store.getState().problem).toBeNull();
  bridge.answer('timeline.export', () => ({ ok: false, message: 'That disk is read-only.' }));
  expect(await acts.exportTimeline(choice)).toBeNull();
  expect(store.getState().problem?.message).toBe('That disk is read-only.');
});

test('a server that is about to stop is announced once', () => {
  const store = createWindowStore();
  const roll = watchAlertsRoll(exampleRoll(), 'keep-awake');
  receiveRoll(store, roll);
  expect(store.getState().announcement).toContain('opencode :4096 on local stops at 14:52');
  store.setState({ announcement: 'told' });
  receiveRoll(store, { ...roll, version: 42 });
  expect(store.getState().announcement).toBe('told');
});

test('idle times and failed hooks are one command each', async () => {
  const { acts, asked } = open();
  acts.setIdle('a'.repeat(16), 30);
  acts.keepAwake('a'.repeat(16));
  acts.retryHooks();
  acts.forgetHooks();
  await settle();
  expect(asked('command.run')).toEqual([
    { command: 'set-idle', server: 'a'.repeat(16), minutes: 30 },
    { command: 'keep-awake', server: 'a'.repeat(16) },
    { command: 'retry-hooks' },
    { command: 'forget-hooks' },
  ]);
});
