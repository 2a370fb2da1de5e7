import { closeSync, openSync, readdirSync, readFileSync, readlinkSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { inspected, testHost } from './testing/hosts.ts';
import { endOrphanAfterTest, PYTHON, startTicks, temporaryFolder, until } from './testing/processes.ts';

const ENV = { PATH: process.env['PATH'] ?? '/usr/bin:/bin', ROLLCALL_NONCE: 'n0nce' };

test('a spawned process has a session of its own, its log, its environment, and nothing else of ours', async () => {
  const host = await testHost();
  const folder = temporaryFolder();
  const logPath = join(folder, 'logs', 'server.log');
  // A descriptor that is inherited unless something prevents it: no O_CLOEXEC through a shell's redirection.
  const ours = openSync('/dev/null', 'r');
  const spawned = await host.spawn({
    argv: [PYTHON, '-c', 'import sys, time; print("out", flush=True); sys.stderr.write("err\\n"); time.sleep(60)'],
    cwd: folder,
    env: ENV,
    logPath,
  });
  closeSync(ours);
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
  const targets = readdirSync(`/proc/${pid}/fd`).map((fd) => readlinkSync(`/proc/${pid}/fd/${fd}`));
  expect(targets.filter((target) => target !== '/dev/null')).toEqual([logPath, logPath]);
  expect(statSync(logPath).mode & 0o777).toBe(0o600);
  expect(statSync(join(folder, 'logs')).mode & 0o777).toBe(0o700);
  await until('both streams are in the log', () => {
    const log = readFileSync(logPath, 'utf8');
    return log.includes('out\n') && log.includes('err\n');
  });
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

test('one that ends at once is identified all the same, twenty times', async () => {
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
