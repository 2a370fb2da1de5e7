import { afterEach, describe, expect, test } from 'vitest';
import type { SessionFact } from '../kind.ts';
import { allKinds, kindOf } from '../kinds/kinds.ts';
import { FORKS } from '../kinds/opencode.ts';
import { type Fixture, fixture } from './hostile.testing.ts';

const open: Fixture[] = [];
afterEach(async () => {
  for (const server of open.splice(0)) await server.close();
});

const FACT: SessionFact = {
  id: 'ses_1',
  title: '',
  directory: '/home/p q',
  parent: null,
  state: 'busy',
  detail: null,
  createdAt: null,
  updatedAt: null,
  heardAt: 1,
  instance: '/home/p q',
};
const acts = kindOf('opencode', [])?.sessionActs;

async function answering(status: number, body: string): Promise<Fixture> {
  const server = await fixture((_, res) => {
    res.writeHead(status).end(body);
  });
  open.push(server);
  return server;
}

describe('interrupting a session', () => {
  test('goes to the instance that told of it, with the password of a server of ours', async () => {
    const server = await answering(200, 'true');
    const credentials = { username: 'opencode', password: 'x' };
    expect(await acts?.abort({ ...server.endpoint, credentials }, FACT, 60_000)).toBeNull();
    expect(server.requests).toEqual([
      'POST /session/ses_1/abort?directory=%2Fhome%2Fp%20q Basic b3BlbmNvZGU6eA== close',
    ]);
  });

  test.each([
    [{ heardAt: null }, /has not told of it/u],
    [{ directory: null, instance: null }, /has not told of it/u],
    [{ state: 'idle' }, /does nothing/u],
    [{ state: 'error' }, /does nothing/u],
  ])('is refused unasked where it would load a folder or do nothing: %j', async (more, why) => {
    const server = await answering(200, 'true');
    expect(await acts?.abort(server.endpoint, { ...FACT, ...more } as SessionFact, 60_000)).toMatch(why);
    expect(server.requests).toEqual([]);
  });

  test.each([
    [401, '', /locked/u],
    [404, '{}', /does not know it/u],
    [500, '', /status 500/u],
    [200, 'false', /did not say/u],
  ])('says why when the server does not: %d %s', async (status, body, why) => {
    const server = await answering(status, body);
    expect(await acts?.abort(server.endpoint, FACT, 60_000)).toMatch(why);
  });
});

test.each(['opencode', 'kilo'])('a terminal is attached by the program of its kind: %s', (name) => {
  expect(kindOf(name, [])?.sessionActs?.attach('http://127.0.0.1:4096/', 'ses_1')).toEqual([
    name,
    'attach',
    'http://127.0.0.1:4096/',
    '--session',
    'ses_1',
  ]);
});

test('every kind watches its sessions or says why it cannot', () => {
  for (const { name, watch, sessionsWhy } of allKinds([{ name: 'mine', program: 'mine', args: [] }])) {
    expect(sessionsWhy === null, name).toBe(watch !== null);
    if (sessionsWhy !== null) expect(sessionsWhy, name).not.toMatch(/\.$/u);
  }
});

test.each([
  ['opencode', '1.18.33', true],
  ['opencode', '2.0.0', true],
  ['opencode', '1.15.3', false],
  ['opencode', '1.2.27', false],
  ['opencode', 'local', false],
  ['opencode', null, false],
  ['kilo', '7.7.9', true],
  ['kilo', '7.0.33', false],
])('%s %s is asked for its list only where that is known to load nothing', (name, version, passive) => {
  const lists = FORKS.find((fork) => fork.name === name)?.listsPassively(version);
  expect(lists).toEqual(passive ? true : expect.stringContaining('may load folders'));
});
