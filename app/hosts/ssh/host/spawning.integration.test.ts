import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { someRecord } from '../../../records/fixtures.testing.ts';
import type { SpawnRequest } from '../../host.ts';
import { NOTHING_ASKED } from '../../local/testing/hosts.ts';
import { isAlive, PYTHON, runs, temporaryFolder, until } from '../../local/testing/processes.ts';
import { remoteHost, type TestRemote } from '../testing/remote.ts';
import { LocalExec, SHELLS, type TestShell } from '../testing/shells.ts';

const NONCE = someRecord().nonce;

interface Account extends TestRemote {
  readonly home: string;
  readonly exec: LocalExec;
}

async function account(shell: TestShell, env: Readonly<Record<string, string>> = {}): Promise<Account> {
  const home = temporaryFolder();
  const exec = new LocalExec(shell, { env: { HOME: home, SSH_CONNECTION: '1 2 3 4', ...env } });
  return { ...(await remoteHost(exec)), home, exec };
}

/** Starts something that is ended, by its proved identity, when the test is over. */
async function spawned(
  { host, home, logsDir }: Account,
  argv: SpawnRequest['argv'],
  env: Readonly<Record<string, string>> = {},
): ReturnType<TestRemote['host']['spawn']> {
  const started = await host.spawn({ argv, cwd: home, env, logPath: join(logsDir, 'a server.log') });
  onTestFinished(async () => {
    const held = await host.hold(started.ref);
    await held.signal('SIGKILL');
    await held.exited(60_000);
  });
  return started;
}

function script(folder: string, name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  chmodSync(path, 0o755);
  return path;
}

