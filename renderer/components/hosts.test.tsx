import type { ReactElement } from 'react';
import { renderToStaticMarkup } from 'react-dom/server';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { Roll } from '../../app/roll/schema.ts';
import { fakeBridge } from '../preview/bridge.ts';
import { CHANGED, firstRunRoll, hostsRoll, sshEntry, sshHost, stepsTo } from '../preview/hosts.ts';
import { exampleRoll, HOME, TAKEN_AT } from '../preview/rolls.ts';
import { createActs } from '../state/actions.ts';
import { RollcallContext } from '../state/context.tsx';
import { createWindowStore } from '../state/store.ts';
import { banners } from '../view/banners.ts';
import { hostActs } from '../view/hostActs.ts';
import { hostFigure } from '../view/hostItems.ts';
import { buttonActs, serverActs } from '../view/serverActs.ts';
import { DetailsPane } from './DetailsPane.tsx';
import { FirstRun } from './FirstRun.tsx';
import { Hosts } from './Hosts.tsx';
import { StripBar } from './StripBar.tsx';

beforeEach(() => {
  vi.useFakeTimers({ now: TAKEN_AT });
});
afterEach(() => {
  vi.useRealTimers();
});

function drawn(roll: Roll, element: ReactElement, state: { host?: string; server?: string } = {}): string {
  const store = createWindowStore();
  store.setState({ roll, host: state.host ?? null });
  if (state.server !== undefined) store.setState({ selected: { ...store.getState().selected, servers: state.server } });
  // What is drawn without a page shows a store's first state.
  Object.assign(store, { getInitialState: store.getState });
  return renderToStaticMarkup(
    <RollcallContext value={{ store, acts: createActs(store, fakeBridge(roll)) }}>{element}</RollcallContext>,
  );
}

const words = (html: string): string => html.replace(/<[^>]+>/gu, ' ').replace(/\s+/gu, ' ');

describe('the sidebar', () => {
  test('every state has its shape, its figure and its words', () => {
    const roll = hostsRoll();
    const html = words(drawn(roll, <Hosts roll={roll} />));
    for (const line of [
      'studio-mac , reconnecting in 8 s',
      'pi-lab , not connected off',
      'web-us , connecting: host key host key',
      'web-asia , waits for an answer asks',
      'web-eu , failed: sign-in failed',
      'winbox , unsupported unsupported',
      'build-01.lan , same machine as build-01 = build-01',
      'myself , this very machine = local',
    ]) {
      expect(html).toContain(line);
    }
  });

  test('D4 the seconds are counted here, without a new roll', () => {
    const mac = exampleRoll().hosts.find(({ name }) => name === 'studio-mac');
    if (mac === undefined) throw new Error('the example has no studio-mac');
    expect(hostFigure(mac, 3, TAKEN_AT.getTime())).toBe('in 8 s');
    expect(hostFigure(mac, 3, TAKEN_AT.getTime() + 5000)).toBe('in 3 s');
  });

  test('what can be done fits the state; this machine has nothing to be asked', () => {
    const labels = (name: string) => {
      const host = hostsRoll().hosts.find((entry) => entry.name === name);
      return host === undefined ? [] : hostActs(host).map(({ label }) => label);
    };
    expect(labels('local')).toEqual([]);
    expect(labels('build-01')).toEqual(['Disconnect', 'Disconnect and stop…', 'Edit…', 'Copy alias', 'Remove…']);
    expect(labels('pi-lab')).toEqual(['Connect', 'Edit…', 'Copy alias', 'Remove…']);
    expect(labels('studio-mac').slice(0, 2)).toEqual(['Try now', 'Stop trying']);
    expect(labels('build-02')[0]).toBe('Show what changed…');
    expect(labels('myself')).toContain('Add to the list…');
    expect(labels('myself')).not.toContain('Remove…');
    // Stopping is asked of the host that has the servers.
    expect(labels('build-01.lan')).not.toContain('Disconnect and stop…');
  });
});

