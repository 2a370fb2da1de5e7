/** A machine without /proc, played by this one, with its ps and its lsof. */
import { once } from 'node:events';
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { NOTHING_ASKED, SERVER_ARGUMENT } from '../../local/testing/hosts.ts';
import { isAlive, PYTHON, python, start, temporaryFolder } from '../../local/testing/processes.ts';
import { recorded, remoteHost, type TestRemote } from '../testing/remote.ts';
import { LocalExec, SHELLS, type TestShell } from '../testing/shells.ts';

const PS = '#!/bin/sh\nexec /bin/ps "$@"\n';

async function withPs(shell: TestShell, ps: string): Promise<TestRemote> {
  const folder = temporaryFolder();
  writeFileSync(join(folder, 'ps'), ps);
  chmodSync(join(folder, 'ps'), 0o755);
  const env = { PATH: `${folder}:${shell.path ?? '/usr/local/bin:/usr/bin:/bin'}`, HOME: folder };
  return remoteHost(new LocalExec(shell, { env }), { withoutProc: true });
}

describe.each(SHELLS.filter(({ path }) => path === null))('$name', (shell) => {
  test('looks, verdicts and signals by ps', async (context) => {
    if (shell.missing !== null) context.skip(shell.missing);
    const { host, contact } = await withPs(shell, PS);
    expect(contact.processes).toBe('ps');
    expect(host.signalling.method).toBe('verify-then-kill');
    const server = python(
      "import socket, time; s = socket.socket(); s.bind(('127.0.0.1', 0)); s.listen(); print(s.getsockname()[1], flush=True); time.sleep(60)",
      [SERVER_ARGUMENT],
    );
    const port = Number(await server.line());
    const look = await host.look(NOTHING_ASKED);
    expect(look.candidates.map(({ pid }) => pid)).toEqual([server.pid]);
    expect(look.processes.get(server.pid)).toMatchObject({
      uid: process.getuid?.(),
      executable: { path: expect.stringContaining('python') },
    });
    if (contact.tools.has('lsof')) {
      expect(look.listening).toEqual([{ pid: server.pid, address: '127.0.0.1', port }]);
      expect(await host.portHolder(port)).toMatchObject({ pid: server.pid });
    }
    const ref = await recorded(host, server.pid);
    expect(ref.identity.startTime).toMatch(/^darwin:\w{3} \w{3} \d+ [\d:]{8} \d{4}$/u);
    expect(await host.verify(ref)).toEqual({ verdict: 'same' });
    const told: unknown[] = [];
    host.watchExit(ref, (status) => told.push(status));

    // A stranger with the recorded number, by start or by arguments; and a record of the machine as /proc tells it.
    const held = await host.hold({
      ...ref,
      identity: { ...ref.identity, startTime: 'darwin:Mon Nov 2 10:00:00 2026' },
    });
    expect(await held.signal('SIGKILL')).toMatchObject({ sent: false, verdict: { verdict: 'reused' } });
    const doubtful = await host.hold({ ...ref, evidence: { ...ref.evidence, argvHash: '0'.repeat(64) } });
    expect(await doubtful.signal('SIGKILL')).toMatchObject({ sent: false, verdict: { verdict: 'unknown' } });
    expect(isAlive(server.pid)).toBe(true);

    const grip = await host.hold(ref);
    expect(await grip.exited(100)).toBe(false);
    const exited = once(server.child, 'exit');
    const waiting = grip.exited(60_000);
    expect(await grip.signal('SIGTERM')).toEqual({ sent: true });
    expect(await exited).toEqual([null, 'SIGTERM']);
    expect(await waiting).toBe(true);
    expect(await host.verify(ref)).toMatchObject({ verdict: 'gone' });
    await host.look(NOTHING_ASKED);
    expect(told).toEqual([null]);
  });

  test('what is started by it has a session of its own and is known', async (context) => {
    if (shell.missing !== null) context.skip(shell.missing);
    const { host, contact, logsDir } = await withPs(shell, PS);
    const request = {
      argv: [PYTHON, '-c', 'import time; time.sleep(600)'] as const,
      cwd: contact.home,
      env: {},
      logPath: join(logsDir, 'x.log'),
    };
    const { ref } = await host.spawn(request);
    onTestFinished(async () => {
      const held = await host.hold(ref);
      await held.signal('SIGKILL');
      expect(await held.exited(60_000)).toBe(true);
    });
    expect(await host.verify(ref)).toEqual({ verdict: 'same' });
    expect(await host.inspect(ref.identity.pid)).toMatchObject({ pgrp: ref.identity.pid });
    await expect(host.spawn({ ...request, argv: ['no-such-program'] })).rejects.toMatchObject({ code: 'ENOENT' });
  });

  test.each([
    ['BusyBox', '#!/bin/sh\nexec /bin/busybox ps "$@"\n'],
    ['a silent failure', '#!/bin/sh\nexit 1\n'],
    ['nothing at all', '#!/bin/sh\nexit 0\n'],
  ])('D3 an unusable ps proves nothing: %s', async (_, ps) => {
    const good = await withPs(shell, PS);
    const sleeper = start('sleep', ['60']);
    const ref = await recorded(good.host, sleeper.pid);
    const { host } = await withPs(shell, ps);
    await expect(host.look(NOTHING_ASKED)).rejects.toMatchObject({ name: 'LookFailed' });
    const verdict = await host.verify(ref);
    expect(verdict.verdict).toBe('unknown');
    expect(await (await host.hold(ref)).signal('SIGKILL')).toMatchObject({ sent: false });
    expect(isAlive(sleeper.pid)).toBe(true);
  });
});
