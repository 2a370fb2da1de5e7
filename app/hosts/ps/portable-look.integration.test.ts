import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { NOTHING_ASKED, recogniseTestServer, recordOf, SERVER_ARGUMENT, testHost } from '../local/testing/hosts.ts';
import { endOrphanAfterTest, isAlive, PYTHON, python, start, temporaryFolder } from '../local/testing/processes.ts';
import { createPortableHost } from './portable-host.ts';
import { attribute, splitCommandLine } from './portable-look.ts';
import { listOne, listProcesses, parseCim, parsePs } from './portable-processes.ts';

const SLEEPER = 'import time; print("ok", flush=True); time.sleep(60)';

test('parsePs reads the columns and passes over the rest', () => {
  const text = `    1     0     1     0 S<Ls Mon Nov 30 06:59:38 2026 /sbin/init
 4711     1  4711   501 Ss   Tue Dec  1 00:00:01 2026 /Applications/A B/opencode serve  --port 1
garbage
 4712  4711  4711   501 Z+   Wed Dec  2 10:00:01 2026
`;
  const rows = parsePs(text, () => null);
  expect(rows.map(({ pid, state, startTime, commandLine }) => [pid, state, startTime, commandLine])).toEqual([
    [1, 'S', 'darwin:Mon Nov 30 06:59:38 2026', '/sbin/init'],
    [4711, 'S', 'darwin:Tue Dec 1 00:00:01 2026', '/Applications/A B/opencode serve  --port 1'],
    [4712, 'Z', 'darwin:Wed Dec 2 10:00:01 2026', ''],
  ]);
  expect(rows[1]).toMatchObject({ ppid: 1, pgrp: 4711, uid: 501, startedAt: Date.UTC(2026, 11, 1, 0, 0, 1) });
});

test('parseCim reads creation in ticks of 100 ns', () => {
  const [row, ...rest] = parseCim(
    '7 4 639309312010000000\tC:\\o p\\opencode.exe\t"C:\\o p\\opencode.exe" serve\r\nx\r\n',
    () => null,
  );
  expect(rest).toEqual([]);
  expect(row).toMatchObject({ pid: 7, ppid: 4, uid: null, startTime: 'win:639309312010000000' });
  expect(new Date(row?.startedAt ?? 0).getUTCFullYear()).toBe(2026);
});

test.each([
  ['', null, []],
  ['a  b c', null, ['a', 'b', 'c']],
  ['/A B/x serve', '/A B/x', ['/A B/x', 'serve']],
  ['"C:\\A B\\x.exe" serve', 'C:\\A B\\x.exe', ['C:\\A B\\x.exe', 'serve']],
  ['/A B/xy serve', '/A B/x', ['/A', 'B/xy', 'serve']],
])('%j with program %j is %j', (commandLine, program, argv) => {
  expect(splitCommandLine(commandLine, program)).toEqual(argv);
});

test('sockets are attributed both ways, and our own connections are no clients', () => {
  const socket = (pid: number, local: string, peer: string, state: string) => ({
    ...{ protocol: 'tcp4', localAddress: '127.0.0.1', localPort: local, peerAddress: '127.0.0.1', peerPort: peer },
    ...{ state, pid, process: '' },
  });
  const table = [
    socket(10, '4096', '', 'LISTEN'),
    socket(99, '80', '', 'LISTEN'),
    ...[socket(10, '4096', '5001', 'ESTABLISHED'), socket(20, '5001', '4096', 'ESTABLISHED')],
    ...[socket(10, '4096', '5002', 'ESTABLISHED'), socket(30, '5002', '4096', 'ESTABLISHED')],
  ];
  expect(attribute(table, new Set([10]), [30])).toEqual({
    listening: [{ pid: 10, address: '127.0.0.1', port: 4096 }],
    clients: [{ port: 4096, serverPid: 10, peerPid: 20, peerAddress: '127.0.0.1' }],
  });
});

test('C12 locale and time zone of ours do not change the start that is recorded', async () => {
  const sleeper = python(SLEEPER);
  await sleeper.line();
  const before = { TZ: process.env['TZ'], LC_ALL: process.env['LC_ALL'] };
  onTestFinished(() => {
    for (const [name, value] of Object.entries(before)) {
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    }
  });
  const startIn = async (zone: string, locale: string): Promise<string | undefined> => {
    Object.assign(process.env, { TZ: zone, LC_ALL: locale });
    return (await listOne(sleeper.pid))?.startTime;
  };
  const one = await startIn('America/Los_Angeles', 'de_DE.UTF-8');
  expect(one).toMatch(/^darwin:\w{3} \w{3} \d+ [\d:]{8} \d{4}$/u);
  expect(await startIn('Asia/Tokyo', 'C')).toBe(one);
});

