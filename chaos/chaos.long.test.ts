/** Minutes of chaos, and proof that a run would notice what it is there to find. */
import { expect, test } from 'vitest';
import { SABOTAGES } from './options.ts';
import { runChaos } from './run.testing.ts';

/** `npm run test:long -- --minutes 5 --seed 4242` sets these. */
const MINUTES = process.env['ROLLCALL_LONG_MINUTES'] ?? '2';
const SEED = process.env['ROLLCALL_LONG_SEED'] ?? String(Date.now() % 100_000);

test(`${MINUTES} minutes of chaos with seed ${SEED} break nothing`, (context) => {
  const { code, out, missing } = runChaos(['--minutes', MINUTES, '--seed', SEED]);
  if (missing !== null) return context.skip(missing);
  expect(code, out).toBe(0);
  expect(out).toMatch(new RegExp(`^chaos: ok \\(seed ${SEED}, \\d+ s\\)$`, 'mu'));
});

const FOUND = {
  stranger: 'a stranger was signalled: stranger',
  owner: 'has no owner: it is in no row',
  record: 'a record went away without a word',
} as const;

test.for(SABOTAGES)('a run notices when the fault is there: %s', (sabotage, context) => {
  const { code, out, missing } = runChaos(['--seconds', '0', '--seed', '1', '--sabotage', sabotage]);
  if (missing !== null) return context.skip(missing);
  expect(code, out).toBe(1);
  expect(out).toContain(FOUND[sabotage]);
});
