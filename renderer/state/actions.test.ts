import { describe, expect, test } from 'vitest';
import type { NavigationTarget } from '../../app/roll/channels.ts';
import type { Roll } from '../../app/roll/schema.ts';
import { type FakeBridge, fakeBridge } from '../preview/bridge.ts';
import { endedRoll, GIVEN_UP, MEANT, WAITING } from '../preview/ended.ts';
import { exampleRoll, localRoll, TAKEN_AT } from '../preview/rolls.ts';
import { createActs, type WindowActions } from './actions.ts';
import { connectNavigation } from './navigation.ts';
import { createWindowStore, receiveRoll, select, type WindowStore } from './store.ts';

interface Window {
  readonly store: WindowStore;
  readonly acts: WindowActions;
  readonly bridge: FakeBridge;
}

async function open(roll: Roll): Promise<Window> {
  const store = createWindowStore();
  const bridge = fakeBridge(roll);
  const acts = createActs(store, bridge);
  connectNavigation(store, acts, bridge);
  await settle();
  return { store, acts, bridge };
}

/** Lets answers that are already there arrive. */
function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

function commands({ bridge }: Window): readonly unknown[] {
  return bridge.asked.filter((entry) => entry.name === 'command.run').map((entry) => entry.payload);
}

const PLACE: NavigationTarget = { view: 'servers', server: null, dialog: 'none', kind: null };

describe('the mirror of the roll', () => {
  test('it shows what roll.get answers, then every push, and never an older one', async () => {
    const roll = exampleRoll();
    const { store, bridge } = await open(roll);
    expect(store.getState().roll).toEqual(roll);
    const later = {
      ...structuredClone(roll),
      version: 42,
      takenAt: new Date(Date.parse(roll.takenAt) + 1000).toISOString(),
    };
    bridge.push(later);
    expect(store.getState().roll?.version).toBe(42);
    bridge.push(roll);
    expect(store.getState().roll?.version).toBe(42);
  });

  test('a restarted app counts from one again and is believed', async () => {
    const roll = exampleRoll();
    const { store, bridge } = await open(roll);
    bridge.push({
      ...structuredClone(roll),
      version: 1,
      takenAt: new Date(Date.parse(roll.takenAt) + 1000).toISOString(),
    });
    expect(store.getState().roll?.version).toBe(1);
  });

  test('new leaks are announced once; those that were told and stay are not told again', async () => {
    const roll = exampleRoll();
    const { store } = await open(roll);
    expect(store.getState().announcement).toBe('3 leaked servers hold 4.31 GB. studio-mac does not answer');
    store.setState({ announcement: 'told' });
    const [alert] = roll.alerts;
    if (alert === undefined) throw new Error('the example has no alert');
    receiveRoll(store, { ...roll, version: 42, alerts: [{ ...alert, title: '3 leaked servers hold 4.40 GB' }] });
    expect(store.getState().announcement).toBe('told');
    const more = { ...alert, title: '4 leaked servers hold 5.00 GB', servers: [...alert.servers, 'f'.repeat(16)] };
    receiveRoll(store, { ...roll, version: 43, alerts: [more] });
    expect(store.getState().announcement).toBe('4 leaked servers hold 5.00 GB');
  });

  test('a connection that breaks is a sentence with a way out, not silence', async () => {
    const window = await open(exampleRoll());
    window.bridge.answer('command.run', () => {
      throw new Error('no handler');
    });
    window.acts.look();
    await settle();
    expect(window.store.getState().problem).toMatchObject({ code: 'window-disconnected', detail: 'no handler' });
  });
});

describe('one click', () => {
  test('reaps what is leaked at once, and only that', async () => {
    const window = await open(exampleRoll());
    window.acts.reapLeaked();
    expect(window.store.getState().dialog).toBeNull();
    expect(commands(window)).toEqual([{ command: 'reap', targets: 'leaked', confirmed: false, force: false }]);
  });

  test('asks first where the settings say always', async () => {
    const roll = exampleRoll();
    roll.settings.reapAsk = 'always';
    const window = await open(roll);
    window.acts.reapLeaked();
    expect(window.store.getState().dialog).toEqual({ type: 'plan' });
    expect(commands(window)).toEqual([]);
  });

  test('a refused command is shown as what happened and what to do', async () => {
    const window = await open(exampleRoll());
    const failure = { code: 'c', message: 'Not now.', remedy: 'Try later.', detail: null };
    window.bridge.answer('command.run', () => ({ ok: false, failure, results: [] }));
    window.acts.reapLeaked();
    await settle();
    expect(window.store.getState().problem).toEqual(failure);
  });
});

describe('questions', () => {
  test('no act on one row ends anything without a question', async () => {
    const window = await open(localRoll());
    for (const server of localRoll().servers) {
      for (const act of ['reap', 'stop', 'restart'] as const) window.acts.openServer(server, act);
    }
    for (const leftover of localRoll().leftovers) window.acts.openLeftover(leftover, 'reap');
    await settle();
    expect(commands(window)).toEqual([]);
  });

  test('what may not be signalled opens no question and says why', async () => {
    const window = await open(localRoll());
    const foreign = localRoll().servers.find((server) => !server.ownUid);
    if (foreign === undefined) throw new Error('the example has no server of another user');
    window.acts.openServer(foreign, 'reap');
    expect(window.store.getState().dialog).toBeNull();
    expect(window.store.getState().problem?.message).toContain('another user');
  });

  test('only records that may be moved are in the question, with the bytes that were judged', async () => {
    const window = await open(exampleRoll());
    window.acts.askClear(exampleRoll().records);
    const { dialog } = window.store.getState();
    if (dialog?.type !== 'clear') throw new Error('no question was opened');
    expect(dialog.records).toHaveLength(3);
    expect(dialog.records.every((record) => record.clearable && record.sha256.length === 64)).toBe(true);
    window.acts.closeDialog();
    window.acts.askClear(exampleRoll().records.filter((record) => !record.clearable));
    expect(window.store.getState().dialog).toBeNull();
    expect(window.store.getState().problem?.message).toContain('This record is kept');
  });

  test('a server without an address says so instead of copying nothing', async () => {
    const window = await open(localRoll());
    const stdio = localRoll().servers.find((server) => server.transport === 'stdio');
    if (stdio === undefined) throw new Error('the example has no stdio server');
    window.acts.openServer(stdio, 'copy-url');
    expect(window.store.getState().problem?.message).toBe('codex stdio has no address that a browser could open.');
    expect(window.bridge.asked.map((entry) => entry.name)).not.toContain('url.copy');
  });
});