test('a look without procfs finds servers, their ports, and says what it cannot know', async () => {
  const host = await createPortableHost(temporaryFolder(), recogniseTestServer);
  onTestFinished(() => host.close());
  const listener =
    'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); s.listen(); print(s.getsockname()[1], flush=True); input()';
  const server = python(listener, [SERVER_ARGUMENT]);
  const port = Number(await server.line());
  const seen = await host.look(NOTHING_ASKED);
  expect(seen.candidates.map(({ pid }) => pid)).toContain(server.pid);
  const info = seen.processes.get(server.pid);
  expect(info).toMatchObject({ ppid: process.pid, uid: process.getuid?.() ?? -1 });
  expect(info?.executable?.path).toMatch(/python/u);
  expect(info?.rssBytes).toBeGreaterThan(1_000_000);
  expect(seen.gaps.find(({ pid }) => pid === server.pid)?.why).toMatch(/blanks/u);
  expect(seen.socketsReadable).toBe(true);
  expect(seen.listening).toContainEqual({ pid: server.pid, address: '127.0.0.1', port });
  expect(await host.portHolder(port)).toMatchObject({ pid: server.pid });

  const own = createServer().listen(0, '127.0.0.1');
  onTestFinished(() => void own.close());
  await new Promise((resolve) => own.once('listening', resolve));
  expect(await host.portHolder((own.address() as AddressInfo).port)).toMatchObject({ pid: process.pid });
});

test('without procfs a process is verified, then signalled; a stranger and we ourselves are not', async () => {
  const host = await testHost({ portable: true });
  expect(host.signalling).toMatchObject({ method: 'verify-then-kill', note: expect.stringContaining('a moment') });
  const one = python(SLEEPER);
  const stranger = start('sleep', ['60']);
  await one.line();
  const ref = await recordOf(host, one.pid);
  expect(await host.verify(ref)).toEqual({ verdict: 'same' });

  const changed = { ...ref, evidence: { ...ref.evidence, argvHash: 'other' } };
  const held = await host.hold(changed);
  expect(await held.signal('SIGKILL')).toMatchObject({ sent: false, verdict: { verdict: 'unknown' } });
  const older = {
    ...ref,
    identity: { ...ref.identity, pid: stranger.pid, startTime: 'darwin:Mon Nov 30 06:59:38 2020' as const },
  };
  expect(await (await host.hold(older)).signal('SIGKILL')).toMatchObject({
    sent: false,
    verdict: { verdict: 'reused' },
  });
  const ourselves = await recordOf(host, process.pid);
  expect(await (await host.hold(ourselves)).signal('SIGTERM')).toMatchObject({
    sent: false,
    verdict: { verdict: 'unknown' },
  });
  expect(isAlive(one.pid) && isAlive(stranger.pid)).toBe(true);

  const told = new Promise<void>((resolve) => host.watchExit(ref, () => resolve()));
  const real = await host.hold(ref);
  expect(await real.signal('SIGTERM')).toEqual({ sent: true });
  expect(await real.exited(60_000)).toBe(true);
  await told;
  expect(['gone', 'zombie']).toContain((await host.verify(ref)).verdict);
});

test('without procfs a server is started and identified', async () => {
  const host = await testHost({ portable: true });
  const folder = temporaryFolder();
  const spawned = await host.spawn({
    argv: [PYTHON, '-c', SLEEPER],
    cwd: folder,
    env: {},
    logPath: join(folder, 'log'),
  });
  endOrphanAfterTest(spawned.ref.identity.pid);
  // Its arguments may have been those of our own fork for a moment; the start is the same.
  expect((await listOne(spawned.ref.identity.pid))?.startTime).toBe(spawned.ref.identity.startTime);
});

test('F11 a lister that cannot run is a failed look, never an empty one', async () => {
  const host = await testHost({ portable: true });
  const one = python(SLEEPER);
  await one.line();
  const ref = await recordOf(host, one.pid);
  const before = process.env['PATH'];
  process.env['PATH'] = '/nowhere';
  onTestFinished(() => {
    process.env['PATH'] = before;
  });
  await expect(listProcesses()).rejects.toMatchObject({ name: 'LookFailed' });
  expect((await host.verify(ref)).verdict).toBe('unknown');
});
