import { expect, test } from 'vitest';
import { SPANS } from '../spans.ts';
import { process } from '../testing/look.ts';
import { type BusyFacts, judgeBusyness } from './busyness.ts';

const NOW = 100_000;

function judged(facts: Partial<BusyFacts>): ReturnType<typeof judgeBusyness> {
  return judgeBusyness({
    main: process(4711, 100, { cpuPercent: 0 }),
    children: [],
    outgoing: [],
    stream: null,
    streamWhy: null,
    streamMissing: null,
    lowCpuSince: null,
    spans: SPANS,
    now: NOW,
    ...facts,
  });
}

const IDLE = { busy: false, sign: 'the stream says so' } as const;

test.each([
  [null, 'unknown'],
  [0, 'unknown'],
  [4999, 'unknown'],
  [5000, false],
])('an event stream that has been silent for %j ms: busy is %j', (silent, busy) => {
  const lastSign = silent === null ? null : NOW - silent;
  expect(judged({ stream: { reading: IDLE, lastSign } }).busy).toBe(busy);
});

test.each([
  [null, 'unknown'],
  [3999, 'unknown'],
  [4000, false],
])('CPU that has been low for %j ms where there is no stream: busy is %j', (low, busy) => {
  expect(judged({ lowCpuSince: low === null ? null : NOW - low }).busy).toBe(busy);
});

test('how long it was watched is told together with how long it must be', () => {
  expect(judged({ stream: { reading: IDLE, lastSign: NOW - 2000 } })).toMatchObject({
    why: 'its event stream has been followed for 2 s of 5 s',
  });
  expect(judged({ lowCpuSince: NOW })).toMatchObject({ why: 'its CPU has not been watched for 4 s yet' });
});
