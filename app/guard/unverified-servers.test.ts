import { expect, test } from 'vitest';
import { idOf } from '../identity/ids.ts';
import { someRecord, someRef } from '../records/fixtures.testing.ts';
import type { Roll } from '../roll/schema.ts';
import type { Supervised } from '../supervisor/core.ts';
import { UNVERIFIED_MS, UnverifiedServers } from './unverified-servers.ts';

const REF = someRef(4711);
const SERVER: Supervised = {
  record: someRecord({ server: REF }),
  path: '/records/x.json',
  busy: 'unknown',
  label: 'opencode',
  id: null,
};

/** Only the part of a roll that is read. */
const rollOf = (...rows: { id: string; busy: 'idle' | 'busy' }[]): Roll => ({ servers: rows }) as unknown as Roll;

test('one that nothing shows is waited for, said once, and left out when its time is up', () => {
  const lines: string[] = [];
  const unshown = new UnverifiedServers((text) => lines.push(text));
  for (const now of [0, 1000, UNVERIFIED_MS - 1]) expect(unshown.observe([SERVER], rollOf(), now)).toEqual([SERVER]);
  for (const now of [UNVERIFIED_MS, UNVERIFIED_MS + 1000]) expect(unshown.observe([SERVER], rollOf(), now)).toEqual([]);
  expect(lines).toEqual([
    'opencode, PID 4711 (/records/x.json): no look shows it, so it cannot be proved and is not ended; it is waited for',
    'opencode, PID 4711 (/records/x.json): nothing has shown it for 30 minutes; it is not waited for any more',
  ]);
});

test('one that its process’s row shows is as busy as that, and its time begins anew', () => {
  const unshown = new UnverifiedServers(() => undefined);
  unshown.observe([SERVER], rollOf(), 0);
  const rows = rollOf({ id: idOf(someRef(12).identity), busy: 'busy' }, { id: idOf(REF.identity), busy: 'idle' });
  expect(unshown.observe([SERVER], rows, UNVERIFIED_MS)).toEqual([{ ...SERVER, busy: 'idle' }]);
  expect(unshown.observe([SERVER], rollOf(), UNVERIFIED_MS + 1)).toEqual([SERVER]);
});

test('one with a row of its own is left as it is', () => {
  const own = { ...SERVER, id: 'aaaa', busy: 'busy' as const };
  expect(new UnverifiedServers(() => undefined).observe([own], rollOf(), 0)).toEqual([own]);
});
