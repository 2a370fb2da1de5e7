import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { createServer } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ProcessInfo } from '../../host.ts';
import { NOTHING_ASKED, SERVER_ARGUMENT, testHost } from '../../local/testing/hosts.ts';
import { endOrphanAfterTest, isAlive, python, start, temporaryFolder, until } from '../../local/testing/processes.ts';
import { openRemote, recorded, remoteHost, type TestRemote } from '../testing/remote.ts';
import { LocalExec, SHELLS } from '../testing/shells.ts';

/** Listens, says its port, then starts what it is told to. */
const LISTENER = `
import socket, subprocess, sys, time
s = socket.socket(); s.bind(('127.0.0.1', 0)); s.listen()
print(s.getsockname()[1], flush=True)
held = []
for line in sys.stdin:
    child = subprocess.Popen(['sleep', '600'], start_new_session=True); print(child.pid, flush=True)
time.sleep(600)
`;

/** What tells one process from another and does not change from one moment to the next. */
function lasting(info: ProcessInfo | null | undefined): unknown {
  if (info == null) return info;
  const { identity, state, startedAt, ageMs, rssBytes, pssBytes, cpuPercent, ...rest } = info;
  const { pidfdId, ...place } = identity;
  return { ...rest, identity: place };
}

describe.each(SHELLS)('$name', (shell) => {
  const exec = new LocalExec(shell);
  let host: TestRemote['host'];
  beforeAll(async () => {
    if (shell.missing === null) ({ host } = await openRemote(exec));
  });
  afterAll(async () => {
    if (shell.missing === null) await host.close();
  });

  test('D3 a look says the same as one taken on the machine itself, and the next takes one round trip', async (context) => {
    if (shell.missing !== null) context.skip(shell.missing);
    const local = await testHost({ usePidfds: false });
    const folder = join(temporaryFolder(), 'dé x');
    mkdirSync(folder);
    const server = python(LISTENER, [SERVER_ARGUMENT, '', 'a\nb', 'ü\t'], {
      cwd: folder,
      env: { PATH: '/usr/bin:/bin', OPENCODE_PID: '4711', SECRET: 'x', XROLLCALL_NONCE: 'x', ROLLCALL_NONCE: 'a=b\nc' },
    });
    const port = Number(await server.line());
    server.tell('child');
    const child = Number(await server.line());
    endOrphanAfterTest(child);
    const stranger = start('sleep', ['600']);
    const client = connect(port, '127.0.0.1').on('error', () => undefined);
    await once(client, 'connect');

    const request = { ...NOTHING_ASKED, include: [stranger.pid] };
    const [near, far] = [await local.look(request), await host.look(request)];
    for (const pid of [server.pid, child, stranger.pid, process.pid]) {
      expect(lasting(far.processes.get(pid)), `PID ${pid}`).toEqual(lasting(near.processes.get(pid)));
    }
    expect(far.processes.get(server.pid)?.marks).toEqual({ OPENCODE_PID: '4711', ROLLCALL_NONCE: 'a=b\nc' });
    expect(far.processes.get(server.pid)?.pssBytes).toBeGreaterThan(1_000_000);
    expect(far.candidates).toEqual(near.candidates);
    expect(far.listening).toEqual([{ pid: server.pid, address: '127.0.0.1', port }]);
    // Here this very process is an ancestor of the shell, as a session's sshd is: its connections are no clients.
    expect(near.clients).toEqual([]);
    expect(far.clients).toEqual([]);
    expect(far.gaps).toEqual(near.gaps);
    expect([...far.processes.keys()].sort()).toEqual([...near.processes.keys()].sort());
    expect(far.socketsReadable).toBe(true);
    client.destroy();

    exec.counted = 0;
    await host.look(request);
    expect(exec.counted).toBe(1);
    expect(await host.machine()).toMatchObject({ hostname: expect.any(String), cores: expect.any(Number) });
    expect(exec.counted).toBe(1);
  });

  test('a client on the remote machine is told by its process', async (context) => {
    if (shell.missing !== null) context.skip(shell.missing);
    const server = python(LISTENER, [SERVER_ARGUMENT]);
    const port = Number(await server.line());
    await host.look(NOTHING_ASKED);
    const client = python(
      'import socket, sys, time; s = socket.create_connection(("127.0.0.1", int(sys.argv[1]))); print(flush=True); time.sleep(600)',
      [String(port)],
    );
    await client.line();
    const told = [{ port, serverPid: server.pid, peerPid: client.pid, peerAddress: '127.0.0.1' }];
    const look = await host.look(NOTHING_ASKED);
    expect(look.clients).toEqual(told);
    expect(look.processes.get(client.pid)?.comm).toMatch(/^python/u);
    expect((await host.look(NOTHING_ASKED)).clients).toEqual(told);
  });

  test('D1 a noisy profile and a process with a forged name change nothing', async (context) => {
    if (shell.missing !== null) context.skip(shell.missing);
    const noise = { before: '{"remotePort": 4096}\nWelcome', after: 'bye' };
    const { host } = await remoteHost(new LocalExec(shell, noise));
    const forger = python(
      `
import ctypes, sys, time
ctypes.CDLL(None).prctl(15, b'x)\\n1/stat:1 (y) S', 0, 0, 0)
print(flush=True); time.sleep(600)
`,
      [SERVER_ARGUMENT, '\n1/cmdline:opencode'],
    );
    await forger.line();
    const look = await host.look({ ...NOTHING_ASKED, include: [1] });
    expect(look.processes.get(forger.pid)).toMatchObject({
      comm: 'x)\n1/stat:1 (y)',
      argv: expect.arrayContaining(['\n1/cmdline:opencode']),
    });
    expect(look.processes.get(1)?.argv[0]).not.toBe('opencode');
    expect(look.candidates.map(({ pid }) => pid)).toEqual([forger.pid]);
    expect(await host.verify(await recorded(host, forger.pid))).toEqual({ verdict: 'same' });
  });

  test('named variables of the very process that is meant are told byte for byte, here and there, and nothing else', async (context) => {
    if (shell.missing !== null) context.skip(shell.missing);
    const secret = 'pä:s "w$\n2';
    const env = { PATH: '/usr/bin:/bin', SECRET: secret, SECRET_TWO: 'x', XSECRET: 'no' };
    const server = python(LISTENER, [SERVER_ARGUMENT], { env });
    await server.line();
    for (const each of [host, await testHost({ usePidfds: false })]) {
      const ref = await recorded(each, server.pid);
      expect(await each.secrets(ref, ['SECRET', 'ABSENT'])).toEqual({ SECRET: secret });
      const another = { ...ref, identity: { ...ref.identity, startTime: 'linux:1' as const } };
      expect(await each.secrets(another, ['SECRET'])).toBeNull();
    }
  });

  test('who holds a port is told, whatever it is', async (context) => {
    if (shell.missing !== null) context.skip(shell.missing);
    const server = createServer();
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const address = server.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    expect(await host.portHolder(port)).toMatchObject({ pid: process.pid });
    server.close();
    await once(server, 'close');
    expect(await host.portHolder(port)).toBeNull();
  });

  test('an exit is told by the next look, once', async (context) => {
    if (shell.missing !== null) context.skip(shell.missing);
    const sleeper = start('sleep', ['600']);
    const told: unknown[] = [];
    host.watchExit(await recorded(host, sleeper.pid), (status) => told.push(status));
    await host.look(NOTHING_ASKED);
    expect(told).toEqual([]);
    const exited = once(sleeper.child, 'exit');
    sleeper.child.kill('SIGKILL');
    await exited;
    await until('the exit is told', async () => {
      await host.look(NOTHING_ASKED);
      return told.length > 0;
    });
    await host.look(NOTHING_ASKED);
    expect(told).toEqual([null]);
  });

  test('verdicts that are asked for in one turn take one round trip, and a wait takes one more', async (context) => {
    if (shell.missing !== null) context.skip(shell.missing);
    const sleepers = Array.from({ length: 5 }, () => start('sleep', ['600']));
    const refs = [];
    for (const { pid } of sleepers) refs.push(await recorded(host, pid));
    exec.counted = 0;
    const verdicts = await Promise.all(refs.map((ref) => host.verify(ref)));
    expect(verdicts).toEqual(refs.map(() => ({ verdict: 'same' })));
    expect(exec.counted).toBe(1);
    const held = await Promise.all(refs.map((ref) => host.hold(ref)));
    expect(await Promise.all(held.map((each) => each.exited(100)))).toEqual(refs.map(() => false));
    const waiting = Promise.all(held.map((each) => each.exited(60_000)));
    for (const each of held) expect(await each.signal('SIGTERM')).toEqual({ sent: true });
    exec.counted = 0;
    expect(await waiting).toEqual(refs.map(() => true));
    expect(exec.counted).toBeLessThan(3);
    expect(sleepers.some(({ pid }) => isAlive(pid))).toBe(false);
  });
});
