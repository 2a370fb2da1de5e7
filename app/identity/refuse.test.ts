import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { PID_LIMIT, refusePid } from './refuse.ts';

const self: ReadonlySet<number> = new Set([500, 400, 1]);

describe('refusePid', () => {
  test.each([Number.NaN, Number.POSITIVE_INFINITY, 1.5, -0.5, 2 ** 53 + 0.5])('%s is no PID', (pid) => {
    expect(refusePid(pid, self)).toMatch(pid === 2 ** 53 + 0.5 ? /out of range/u : /whole number/u);
  });

  test.each([1, 0, -0, -1, -4711, Number.MIN_SAFE_INTEGER])('%s stands for the system or a group', (pid) => {
    expect(refusePid(pid, self)).toMatch(/never signalled/u);
  });

  test.each([PID_LIMIT + 1, 2 ** 31, 2 ** 32 + 4711, Number.MAX_SAFE_INTEGER])('%s is out of range', (pid) => {
    expect(refusePid(pid, self)).toMatch(/out of range/u);
  });

  test.each([500, 400])('%s is one of our own line', (pid) => {
    expect(refusePid(pid, self)).toMatch(/Rollcall itself/u);
  });

  test('every other PID may be looked up', () => {
    fc.assert(
      fc.property(fc.integer({ min: 2, max: PID_LIMIT }), (pid) => {
        expect(refusePid(pid, self) === null).toBe(!self.has(pid));
      }),
    );
  });
});
