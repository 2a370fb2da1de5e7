import { expect, test } from 'vitest';
import { ServerHistory } from './server-history.ts';

const OWNER = { label: 'node launcher.js', pid: 4711, key: 'identity of the owner' };
const DAY = 24 * 3600 * 1000;

/** Text of a memory in which one server was last used at this time of day. */
const textOf = (lastSignAt: number | null): string =>
  JSON.stringify({
    version: 1,
    servers: { key: { owner: { ...OWNER, gone: false, endedAt: null }, lastSignAt } },
  });

test('an owner and the last sign survive a restart, measured on the new clock', () => {
  const first = new ServerHistory(null, 1000);
  first.ownerSeen('key', OWNER, 1000);
  const second = new ServerHistory(first.text(1000), 50_000);
  expect(second.of('key').owner).toMatchObject({ label: 'node launcher.js', gone: false });
  expect(50_000 - (second.of('key').lastSignAt ?? 0)).toBeLessThan(5000);
});

test('when an owner went is known only if it was seen to go', () => {
  const seen = new ServerHistory(null, 0);
  seen.ownerSeen('key', OWNER, 0);
  seen.sample('key', 1, 0, 0);
  seen.ownerGone('key');
  expect(seen.of('key').owner?.endedAt).not.toBeNull();

  const restarted = new ServerHistory(textOf(Date.now()), 0);
  restarted.ownerGone('key');
  expect(restarted.of('key').owner).toMatchObject({ gone: true, endedAt: null });
});

test('what is old, or tells nothing, is not taken over, and what is never seen again is forgotten', () => {
  expect(new ServerHistory(textOf(Date.now() - 31 * DAY), 0).ownerPids()).toEqual([]);
  expect(new ServerHistory(textOf(null), 0).ownerPids()).toEqual([]);
  const kept = new ServerHistory(textOf(Date.now() - DAY), 0);
  expect(kept.ownerPids()).toEqual([4711]);
  kept.forget(1);
  expect(kept.ownerPids()).toEqual([]);
});

test('a sign in the future, after the clock was set back, counts as now', () => {
  expect(new ServerHistory(textOf(Date.now() + DAY), 500).of('key').lastSignAt).toBe(500);
});

test('anything else than its own text is ignored', () => {
  for (const text of ['', '{', '[]', '{"version":2,"servers":{}}'])
    expect(new ServerHistory(text, 0).ownerPids()).toEqual([]);
});

test('what could not be written is due again', () => {
  const memory = new ServerHistory(null, 0);
  memory.ownerSeen('key', OWNER, 0);
  expect(memory.text(0)).not.toBeNull();
  expect(memory.text(1)).toBeNull();
  memory.unwritten();
  expect(memory.text(2)).not.toBeNull();
});
