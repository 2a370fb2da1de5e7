import { expect, test } from 'vitest';
import { identityKey } from '../../identity/identity.ts';
import { someRef } from '../../records/fixtures.testing.ts';
import type { JudgedServer } from '../judged-server.ts';
import { ServerCredentials } from './credentials.ts';

test('a password that could not be read is asked for again by a later look, one that is not there is not', async () => {
  const { identity, evidence } = someRef(4000);
  const key = identityKey(identity);
  const answers = [new Error('the connection was lost'), {}, { PASS: 'secret' }];
  let asked = 0;
  const secrets = async () => {
    const answer = answers[asked++];
    if (answer instanceof Error) throw answer;
    return answer ?? null;
  };
  const credentials = new ServerCredentials({ secrets }, () => undefined);
  const server = {
    key,
    leader: { identity, ...evidence },
    kind: { protection: { password: 'PASS', username: 'NAME', defaultUsername: 'opencode' } },
    record: {},
    row: { ownUid: true, health: 'locked' },
  } as unknown as JudgedServer;
  for (const expected of [1, 2, 2]) {
    credentials.update([server]);
    await new Promise((resolve) => setImmediate(resolve));
    expect(asked).toBe(expected);
  }
  // Another process may have one.
  credentials.update([]);
  credentials.update([server]);
  await new Promise((resolve) => setImmediate(resolve));
  expect(credentials.of(key)).toEqual({ username: 'opencode', password: 'secret' });
});
