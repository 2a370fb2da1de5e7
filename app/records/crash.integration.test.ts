/** A command is killed before the calls that matter most; crash.long.test.ts has them all. */
import { crashTests } from './crash.testing.ts';

crashTests({
  cutEvery: null,
  start: [
    { call: 'rename', step: 1, least: 3 },
    { call: 'fsync', step: 4, least: 4 },
  ],
  stop: [{ call: 'unlink', step: 1, least: 1 }],
  mark: [{ call: 'rename', step: 1, least: 1 }],
  order: [{ call: 'rename', step: 1, least: 1 }],
});
