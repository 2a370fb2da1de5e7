import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { LeakWatch, MARKER } from './leaks.mjs';

let temporary = '';
const started: number[] = [];
beforeEach(() => {
  temporary = mkdtempSync(path.join(os.tmpdir(), 'leaks-'));
});
afterEach(() => {
  for (const pid of started.splice(0)) process.kill(pid, 'SIGKILL');
  rmSync(temporary, { recursive: true, force: true });
});

const gone = (child: ChildProcess) => (child.exitCode !== null ? Promise.resolve() : once(child, 'exit'));

/** Starts a shell that leaves a sleeper behind, without a parent of ours, and prints its PID. */
async function leaveBehind(env: NodeJS.ProcessEnv): Promise<number> {
  const shell = spawn('sh', ['-c', 'sleep 600 >/dev/null 2>&1 & echo $!'], {
    env: { PATH: process.env['PATH'], ...env },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const [line] = (await once(shell.stdout, 'data')) as [Buffer];
  const pid = Number(line.toString());
  started.push(pid);
  await gone(shell);
  // The shell's child says its new name only once it has become `sleep`.
  while (!readFileSync(`/proc/${pid}/cmdline`, 'utf8').startsWith('sleep')) {
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  return pid;
}

test('an orphan is found by the mark it inherited', async () => {
  const run = randomUUID();
  const watch = new LeakWatch(run, temporary);
  const pid = await leaveBehind({ [MARKER]: run });
  expect(watch.finish()).toEqual([expect.stringMatching(new RegExp(`^PID ${pid} is still there .*: sleep 600$`))]);
});

test('an orphan without the mark is found when it was seen as a descendant', async () => {
  const watch = new LeakWatch(randomUUID(), temporary);
  const shell = spawn('sh', ['-c', 'sleep 600 >/dev/null 2>&1 & echo $!; read line'], {
    env: {},
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  const [line] = (await once(shell.stdout, 'data')) as [Buffer];
  const pid = Number(line.toString());
  started.push(pid);
  watch.sample();
  shell.stdin.end('\n');
  await gone(shell);
  expect(watch.finish()).toEqual([expect.stringContaining(`PID ${pid} is still there`)]);
});

test('a process of another run, and one that ended, are not found', async () => {
  const run = randomUUID();
  const before = await leaveBehind({ [MARKER]: run });
  const watch = new LeakWatch(run, temporary);
  const other = await leaveBehind({ [MARKER]: randomUUID() });
  const short = spawn('true', { env: { [MARKER]: run, PATH: process.env['PATH'] } });
  await gone(short);
  expect([before, other].every((pid) => pid > 0)).toBe(true);
  expect(watch.finish()).toEqual([]);
});

test('a socket that still listens is found, elsewhere it is not ours', async () => {
  const watch = new LeakWatch(randomUUID(), temporary);
  const socket = path.join(temporary, 'left.sock');
  const server = createServer().listen(socket);
  await once(server, 'listening');
  expect(watch.finish()).toEqual([`A socket still listens at ${socket}`]);
  server.close();
  await once(server, 'close');
  expect(watch.finish()).toEqual([]);
});