describe('places that tray and notifications open', () => {
  test('a server is shown whatever was filtered or chosen before', async () => {
    const { store, bridge } = await open(exampleRoll());
    store.setState({ filter: 'nothing', host: 'gpu-rack', view: 'settings' });
    const id = exampleRoll().servers[0]?.id ?? '';
    bridge.show({ ...PLACE, server: id });
    expect(store.getState()).toMatchObject({ view: 'servers', filter: '', host: null, dialog: null });
    expect(store.getState().selected.servers).toBe(id);
  });

  test('a place asked for before the first roll is opened when it arrives', async () => {
    const store = createWindowStore();
    const bridge = fakeBridge(localRoll());
    connectNavigation(store, createActs(store, bridge), bridge);
    const suspect = localRoll().servers.find((server) => server.standing === 'suspect')?.id ?? '';
    bridge.show({ ...PLACE, dialog: 'plan-server', server: suspect });
    expect(store.getState().dialog).toBeNull();
    await settle();
    expect(store.getState().dialog).toMatchObject({ type: 'reap', id: suspect });
    expect(store.getState().selected.servers).toBe(suspect);
  });

  test('every dialog of the channel opens its question', async () => {
    const { store, bridge } = await open(localRoll());
    const suspect = localRoll().servers.find((server) => server.standing === 'suspect')?.id ?? '';
    const ours = localRoll().servers.find((server) => server.standing === 'supervised')?.id ?? '';
    const opened = (place: Partial<NavigationTarget>): unknown => {
      store.setState({ dialog: null });
      bridge.show({ ...PLACE, ...place });
      return store.getState().dialog;
    };
    expect(opened({ dialog: 'plan-leaked' })).toEqual({ type: 'plan' });
    expect(opened({ dialog: 'plan-server', server: suspect })).toMatchObject({ type: 'reap', id: suspect });
    expect(opened({ dialog: 'start', kind: 'codex' })).toEqual({ type: 'start', kind: 'codex' });
    expect(opened({ dialog: 'stop-server', server: ours })).toMatchObject({ type: 'end', act: 'stop' });
    expect(opened({ dialog: 'restart-server', server: ours })).toMatchObject({ type: 'end', act: 'restart' });
    expect(opened({ dialog: 'stop-all' })).toMatchObject({
      type: 'stop-all',
      servers: [{ standing: 'supervised' }, { standing: 'supervised' }],
    });
  });
});

describe('servers that ended', () => {
  test('each is announced once, and once more when it is given up; a countdown never', async () => {
    const { store } = await open(endedRoll(WAITING));
    const said = (): string => store.getState().announcement;
    expect(said()).toBe('opencode :4401 on local ended unexpectedly');
    const later = (roll: Roll, version: number): void => {
      store.setState({ announcement: '' });
      receiveRoll(store, { ...roll, version });
    };
    later(endedRoll({ ...WAITING, retryAt: TAKEN_AT.toISOString(), attempt: 3 }), 50);
    expect(said()).toBe('');
    later(endedRoll({ ...WAITING, state: 'failed', retryAt: null }), 51);
    expect(said()).toBe('opencode :4401 on local ended unexpectedly');
  });

  test('a second click on the same button is the first wish', async () => {
    const window = await open(endedRoll(WAITING, MEANT));
    window.acts.startAgain(WAITING);
    window.acts.startAgain(WAITING);
    window.acts.forget(MEANT);
    await settle();
    expect(commands(window)).toEqual([
      { command: 'start-again', nonce: WAITING.nonce },
      { command: 'forget', nonce: MEANT.nonce },
    ]);
    window.acts.startAgain(WAITING);
    expect(commands(window)).toHaveLength(3);
  });

  test('tray and notification lead to its strip, and to its log', async () => {
    const { store, bridge } = await open(endedRoll(WAITING, GIVEN_UP));
    bridge.show({ ...PLACE, ended: WAITING.nonce });
    expect(store.getState()).toMatchObject({ strip: `ended ${WAITING.nonce}`, dialog: null });
    bridge.show({ ...PLACE, ended: WAITING.nonce, dialog: 'log' });
    expect(store.getState().dialog).toMatchObject({ type: 'log', ended: { nonce: WAITING.nonce } });
    store.setState({ dialog: null });
    // It is settled by now.
    bridge.show({ ...PLACE, ended: MEANT.nonce, dialog: 'log' });
    expect(store.getState().dialog).toBeNull();
  });
});

test('a selection that does not change wakes nobody', () => {
  const store = createWindowStore();
  let woken = 0;
  store.subscribe(() => {
    woken += 1;
  });
  select(store, 'servers', 'a');
  select(store, 'servers', 'a');
  expect(woken).toBe(1);
});
