/** A command is killed before every call that changes a file. */
import { crashTests } from './crash.testing.ts';

const every = (call: string, least: number, step = 1) => ({ call, step, least });

crashTests({
  cutEvery: 1,
  // Writes also wake other threads, so there are very many.
  start: [every('rename', 3), every('fsync', 4), every('openat', 40, 7), every('write', 10, 3)],
  stop: [every('unlink', 1), every('fsync', 4), every('write', 10, 3)],
  mark: [every('rename', 1), every('fsync', 2), every('write', 4, 3)],
  order: [every('rename', 1), every('fsync', 2), every('write', 4, 3)],
});
