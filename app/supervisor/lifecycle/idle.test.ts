import { expect, test } from 'vitest';
import { type IdleFacts, IdleWatch } from './idle.ts';

const MINUTE = 60_000;
const server = (over: Partial<IdleFacts> = {}): IdleFacts => ({
  nonce: 'a',
  minutes: 30,
  busy: 'idle',
  clients: 0,
  ...over,
});

test('it is announced when the time is up, and due a minute later, again and again until it is gone', () => {
  const watch = new IdleWatch();
  expect(watch.observe([server()], 0)).toEqual({ announced: [], due: [] });
  expect(watch.observe([server()], 30 * MINUTE - 1)).toEqual({ announced: [], due: [] });
  expect(watch.stopAt('a')).toBeNull();
  expect(watch.observe([server()], 30 * MINUTE)).toEqual({ announced: ['a'], due: [] });
  expect(watch.stopAt('a')).toBe(31 * MINUTE);
  expect(watch.observe([server()], 31 * MINUTE - 1)).toEqual({ announced: [], due: [] });
  expect(watch.observe([server()], 31 * MINUTE)).toEqual({ announced: [], due: ['a'] });
  expect(watch.observe([server()], 31 * MINUTE + 2000)).toEqual({ announced: [], due: ['a'] });
});

test.each([
  ['a busy session', { busy: 'busy' }],
  ['a busyness that is not known', { busy: 'unknown' }],
  ['a client', { clients: 1 }],
  ['clients that cannot be known', { clients: null }],
  ['the policy taken away', { minutes: null }],
] as const)('%s takes the announcement back, and the time begins anew', (_what, change) => {
  const watch = new IdleWatch();
  watch.observe([server()], 0);
  watch.observe([server()], 30 * MINUTE);
  expect(watch.observe([server(change)], 30.5 * MINUTE)).toEqual({ announced: [], due: [] });
  expect(watch.stopAt('a')).toBeNull();
  expect(watch.observe([server()], 31 * MINUTE)).toEqual({ announced: [], due: [] });
  expect(watch.observe([server()], 60.9 * MINUTE)).toEqual({ announced: [], due: [] });
  expect(watch.observe([server()], 61 * MINUTE)).toEqual({ announced: ['a'], due: [] });
});

test('a person keeps it awake; a longer time that is set meanwhile holds at once', () => {
  const watch = new IdleWatch();
  watch.observe([server()], 0);
  watch.observe([server()], 30 * MINUTE);
  watch.keepAwake('a');
  expect(watch.observe([server()], 31 * MINUTE)).toEqual({ announced: [], due: [] });
  expect(watch.observe([server()], 61 * MINUTE).announced).toEqual(['a']);
  expect(watch.observe([server({ minutes: 60 })], 61.5 * MINUTE)).toEqual({ announced: [], due: [] });
  expect(watch.stopAt('a')).toBeNull();
  expect(watch.observe([server({ minutes: 60 })], 91 * MINUTE).announced).toEqual(['a']);
});

test('one that is not there any more is forgotten', () => {
  const watch = new IdleWatch();
  watch.observe([server()], 0);
  watch.observe([], 10 * MINUTE);
  expect(watch.observe([server()], 30 * MINUTE)).toEqual({ announced: [], due: [] });
});
