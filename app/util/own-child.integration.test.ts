import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { isAlive, until } from '../hosts/local/testing/processes.ts';
import { loadedLibc, loadLibc } from './libc.ts';
import { isRunning, signalChild, signalChildGroup } from './own-child.ts';

/** A shell that leads a group, and the PID of the child that it waits for. */
async function family(): Promise<{ leader: ChildProcess; child: number }> {
  const leader = spawn('/bin/sh', ['-c', 'sleep 600 & echo $!; wait'], {
    detached: true,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const [said] = (await once(leader.stdout, 'data')) as [Buffer];
  onTestFinished(() => void signalChildGroup(leader, 'SIGKILL'));
  return { leader, child: Number(said.toString()) };
}

describe.each([
  ['by number', async () => expect(loadedLibc()).toBeNull()],
  ['by pidfd, where there are any', async () => void (await loadLibc())],
])('%s', (_, prepare) => {
  test('a signal reaches a child alone, or its whole group, and nobody once it has ended', async () => {
    await prepare();
    const alone = await family();
    expect(signalChild(alone.leader, 'SIGKILL')).toBe(true);
    await once(alone.leader, 'exit');
    expect([isAlive(alone.child), isRunning(alone.leader)]).toEqual([true, false]);
    expect([signalChild(alone.leader, 'SIGKILL'), signalChildGroup(alone.leader, 'SIGKILL')]).toEqual([false, false]);
    process.kill(alone.child, 'SIGKILL');

    const all = await family();
    expect(signalChildGroup(all.leader, 'SIGTERM')).toBe(true);
    await once(all.leader, 'exit');
    await until('its child has ended, too', () => !isAlive(all.child));
  });
});

test('a program that could not be started is not a child', async () => {
  const none = spawn('/nonexistent');
  await once(none, 'error');
  expect([isRunning(none), signalChild(none, 'SIGKILL')]).toEqual([false, false]);
});

test('no other source sends a signal by a bare number', () => {
  const root = join(import.meta.dirname, '..', '..');
  const sources = ['app', 'main'].flatMap((house) =>
    readdirSync(join(root, house), { recursive: true, encoding: 'utf8' })
      .map((name) => join(house, name))
      .filter((name) => name.endsWith('.ts') && !/\.(test|testing)\.ts$|\/testing\//u.test(name)),
  );
  const signalling = sources.filter((name) =>
    /process\.kill\(|\bchild\.kill\(/u.test(readFileSync(join(root, name), 'utf8')),
  );
  expect(signalling.sort()).toEqual([
    // To this process itself, at its end.
    'app/hosts/local/look/stuck-exit.ts',
    // Where the kernel has no pidfds: right after a verification.
    'app/hosts/local/process/process-handle.ts',
    // Signal 0, which sends nothing.
    'app/hosts/local/process/verify.ts',
    'app/util/own-child.ts',
  ]);
});
