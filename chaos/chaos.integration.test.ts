/** A short run of the real thing; the long tier has the rest (docs/testing.md). */
import { expect, test } from 'vitest';
import { runChaos } from './run.testing.ts';

test('a short run of chaos signals no stranger, leaves no server without an owner, loses no record and nothing grows', (context) => {
  const { code, out, missing } = runChaos(['--seconds', '5', '--seed', '20']);
  if (missing !== null) return context.skip(missing);
  expect(code, out).toBe(0);
  expect(out).toMatch(/^chaos: ok \(seed 20, \d+ s\)$/mu);
}, 600_000);
