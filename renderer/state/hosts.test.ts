import { describe, expect, test } from 'vitest';
import type { CommandResult } from '../../app/roll/commands.ts';
import type { Roll } from '../../app/roll/schema.ts';
import { type FakeBridge, fakeBridge } from '../preview/bridge.ts';
import { hostsRoll, question } from '../preview/hosts.ts';
import { exampleRoll } from '../preview/rolls.ts';
import { createActs, type WindowActions } from './actions.ts';
import { connectNavigation } from './navigation.ts';
import { createWindowStore, type WindowStore } from './store.ts';

const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

async function open(roll: Roll): Promise<{ store: WindowStore; acts: WindowActions; bridge: FakeBridge }> {
  const store = createWindowStore();
  const bridge = fakeBridge(roll);
  const acts = createActs(store, bridge);
  connectNavigation(store, acts, bridge);
  await settle();
  return { store, acts, bridge };
}

const commands = ({ asked }: FakeBridge): readonly unknown[] =>
  asked.filter(({ name }) => name === 'command.run').map(({ payload }) => payload);

const hostOf = (roll: Roll, name: string) => {
  const host = roll.hosts.find((entry) => entry.name === name);
  if (host === undefined) throw new Error(`the example has no ${name}`);
  return host;
};

const FAILED: CommandResult = {
  ok: false,
  failure: { code: 'name-not-found', message: 'Its name was not found.', remedy: 'Check it.', detail: null },
  results: [],
};
const FORM = { name: 'webhooks', alias: 'webhooks', connect: 'at-start', was: null } as const;

describe('adding a host', () => {
  test('it is saved only once it is connected', async () => {
    const { store, acts, bridge } = await open(hostsRoll());
    acts.addHost(FORM);
    await settle();
    expect(commands(bridge)).toEqual([
      { command: 'connect', host: 'webhooks' },
      { command: 'save-host', name: 'webhooks', alias: 'webhooks', connect: 'at-start', was: null },
    ]);
    expect(store.getState().dialog).toMatchObject({ type: 'host-steps', host: 'webhooks', purpose: 'add' });
  });

  test('one with a name of its own is saved first, since it is connected under that name', async () => {
    const { acts, bridge } = await open(hostsRoll());
    acts.addHost({ ...FORM, name: 'web' });
    await settle();
    expect(commands(bridge)).toEqual([
      { command: 'save-host', name: 'web', alias: 'webhooks', connect: 'at-start', was: null },
      { command: 'connect', host: 'web' },
    ]);
  });

  test('a saved one is connected again under its new name, unless it was not to be connected', async () => {
    const { acts, bridge } = await open(hostsRoll());
    await acts.saveHost({ name: 'b1', alias: 'build-01', connect: 'at-start', was: 'build-01' });
    await acts.saveHost({ name: 'pi', alias: 'pi-lab', connect: 'at-start', was: 'pi-lab' });
    await acts.saveHost({ name: 'gpu-rack', alias: 'gpu-rack', connect: 'when-asked', was: 'gpu-rack' });
    await settle();
    expect(commands(bridge).filter((command) => (command as { command: string }).command === 'connect')).toEqual([
      { command: 'connect', host: 'b1' },
    ]);
  });

  test('a failed attempt saves nothing, and can be made again', async () => {
    const { store, acts, bridge } = await open(hostsRoll());
    bridge.answer('command.run', () => FAILED);
    acts.addHost(FORM);
    await settle();
    const { dialog } = store.getState();
    if (dialog?.type !== 'host-steps') throw new Error('no steps are shown');
    expect((await dialog.answer)?.ok).toBe(false);
    acts.tryAgain(dialog);
    await settle();
    expect(commands(bridge)).toEqual([
      { command: 'connect', host: 'webhooks' },
      { command: 'connect', host: 'webhooks' },
    ]);
    // The steps say it; a second place would say it twice.
    expect(store.getState().problem).toBeNull();
  });

  test('a test saves nothing; of a saved host whose alias is as before it tests that host', async () => {
    const { acts, bridge } = await open(hostsRoll());
    acts.testHost(FORM);
    acts.testHost({ name: 'lab', alias: 'pi-lab', connect: 'at-start', was: 'pi-lab' });
    await settle();
    expect(commands(bridge)).toEqual([
      { command: 'connect', host: 'webhooks' },
      { command: 'connect', host: 'pi-lab' },
    ]);
  });

  test('several are each saved, then connected', async () => {
    const { acts, bridge } = await open(hostsRoll());
    acts.addHosts(['nas', 'printer']);
    await settle();
    expect(
      commands(bridge)
        .map((command) => (command as { command: string }).command)
        .sort(),
    ).toEqual(['connect', 'connect', 'save-host', 'save-host']);
  });
});

