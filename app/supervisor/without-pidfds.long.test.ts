/** What the supervisor promises holds on a kernel without pidfds, too: whole suites with a kernel that answers ENOSYS. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { straceProblem } from '../hosts/local/testing/strace.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const VITEST = join(ROOT, 'node_modules', 'vitest', 'vitest.mjs');
const problem = straceProblem();

/** Those that trace by themselves have their own runs without pidfds; a process can be traced only once. */
const SUITES = [
  'guarantees',
  'lifecycle/lifecycle',
  'monitor/proofs',
  'quit',
  'reap',
  'stale-records',
  'standings',
  'start',
  'trees',
];

const CALLS = 'pidfd_open,pidfd_send_signal,pidfd_getfd';

test.for(SUITES)('%s', async (suite, context) => {
  if (problem !== null) return context.skip(problem);
  // With -D the suite is the child, and strace, which waits for everything that it traces, is nobody's to wait for.
  const tracing = ['-D', '-f', '-qq', '--seccomp-bpf', '-o', '/dev/null', '-e', `trace=${CALLS}`];
  const words = [
    ...tracing,
    ...['-e', `inject=${CALLS}:error=ENOSYS`],
    ...[process.execPath, VITEST, 'run', '--project=integration', `app/supervisor/${suite}.integration.test.ts`],
  ];
  const child = spawn('strace', words, { cwd: ROOT, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  }
  const [code] = await once(child, 'exit');
  expect(code, output).toBe(0);
});