describe('the strip of a host', () => {
  const alone = (roll: Roll, name: string): string => drawn(roll, <StripBar roll={roll} />, { host: name });

  test('D4 one that does not answer says since when, counts down, and is tried now or no more', () => {
    const roll = exampleRoll();
    const html = alone(roll, 'studio-mac');
    expect(words(html)).toContain(
      'studio-mac does not answer No answer since 14:31:20. Attempt 3 in 8 s. Its servers keep running; these rows are from before. Stop trying Try now',
    );
    vi.setSystemTime(TAKEN_AT.getTime() + 5000);
    expect(words(alone(roll, 'studio-mac'))).toContain('Attempt 3 in 3 s.');
  });

  test('D5 a changed key has one button, and that does not accept it', () => {
    const html = alone(hostsRoll(), 'build-02');
    expect(html).toContain('The key of build-02 has changed');
    expect([...html.matchAll(/<button[^>]*>([^<]*)</gu)].map(([, label]) => label)).toEqual(['Show what changed…']);
    expect(CHANGED.remedy).toContain('ssh-keygen');
  });

  test('one that has been silent for a moment stands behind a leak, a failed one before it', () => {
    expect(banners(exampleRoll(), null).map(({ key }) => key)).toEqual(['alert leaks', 'host studio-mac']);
    const roll = exampleRoll();
    const failed = sshHost('web-eu', 'failed', {
      ssh: sshEntry('web-eu', { steps: stepsTo('name', 'failed'), failure: { ...CHANGED, step: 'name', code: 'x' } }),
    });
    expect(banners({ ...roll, hosts: [...roll.hosts, failed] }, null)[0]?.key).toBe('host ssh web-eu');
  });
});

describe('what was not just seen', () => {
  const roll = exampleRoll();
  const mac = roll.hosts.find(({ name }) => name === 'studio-mac');
  const server = roll.servers.find(({ host, kind }) => host === 'studio-mac' && kind === 'opencode');

  test('D4 cannot be acted on, and the sentence says why; the tunnel is closed', () => {
    if (server === undefined) throw new Error('the example has no server there');
    expect(buttonActs(serverActs(server, mac)).map(({ label, refusal }) => [label, refusal === null])).toEqual([
      ['Stop…', false],
      ['Restart…', false],
      ['Open in browser', false],
    ]);
    const html = drawn(roll, <DetailsPane roll={roll} home={HOME} />, { server: server.id });
    expect(words(html)).toContain('on studio-mac, as of 14:31:20');
    expect(html.match(/<button[^>]*disabled=""[^>]*>/gu)).toHaveLength(3);
    expect(html).toContain('Nothing can be stopped now: without a connection');
    expect(words(html)).toContain('Next Attempt 3 in 8 s.');
    expect(words(html)).toContain('Local port 4096, closed');
  });

  test('a connected one shows where its tunnel begins and leads', () => {
    const there = roll.servers.find(({ host, listening }) => host === 'build-01' && listening.length > 0);
    if (there === undefined) throw new Error('the example has no server there');
    const html = drawn(roll, <DetailsPane roll={roll} home={HOME} />, { server: there.id });
    expect(words(html)).toContain(`Leads to build-01 :${there.listening[0]?.port}`);
    const here = roll.servers.find(({ host }) => host === 'local');
    expect(drawn(roll, <DetailsPane roll={roll} home={HOME} />, { server: here?.id ?? '' })).not.toContain('Tunnel');
  });
});

test('the first run offers hosts of the ssh configuration, none of them ticked', () => {
  const roll = firstRunRoll();
  const html = drawn(roll, <FirstRun roll={roll} />);
  expect(html.match(/type="checkbox"/gu)).toHaveLength(6);
  expect(html).not.toContain('checked=""');
  expect(words(html)).toContain('Add hosts Another host…');
  expect(html).not.toContain('web-old.example.net');
});