describe('what is asked of a host', () => {
  test('connecting and leaving are commands; what ends or removes asks first', async () => {
    const roll = exampleRoll();
    const { store, acts, bridge } = await open(roll);
    acts.openHost(hostOf(roll, 'pi-lab'), 'connect');
    acts.openHost(hostOf(roll, 'studio-mac'), 'retry');
    acts.openHost(hostOf(roll, 'gpu-rack'), 'disconnect');
    await settle();
    expect(commands(bridge)).toEqual([
      { command: 'connect', host: 'pi-lab' },
      { command: 'connect', host: 'studio-mac' },
      { command: 'disconnect', host: 'gpu-rack', stopServers: false },
    ]);
    acts.openHost(hostOf(roll, 'build-01'), 'disconnect-stop');
    const { dialog } = store.getState();
    expect(dialog?.type === 'disconnect' ? dialog.servers.map(({ kind }) => kind) : []).toEqual(['opencode']);
    acts.openHost(hostOf(roll, 'build-01'), 'remove');
    expect(store.getState().dialog?.type).toBe('remove-host');
    expect(commands(bridge)).toHaveLength(3);
  });

  test('a failure stands in the strip of its host; one that no host shows is told', async () => {
    const roll = hostsRoll();
    const { store, acts, bridge } = await open(roll);
    bridge.answer('command.run', () => FAILED);
    acts.connectHost('web-eu');
    await settle();
    expect(store.getState().problem).toBeNull();
    acts.connectHost('nobody');
    await settle();
    expect(store.getState().problem?.code).toBe('name-not-found');
  });

  test('D4 nothing is asked of a server whose host is not connected', async () => {
    const roll = exampleRoll();
    const { store, acts, bridge } = await open(roll);
    const server = roll.servers.find(({ host, supervised }) => host === 'studio-mac' && supervised !== null);
    if (server === undefined) throw new Error('the example has no such server');
    acts.openServer(server, 'stop');
    expect(store.getState().dialog).toBeNull();
    expect(store.getState().problem?.message).toContain('without a connection Rollcall cannot prove');
    acts.openServer(server, 'open');
    expect(store.getState().problem?.message).toContain('No tunnel leads to');
    expect(bridge.asked.some(({ name }) => name === 'url.open')).toBe(false);
  });
});

test('D5 an answer goes to ssh and stays nowhere in the window', async () => {
  const { store, acts, bridge } = await open({ ...hostsRoll(), questions: [question('password')] });
  expect(await acts.answer('q-password', 'correct horse')).toBeNull();
  expect(bridge.asked.at(-1)).toEqual({
    name: 'question.answer',
    payload: { id: 'q-password', answer: 'correct horse' },
  });
  expect(JSON.stringify(store.getState())).not.toContain('correct horse');
  bridge.answer('question.answer', () => ({ ok: false, message: 'Nobody waits for this answer any more.' }));
  expect((await acts.answer('q-password', null))?.message).toContain('Nobody waits');
});

test('tray and notifications lead to a host, to its steps, or to the question about it', async () => {
  const { store, bridge } = await open(hostsRoll());
  const place = { view: 'servers', server: null, kind: null } as const;
  bridge.show({ ...place, dialog: 'none', host: 'web-eu' });
  expect(store.getState()).toMatchObject({ host: 'web-eu', dialog: null });
  bridge.show({ ...place, dialog: 'host-steps', host: 'build-02' });
  expect(store.getState().dialog).toMatchObject({ type: 'host-steps', host: 'build-02', purpose: 'show' });
  bridge.show({ ...place, dialog: 'disconnect-host', host: 'build-01' });
  expect(store.getState().dialog).toMatchObject({ type: 'disconnect', host: 'build-01' });
  bridge.show({ ...place, dialog: 'host-steps', host: 'gone' });
  expect(store.getState().host).toBeNull();
});
