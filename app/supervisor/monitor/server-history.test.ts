import { expect, test } from 'vitest';
import {
  growthOf,
  NOTHING_YET,
  ServerHistory,
  withCpu,
  withOwner,
  withoutOwner,
  withSample,
} from './server-history.ts';

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
  first.keep('key', withOwner(first.of('key'), OWNER, 1000));
  const second = new ServerHistory(first.text(1000), 50_000);
  expect(second.of('key').owner).toMatchObject({ label: 'node launcher.js', gone: false });
  expect(50_000 - (second.of('key').lastSignAt ?? 0)).toBeLessThan(5000);
});

test('when an owner went is known only if it was seen to go', () => {
  const seen = withSample(withOwner(NOTHING_YET, OWNER, 0), 1, 0, 0);
  expect(withoutOwner(seen, 77).owner).toMatchObject({ gone: true, endedAt: 77 });
  const restarted = new ServerHistory(textOf(Date.now()), 0);
  expect(withoutOwner(restarted.of('key'), 77).owner).toMatchObject({ gone: true, endedAt: null });
  expect(withoutOwner(NOTHING_YET, 77)).toBe(NOTHING_YET);
});

test('CPU is low since the first of the measures that are, and what cannot be measured changes nothing', () => {
  const low = withCpu(withCpu(NOTHING_YET, 1, 10), 2, 20);
  expect(low.lowCpuSince).toBe(10);
  expect(withCpu(low, null, 30)).toBe(low);
  expect(withCpu(low, 50, 30).lowCpuSince).toBeNull();
});

test('growth is told against the oldest sample of an hour, one a minute', () => {
  let history = NOTHING_YET;
  for (let second = 0; second <= 2 * 3600; second += 20) history = withSample(history, second * 1e6, 2, second * 1000);
  expect([history.samples.length, history.seenAt]).toEqual([60, 2 * 3_600_000]);
  expect(growthOf(history, 7.2e9, 2, 2 * 3_600_000)).toMatch(/more in 59 min/u);
  expect(growthOf(history, 3.7e9, 2, 2 * 3_600_000)).toBeNull();
  expect(growthOf(history, 3.7e9, 12, 2 * 3_600_000)).toMatch(/10 more children/u);
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
  memory.keep('key', withOwner(NOTHING_YET, OWNER, 0));
  expect(memory.text(0)).not.toBeNull();
  expect(memory.text(1)).toBeNull();
  memory.unwritten();
  expect(memory.text(2)).not.toBeNull();
});
