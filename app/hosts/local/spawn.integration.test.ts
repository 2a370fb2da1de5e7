import { closeSync, readdirSync, readFileSync, readlinkSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import koffi from 'koffi';
import { expect, onTestFinished, test } from 'vitest';
import { inspected, testHost } from './testing/hosts.ts';
import { endOrphanAfterTest, PYTHON, runs, start, startTicks, temporaryFolder, until } from './testing/processes.ts';

/** What a process has open, by descriptor. */
function openFiles(pid: number): string[] {
  const fds = readdirSync(`/proc/${pid}/fd`).map(Number);
  return fds.sort((a, b) => a - b).map((fd) => readlinkSync(`/proc/${pid}/fd/${fd}`));
}

const ENV = { PATH: process.env['PATH'] ?? '/usr/bin:/bin', ROLLCALL_NONCE: 'n0nce' };

const libc = koffi.load(null);
const openPlain = libc.func('int open(const char *path, int flags)');
const getFlags = libc.func('int fcntl(int fd, int command, long argument)');
const F_GETFD = 1;
const FD_CLOEXEC = 1;

/** A descriptor that a child inherits: opened as C does, without the O_CLOEXEC that Node always adds. */
function inheritable(path: string): number {
  const fd = Number(openPlain(path, 0));
  expect(fd).toBeGreaterThan(2);
  expect(Number(getFlags(fd, F_GETFD, 0)) & FD_CLOEXEC).toBe(0);
  onTestFinished(() => closeSync(fd));
  return fd;
}

test('E5 a spawned process has its own session, log and environment, and none of our descriptors', async () => {
  const host = await testHost();
  const folder = temporaryFolder();
  const logPath = join(folder, 'logs', 'server.log');
  inheritable(process.execPath);
  // That it would be inherited is shown by a child which Node alone starts.
  const plain = start('sleep', ['60']);
  await until('it is sleep', () => runs(plain.pid, 'sleep'));
  expect(openFiles(plain.pid)).toContain(process.execPath);
  const spawned = await host.spawn({
    argv: [PYTHON, '-c', 'import sys, time; print("out", flush=True); sys.stderr.write("err\\n"); time.sleep(60)'],
    cwd: folder,
    env: ENV,
    logPath,
  });
  const { pid } = spawned.ref.identity;
  endOrphanAfterTest(pid);
  const info = await inspected(host, pid);
  expect(info).toMatchObject({ pid, pgrp: pid, session: pid, tty: 0, ppid: process.pid, cwd: folder });
  expect(info.identity).toEqual(spawned.ref.identity);
  expect(info.marks).toEqual({ ROLLCALL_NONCE: 'n0nce' });
  expect(info.ignoresHangup).toBe(false);
  expect(readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0').filter(Boolean).sort()).toEqual(
    Object.entries(ENV)
      .map(([name, value]) => `${name}=${value}`)
      .sort(),
  );
  expect(statSync(logPath).mode & 0o777).toBe(0o600);
  expect(statSync(join(folder, 'logs')).mode & 0o777).toBe(0o700);
  await until('both streams are in the log', () => {
    const log = readFileSync(logPath, 'utf8');
    return log.includes('out\n') && log.includes('err\n');
  });
  // Python has opened and closed its own files by now.
  expect(openFiles(pid)).toEqual(['/dev/null', logPath, logPath]);
  expect(await host.verify(spawned.ref)).toEqual({ verdict: 'same' });

  const held = await host.hold(spawned.ref);
  expect(await held.signal('SIGTERM')).toEqual({ sent: true });
  expect(await spawned.exit).toEqual({ code: null, signal: 'SIGTERM' });
  held.release();
  // Collected, so not even a zombie stays.
  expect(startTicks(pid)).toBeNull();
});

test('a log is appended to, not begun anew', async () => {
  const host = await testHost();
  const folder = temporaryFolder();
  const logPath = join(folder, 'server.log');
  writeFileSync(logPath, 'before\n', { mode: 0o600 });
  const spawned = await host.spawn({ argv: ['sh', '-c', 'echo after; exit 3'], cwd: folder, env: ENV, logPath });
  expect(await spawned.exit).toEqual({ code: 3, signal: null });
  expect(readFileSync(logPath, 'utf8')).toBe('before\nafter\n');
});

test('one that ends at once is identified anyway, twenty times', async () => {
  const host = await testHost();
  const folder = temporaryFolder();
  for (let round = 0; round < 20; round += 1) {
    const spawned = await host.spawn({ argv: ['true'], cwd: folder, env: ENV, logPath: join(folder, 'log') });
    expect(spawned.ref.identity.pid).toBeGreaterThan(1);
    expect(await spawned.exit).toEqual({ code: 0, signal: null });
    expect((await host.verify(spawned.ref)).verdict).toBe('gone');
  }
});

test.each([
  ['no such program', { argv: ['/nowhere/opencode'] as const }],
  ['no such folder', { argv: ['true'] as const, cwd: '/nowhere' }],
  ['a log that cannot be opened', { argv: ['true'] as const, logPath: '/proc/nowhere/log' }],
])('%s is a failure that says so, and nothing runs', async (_, wrong) => {
  const host = await testHost();
  const folder = temporaryFolder();
  const request = { cwd: folder, env: ENV, logPath: join(folder, 'log'), ...wrong };
  await expect(host.spawn(request)).rejects.toMatchObject({ name: 'SpawnFailed', program: wrong.argv[0] });
});
