import { execFile, execFileSync } from 'node:child_process';
import {
  closeSync,
  constants,
  cpSync,
  mkdirSync,
  openSync,
  readdirSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { beforeAll, expect, onTestFinished, test } from 'vitest';
import type { CustomKind } from '../../../servers/kind.ts';
import type { LookRequest } from '../../host.ts';
import { bundle } from '../testing/bundle.ts';
import { testHost } from '../testing/hosts.ts';
import { temporaryFolder, until } from '../testing/processes.ts';
import { workerLooker } from './look-client.ts';

const run = promisify(execFile);
const KIND: CustomKind = { name: 'mine', program: 'myserver', args: ['serve'] };
const REQUEST: LookRequest = { customKinds: [KIND], include: [], ownPids: [] };

let workerUrl: URL;
let script: URL;
beforeAll(async () => {
  workerUrl = await bundle({ entry: new URL('./look-worker.ts', import.meta.url) });
  script = await bundle({
    beside: new URL(import.meta.url),
    code: `
      import { pathToFileURL } from 'node:url';
      import { createLocalHost } from '../local-host.ts';
      import { workerLooker } from './look-client.ts';
      const [worker, procRoot] = process.argv.slice(2);
      const looker = workerLooker({ workerUrl: new URL(worker), stallMs: 200, deadlineMs: 10000 });
      const host = await createLocalHost({ looker, procRoot, stateDir: procRoot });
      const look = await host.look(${JSON.stringify(REQUEST)});
      console.log(look.candidates.length, look.gaps.length);
      await host.close();
    `,
  });
});

/** A process table of files, in which the arguments of some processes are FIFOs: reading them blocks. */
function fixture(pids: readonly number[], blocking: readonly number[]): string {
  const root = temporaryFolder();
  mkdirSync(join(root, 'sys/kernel/random'), { recursive: true });
  writeFileSync(join(root, 'sys/kernel/random/boot_id'), 'boot\n');
  mkdirSync(join(root, 'self/ns'), { recursive: true });
  symlinkSync('pid:[1]', join(root, 'self/ns/pid'));
  writeFileSync(join(root, 'uptime'), '10000.00 1.00\n');
  const program = join(root, 'myserver');
  writeFileSync(program, '');
  for (const pid of pids) {
    const folder = join(root, String(pid));
    mkdirSync(folder);
    writeFileSync(join(folder, 'stat'), `${pid} (myserver) S 1 1 1 0 -1 0 0 0 0 0 1 1 0 0 20 0 1 0 ${pid} 0 0\n`);
    writeFileSync(join(folder, 'environ'), '');
    symlinkSync(program, join(folder, 'exe'));
    cpSync('/proc/self/status', join(folder, 'status'));
    if (blocking.includes(pid)) execFileSync('mkfifo', [join(folder, 'cmdline')]);
    else writeFileSync(join(folder, 'cmdline'), 'myserver\0serve\0');
  }
  return root;
}

/** Puts a plain file where the FIFO is, and lets whoever hangs in opening it go on: an open returns once there is a writer. */
function unblock(procRoot: string, pid: number): void {
  const path = join(procRoot, String(pid), 'cmdline');
  const fd = openSync(path, constants.O_RDWR | constants.O_NONBLOCK);
  unlinkSync(path);
  writeFileSync(path, 'myserver\0serve\0');
  closeSync(fd);
}

function threads(): number {
  return readdirSync('/proc/self/task').length;
}

test('F5 a process whose reading blocks is left out, and the look is complete within its deadline without it', async () => {
  const procRoot = fixture([100, 200, 300], [200]);
  const looker = workerLooker({ workerUrl, stallMs: 400, deadlineMs: 60_000 });
  const host = await testHost({ looker, procRoot });
  let ticks = 0;
  const timer = setInterval(() => {
    ticks += 1;
  }, 10);
  onTestFinished(() => clearInterval(timer));
  const seen = await host.look(REQUEST);
  expect(ticks).toBeGreaterThan(1); // this thread was not held up
  expect(seen.candidates.map(({ pid }) => pid)).toEqual([100, 300]);
  expect(seen.gaps).toContainEqual({ pid: 200, why: 'reading it does not return' });
  expect(seen.counted).toBe(3);

  // Later looks do not run into it again, and no threads pile up.
  const before = threads();
  for (let round = 0; round < 10; round += 1) {
    const later = await host.look(REQUEST);
    expect(later.candidates).toHaveLength(2);
    expect(later.gaps.map(({ pid }) => pid)).toContain(200);
  }
  expect(threads()).toBeLessThanOrEqual(before);
  await expect(host.inspect(200)).rejects.toMatchObject({ name: 'ReadFailed', pid: 200 });
  unblock(procRoot, 200);
});

test('F5 when more hang than threads may be left behind, the look fails and says so; none pile up', async () => {
  const procRoot = fixture([100, 200, 300, 400, 500], [200, 300, 400, 500]);
  const looker = workerLooker({ workerUrl, stallMs: 300, deadlineMs: 8000 });
  const host = await testHost({ looker, procRoot });
  const before = threads();
  await expect(host.look(REQUEST)).rejects.toMatchObject({ name: 'LookFailed' });
  await expect(host.look(REQUEST)).rejects.toMatchObject({ name: 'LookFailed' });
  const pilingUp = threads() - before;
  // Two stuck ones with the helper threads that each has.
  expect(pilingUp).toBeLessThanOrEqual(8);
  for (const pid of [200, 300, 400, 500]) unblock(procRoot, pid);
  await until(
    'looks work again',
    () =>
      host.look(REQUEST).then(
        (seen) => seen.counted === 5,
        () => false,
      ),
    120_000,
  );
});

test('F5 a thread that hangs does not keep the process from ending', async () => {
  const procRoot = fixture([100, 200], [200]);
  const ended = run(process.execPath, [fileURLToPath(script), workerUrl.href, procRoot], { timeout: 20_000 });
  const outcome = await ended.then(
    ({ stdout }) => ({ stdout, signal: null }),
    (error: { stdout: string; signal: string | null; killed: boolean }) =>
      error.killed ? 'hung' : { stdout: error.stdout, signal: error.signal },
  );
  expect(outcome).toMatchObject({ stdout: '1 1\n' });
});
