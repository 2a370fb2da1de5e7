import { expect, test } from 'vitest';
import { identityKey } from '../../identity/identity.ts';
import { someRef } from '../../records/fixtures.testing.ts';
import type { Endpoint, Kind, ServerWatch } from '../../servers/kind.ts';
import { NOT_LISTED } from '../../servers/session-feed/session-state.ts';
import { Probes } from './probes.ts';

const { identity } = someRef(4000);
const credentials = { username: 'opencode', password: 'secret' };

function scene(secret: Endpoint['credentials']) {
  let asked = 0;
  let broke: number | null = null;
  const opened: string[] = [];
  const watch = (): ServerWatch => {
    opened.push('open');
    broke = null;
    return {
      reading: () => ({ busy: false, sign: 'idle' }),
      lastSign: () => null,
      sessions: () => ({ why: NOT_LISTED, sessions: new Map(), deleted: new Set(), truncated: false }),
      worksIn: () => undefined,
      brokeAt: () => broke,
      close: () => opened.push('close'),
    };
  };
  const health = (): ReturnType<Kind['health']> => {
    asked += 1;
    return Promise.resolve({ state: 'ok', version: '1' });
  };
  const kind = { health, watch } as unknown as Kind;
  const at = { type: 'tcp', address: '127.0.0.1', port: 4000 } as const;
  const endpoint: Endpoint = { identity, address: '127.0.0.1', port: 4000, at, credentials: secret };
  const server = { key: identityKey(identity), kind, endpoint, follow: 'must' } as const;
  const probes = new Probes(
    () => undefined,
    () => undefined,
  );
  return {
    probes,
    opened,
    asked: () => asked,
    breaks: (when: number) => (broke = when),
    update: (now: number, lookedAt: number) => probes.update([server], now, lookedAt),
  };
}

test('a password is given only to what a fresh look has proved: for a question, for a stream, and for the next stream', async () => {
  const { probes, opened, asked, breaks, update } = scene(credentials);
  const began = performance.now();
  update(began, began - 60_000);
  expect(asked()).toBe(0);
  update(began, began);
  await probes.settled();
  expect(opened).toEqual(['open']);
  breaks(began + 5000);
  // The look before, judged again; and one that may have begun before the stream broke.
  update(began + 5100, began);
  update(began + 5100, began + 5100);
  expect(opened).toEqual(['open']);
  update(began + 9000, began + 9000);
  expect(opened).toEqual(['open', 'close', 'open']);
  probes.close();
});

test('a server without a password is asked whenever it is due', async () => {
  const { probes, opened, asked, update } = scene(null);
  update(performance.now(), 0);
  await probes.settled();
  expect([asked(), opened]).toEqual([1, ['open']]);
  probes.close();
});