describe.each(SHELLS)('$name', (shell) => {
  test('D17 what is started has a session, streams and environment of its own, and the start returns at once', async (context) => {
    if (shell.missing !== null) context.skip(shell.missing);
    const far = await account(shell);
    const { ref } = await spawned(
      far,
      [PYTHON, '-c', 'import time; print("up", flush=True); time.sleep(600)', 'it\'s "$HOME" `id`', ''],
      {
        ROLLCALL_NONCE: 'n-1',
        SECRET: "a'b\n$c",
      },
    );
    const { pid } = ref.identity;
    const log = join(far.logsDir, 'a server.log');
    for (const fd of ['1', '2']) expect(readlinkSync(`/proc/${pid}/fd/${fd}`)).toBe(log);
    expect(readlinkSync(`/proc/${pid}/fd/0`)).toBe('/dev/null');
    // What this test itself was started with is handed down by the shell; a session of sshd has nothing of the kind.
    const inherited = new Set(readdirSync('/proc/self/fd').filter((fd) => Number(fd) > 9));
    const fds = readdirSync(`/proc/${pid}/fd`).filter((fd) => !inherited.has(fd));
    expect(fds.map((fd) => `${fd} ${readlinkSync(`/proc/${pid}/fd/${fd}`)}`)).toEqual([
      '0 /dev/null',
      `1 ${log}`,
      `2 ${log}`,
    ]);
    expect(statSync(log).mode & 0o777).toBe(0o600);
    expect(statSync(far.logsDir).mode & 0o777).toBe(0o700);
    await until('it says that it runs', () => readFileSync(log, 'utf8') === 'up\n');

    const info = await far.host.inspect(pid);
    expect(info).toMatchObject({ pgrp: pid, session: pid, cwd: far.home, ignoresHangup: false });
    expect(info?.argv.slice(3)).toEqual(['it\'s "$HOME" `id`', '']);
    expect({ executable: info?.executable, argvHash: info?.argvHash }).toEqual(ref.evidence);
    const environment = readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0');
    expect(environment).toEqual(expect.arrayContaining(['ROLLCALL_NONCE=n-1', "SECRET=a'b\n$c", `HOME=${far.home}`]));
    expect(environment.filter((each) => /^(?:SSH_|LC_ALL|TZ=|RC_|rc_)/u.test(each))).toEqual([]);
    expect(readFileSync(`/proc/${pid}/status`, 'utf8')).toContain('Umask:\t0022');
    expect(await far.host.verify(ref)).toEqual({ verdict: 'same' });
  });

  test('a program that becomes another one is still what was started, by its nonce', async (context) => {
    if (shell.missing !== null) context.skip(shell.missing);
    const far = await account(shell);
    const shim = script(far.home, 'shim', '#!/bin/sh\nsleep 1\nexec sleep 600\n');
    const { ref, exit } = await spawned(far, [shim], { ROLLCALL_NONCE: NONCE });
    const { pid } = ref.identity;
    await until('it has become sleep', () => runs(pid, 'sleep'));
    expect(await far.host.verify(ref)).toEqual({ verdict: 'same' });
    // Who knows nothing of the nonce cannot tell.
    const other = await remoteHost(far.exec);
    expect(await other.host.verify(ref)).toMatchObject({ verdict: 'unknown' });
    expect(await (await other.host.hold(ref)).signal('SIGTERM')).toMatchObject({ sent: false });
    // The record tells it to whoever reads it later.
    await far.store.write(someRecord({ nonce: NONCE, spawned: ref, server: null, state: 'spawned' }));
    const later = await remoteHost(far.exec);
    await later.store.list();
    expect(await later.host.verify(ref)).toEqual({ verdict: 'same' });
    await other.store.write(someRecord({ nonce: '3f1f7b4e-9d54-4c1e-8f43-0a6f0a4f2b12', spawned: ref, server: null }));
    expect(await other.host.verify(ref)).toMatchObject({ verdict: 'unknown' });
    const held = await far.host.hold(ref);
    expect(await held.signal('SIGTERM')).toEqual({ sent: true });
    expect(await held.exited(60_000)).toBe(true);
    await far.host.look(NOTHING_ASKED);
    expect(await exit).toEqual({ code: null, signal: null });
    expect(isAlive(pid)).toBe(false);
  });

  test('D4 a missing program, folder or interpreter is told with what the remote said and the way out', async (context) => {
    if (shell.missing !== null) context.skip(shell.missing);
    const far = await account(shell);
    await expect(spawned(far, ['no-such-program', 'serve'])).rejects.toMatchObject({
      name: 'SpawnFailed',
      code: 'ENOENT',
      message: expect.stringMatching(/no-such-program.* far\b.*PATH/u),
    });
    await expect(spawned(far, ['/no/such/program'])).rejects.toMatchObject({ code: 'ENOENT' });
    const needsNode = script(far.home, 'opencode', '#!/usr/bin/env no-such-node\n');
    await expect(spawned(far, [needsNode])).rejects.toMatchObject({
      code: 'ENOENT',
      message: expect.stringContaining('no-such-node'),
      output: expect.stringContaining('no-such-node'),
    });
    await expect(
      far.host.spawn({
        argv: ['sleep', '1'],
        cwd: join(far.home, 'nowhere'),
        env: {},
        logPath: join(far.logsDir, 'x'),
      }),
    ).rejects.toMatchObject({ message: expect.stringContaining('nowhere') });
  });

  test('D24 what ends at once tells how, and leaves its words in the log', async (context) => {
    if (shell.missing !== null) context.skip(shell.missing);
    const far = await account(shell);
    const nothing = await spawned(far, [script(far.home, 'npx', '#!/bin/sh\nexit 0\n')]);
    expect(await nothing.exit).toEqual({ code: 0, signal: null });
    const failing = await spawned(far, [script(far.home, 'bad', '#!/bin/sh\necho port in use >&2\nexit 3\n')]);
    expect(await failing.exit).toEqual({ code: 3, signal: null });
    expect(await far.host.tail(join(far.logsDir, 'a server.log'), 4096)).toEqual({
      text: 'port in use\n',
      truncated: false,
    });
  });

  test('files are told as they are', async (context) => {
    if (shell.missing !== null) context.skip(shell.missing);
    const { host, home } = await account(shell);
    const folder = join(home, 'dé  x');
    mkdirSync(folder);
    const program = script(home, 'tool', '#!/bin/sh\n');
    writeFileSync(join(home, 'text'), 'one\ntwo\nthree\n');
    expect(await host.folder(`${home}/./dé  x/`)).toEqual({ found: true, path: folder });
    expect(await host.folder(join(home, 'nowhere'))).toEqual({ found: false, why: 'absent' });
    expect(await host.folder(program)).toEqual({ found: false, why: 'no-folder' });
    expect([await host.isFile(program), await host.isFile(folder), await host.isFile('/nowhere')]).toEqual([
      true,
      false,
      false,
    ]);
    expect([
      await host.isProgram(program),
      await host.isProgram(join(home, 'text')),
      await host.isProgram(folder),
    ]).toEqual([true, false, false]);
    expect(await host.findProgram('sleep')).toMatch(/^\/.*\/sleep$/u);
    expect([await host.findProgram('no-such-program'), await host.findProgram('../tool')]).toEqual([null, null]);
    expect(await host.tail(join(home, 'text'), 100)).toEqual({ text: 'one\ntwo\nthree\n', truncated: false });
    expect(await host.tail(join(home, 'text'), 9)).toEqual({ text: 'three\n', truncated: true });
    expect(await host.tail(join(home, 'nowhere'), 9)).toEqual({ text: '', truncated: false });
  });

  test('a log that has grown too large keeps its end, in the same file', async (context) => {
    if (shell.missing !== null) context.skip(shell.missing);
    const { host, logsDir } = await account(shell);
    mkdirSync(logsDir, { recursive: true });
    const large = join(logsDir, 'large.log');
    writeFileSync(large, `${'x'.repeat(8 * 1024 * 1024)}the end\n`);
    writeFileSync(join(logsDir, 'small.log'), 'small\n');
    const { ino } = lstatSync(large);
    await host.look(NOTHING_ASKED);
    await until('the log is cut', () => statSync(large).size === 1024 * 1024);
    expect(lstatSync(large).ino).toBe(ino);
    expect(readFileSync(large, 'utf8').endsWith('xthe end\n')).toBe(true);
    expect(readFileSync(join(logsDir, 'small.log'), 'utf8')).toBe('small\n');
    await until('nothing else is left', () => readdirSync(logsDir).sort().join() === 'large.log,small.log');
  });
});
