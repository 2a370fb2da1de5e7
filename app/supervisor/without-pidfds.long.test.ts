/** What the supervisor promises holds on a kernel without pidfds, too: whole suites with a kernel that answers ENOSYS. */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { straceProblem } from '../hosts/local/testing/strace.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const VITEST = join(ROOT, 'node_modules', 'vitest', 'vitest.mjs');
const problem = straceProblem();

/** Those that trace by themselves have their own runs without pidfds; a process can be traced only once. */
const SUITES = ['guarantees', 'lifecycle', 'proofs', 'quit', 'reap', 'stale-records', 'standings', 'start', 'trees'];

const CALLS = 'pidfd_open,pidfd_send_signal,pidfd_getfd';

test.for(SUITES)('%s', (suite, context) => {
  if (problem !== null) return context.skip(problem);
  const tracing = ['-f', '-qq', '--seccomp-bpf', '-o', '/dev/null', '-e', `trace=${CALLS}`];
  const words = [
    ...tracing,
    ...['-e', `inject=${CALLS}:error=ENOSYS`],
    ...[process.execPath, VITEST, 'run', '--project=integration', `app/supervisor/${suite}.integration.test.ts`],
  ];
  const { status, stdout, stderr } = spawnSync('strace', words, { cwd: ROOT, encoding: 'utf8' });
  expect(status, `${stdout}${stderr}`).toBe(0);
});
