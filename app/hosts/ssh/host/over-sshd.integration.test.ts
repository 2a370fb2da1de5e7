/** The whole of it over a real sshd: accounts, machines and connections of their own. */
import { copyFileSync, existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { connect } from 'node:net';
import { dirname, join } from 'node:path';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { someRecord } from '../../../records/fixtures.testing.ts';
import { judgeRecords } from '../../../records/judge.ts';
import type { Host, ProcessInfo, Spawned } from '../../host.ts';
import { linuxObserver } from '../../local/process/observer.ts';
import { NOTHING_ASKED, recogniseTestServer, SERVER_ARGUMENT } from '../../local/testing/hosts.ts';
import { isAlive, PYTHON, temporaryFolder, until } from '../../local/testing/processes.ts';
import type { SshConnection } from '../connection/ssh-connection.ts';
import type { At } from '../contract.ts';
import { ReconnectingHost } from '../reconnecting-host.ts';
import { sshConfig, sshdProblem, type TestSshd, testSshd } from '../testing/sshd.ts';
import { testTransport } from '../testing/transport.ts';
import { createSshHost, type SshHostDeps } from './ssh-host.ts';

const problem = sshdProblem();
beforeEach((context) => {
  if (problem !== null) context.skip(problem);
});

/** Answers every request with its PID. */
const SERVER = `
import http.server, os, sys
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'
    def do_GET(self):
        body = str(os.getpid()).encode()
        self.send_response(200); self.send_header('Content-Length', str(len(body))); self.end_headers(); self.wfile.write(body)
    def log_message(self, *rest): pass
http.server.ThreadingHTTPServer(('127.0.0.1', 0), Handler).serve_forever()
`;

const NOISE = 'echo "Welcome to {\\"remotePort\\": 4096}"; printf "no newline" >&2; printf tail\n';

async function linkTo(box: TestSshd, alias = 'box'): Promise<SshConnection> {
  const { transport } = await testTransport(sshConfig({ [alias]: [box] }));
  const link = await transport.link(alias);
  await link.connect();
  return link;
}

async function hostOver(
  link: SshConnection,
  onReach: () => void = () => undefined,
  local = null as Parameters<typeof createSshHost>[0]['localObserver'],
): Promise<SshHostDeps> {
  const parts = await createSshHost({
    name: 'box',
    exec: link,
    forwards: link,
    onReach,
    localObserver: local,
    recognise: recogniseTestServer,
  });
  onTestFinished(() => parts.host.close());
  return parts;
}

function spawnServer(parts: SshHostDeps, nonce: string, on: Host = parts.host): Promise<Spawned> {
  const { logsDir, contact } = parts;
  return on.spawn({
    argv: [PYTHON, '-c', SERVER, SERVER_ARGUMENT],
    cwd: contact.home,
    env: { ROLLCALL_NONCE: nonce, ROLLCALL_KIND: 'test' },
    logPath: join(logsDir, `${nonce}.log`),
  });
}

/** The server, once a look shows it and a way leads to it. */
async function reached(host: Host, pid: number): Promise<{ info: ProcessInfo; at: At; port: number }> {
  let found: { info: ProcessInfo; at: At; port: number } | undefined;
  await until('there is a way to the server', async () => {
    const look = await host.look({ ...NOTHING_ASKED, include: [pid] });
    const info = look.processes.get(pid);
    const listening = look.listening.find((each) => each.pid === pid);
    const at =
      info === undefined || listening === undefined ? null : host.at({ ...listening, identity: info.identity });
    if (info !== undefined && listening !== undefined && at !== null) found = { info, at, port: listening.port };
    return found !== undefined;
  });
  if (found === undefined) throw new Error('no way to the server');
  return found;
}

function ask(at: At): Promise<string> {
  return new Promise((resolve, reject) => {
    const target = at.type === 'socket' ? { socketPath: at.path } : { host: at.address, port: at.port };
    const asked = request({ ...target, path: '/', agent: false }, (response) => {
      let text = '';
      response.on('data', (chunk: Buffer) => {
        text += chunk.toString();
      });
      response.once('end', () => resolve(text));
    });
    asked.once('error', reject);
    asked.end();
  });
}

async function ended(host: Host, { ref }: Pick<Spawned, 'ref'>): Promise<boolean> {
  const held = await host.hold(ref);
  await held.signal('SIGTERM');
  return held.exited(60_000);
}

test.each([
  ['an ordinary account', false],
  ['BusyBox and nothing else', true],
])('D1 D3 a life on a noisy machine: %s', async (_, busybox) => {
  const box = await testSshd({
    machine: true,
    busybox,
    accounts: [{ name: 'dev', uid: 12_345, ...(busybox ? {} : { shell: '/bin/bash' }) }],
  });
  for (const name of ['.bashrc', '.profile', '.ssh_rc']) writeFileSync(join(box.home, name), NOISE);
  const link = await linkTo(box);
  let told = 0;
  const parts = await hostOver(link, () => {
    told += 1;
  });
  const { host, store, contact } = parts;
  expect(contact).toMatchObject({
    uid: 12_345,
    isLocal: false,
    home: box.home,
    python: busybox ? null : expect.any(String),
  });
  expect(host.signalling.method).toBe(busybox ? 'verify-then-kill' : 'pidfd');

  const release = await host.startLock('nonce-1');
  const { nonce } = someRecord();
  const spawned = await spawnServer(parts, nonce);
  await release();
  const path = await store.write(someRecord({ spawned: spawned.ref, server: null, state: 'spawned' }));
  expect(await store.list()).toMatchObject([{ path, problem: null }]);

  const { pid } = spawned.ref.identity;
  const { info, at, port } = await reached(host, pid);
  expect(told).toBeGreaterThan(0);
  expect(info.marks).toMatchObject({ ROLLCALL_NONCE: nonce, ROLLCALL_KIND: 'test' });
  expect(info.marks?.SSH_CONNECTION).toBeUndefined();
  expect(await ask(at)).toBe(String(pid));
  expect(await host.portHolder(port)).toMatchObject({ pid });

  // Our own connection is none of its clients, although this account may not list sshd's open files.
  const own = at.type === 'socket' ? connect(at.path) : connect(at.port, at.address);
  onTestFinished(() => void own.on('error', () => undefined).destroy());
  own.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
  await new Promise((resolve) => own.once('data', resolve));
  expect((await host.look(NOTHING_ASKED)).clients).toEqual([]);

  host.keepPages([{ identity: info.identity, address: '127.0.0.1', port }]);
  await until('the page is open', () => host.page({ identity: info.identity, address: '127.0.0.1', port }) !== null);
  const page = host.page({ identity: info.identity, address: '127.0.0.1', port });
  expect(await ask({ type: 'tcp', address: '127.0.0.1', port: page?.port ?? 0 })).toBe(String(pid));

  // What runs there outlives the connection.
  await link.disconnect();
  const again = await linkTo(box);
  const { host: second, store: records } = await hostOver(again);
  const [file] = await records.list();
  const ref = file?.record?.spawned;
  if (ref == null) throw new Error('the record is gone');
  expect(await second.verify(ref)).toEqual({ verdict: 'same' });
  expect(await ended(second, { ref })).toBe(true);
  expect(await second.verify(ref)).toMatchObject({ verdict: 'gone' });
  expect((await second.look(NOTHING_ASKED)).candidates).toEqual([]);
  await records.remove(nonce);
  expect(await records.list()).toEqual([]);
});

test('D5 two machines that share a home keep to their own records, and each finds its server again', async () => {
  const home = temporaryFolder();
  const [one, other] = [
    await testSshd({ machine: true, accounts: [{ name: 'root', home }] }),
    await testSshd({ machine: true, accounts: [{ name: 'root', home }] }),
  ];
  const first = await hostOver(await linkTo(one));
  const second = await hostOver(await linkTo(other));
  const server = await spawnServer(first, 'nonce');
  await first.store.write(someRecord({ spawned: server.ref }));
  expect(await second.store.list()).toEqual([]);
  expect(await second.host.verify(server.ref)).toMatchObject({ verdict: 'foreign' });
  expect(await (await second.host.hold(server.ref)).signal('SIGKILL')).toMatchObject({ sent: false });
  const back = await hostOver(await linkTo(one));
  const [file] = await back.store.list();
  expect(await back.host.verify(file?.record?.spawned ?? server.ref)).toEqual({ verdict: 'same' });
  expect(readdirSync(join(home, '.local/state/rollcall/remote'))).toHaveLength(1);
  expect(await ended(back.host, server)).toBe(true);
});

test.each([
  ['that booted before', 'twin', 'twin'],
  ['with another name that booted since', 'one', 'other'],
])(
  'D5 two machines from one image share a home: a server of the other one %s is not over',
  async (_, name, otherName) => {
    const home = temporaryFolder();
    const image = {
      machine: true,
      accounts: [{ name: 'root', home }],
      files: { '/etc/machine-id': `${'ab'.repeat(16)}\n` },
    };
    const one = await testSshd({ ...image, hostname: name });
    const other = await testSshd({ ...image, hostname: otherName });
    const first = await hostOver(await linkTo(one));
    const server = await spawnServer(first, 'nonce');
    const writtenAt = Date.now();
    const path = await first.store.write(
      someRecord({ writtenAt: new Date(writtenAt).toISOString(), spawned: server.ref, server: null }),
    );
    if (name !== otherName) {
      await other.down();
      // A boot is told to the second.
      await until('a boot would be later', () => Date.now() > writtenAt + 2000);
      await other.up();
    }
    const second = await hostOver(await linkTo(other));
    expect(second.contact.observer.hostId).toBe(first.contact.observer.hostId);
    expect(await second.store.list()).toEqual([]);
    // Both have one folder where the PID namespaces of both have the number that a machine's first one has.
    const shared = second.store.pathOf(someRecord().nonce);
    mkdirSync(dirname(shared), { recursive: true });
    copyFileSync(path, shared);
    const { live, stale } = await judgeRecords(await second.store.list(), second.host, new Set(), null);
    expect(live).toEqual([]);
    expect(stale).toMatchObject([{ verdict: 'foreign', clearable: false }]);
    expect(await (await second.host.hold(server.ref)).signal('SIGKILL')).toMatchObject({ sent: false });
    const back = await hostOver(await linkTo(one));
    expect((await judgeRecords(await back.store.list(), back.host, new Set(), null)).live).toHaveLength(1);
    expect(await ended(back.host, server)).toBe(true);
  },
);

test('a remote boot makes what was recorded before it gone, whatever has its number now', async () => {
  const box = await testSshd({ machine: true });
  const link = await linkTo(box);
  const before = await hostOver(link);
  const server = await spawnServer(before, 'nonce');
  await before.store.write(someRecord({ spawned: server.ref, server: null, state: 'spawned' }));
  await box.down();
  await box.up();
  const after = await hostOver(await linkTo(box));
  const [file] = await after.store.list();
  expect(file?.record?.spawned).toEqual(server.ref);
  expect(await after.host.verify(server.ref)).toMatchObject({ verdict: 'gone' });
  await until('the connection is back', async () => {
    await link.wake();
    return link.state.status === 'connected';
  });
  // Who has not noticed the boot says so, too, and takes nothing there for what it knew.
  expect(await before.host.verify(server.ref)).toMatchObject({ verdict: 'gone' });
  await expect(before.host.look(NOTHING_ASKED)).rejects.toMatchObject({ name: 'LookFailed' });
});

test('a remote that is this very machine is told', async () => {
  const box = await testSshd();
  const local = linuxObserver({ stateDir: temporaryFolder() });
  const { contact, host } = await hostOver(await linkTo(box), undefined, local);
  expect(contact.isLocal).toBe(true);
  expect(await host.observer()).toEqual(local);
  const elsewhere = await testSshd({ machine: true });
  expect((await hostOver(await linkTo(elsewhere), undefined, local)).contact.isLocal).toBe(false);
});

test('what a connection runs under is what lives as long as it does, whatever shell starts the scripts', async () => {
  const shell = join(temporaryFolder(), 'stays');
  writeFileSync(shell, '#!/bin/sh\n/bin/sh "$@"\nexit $?\n', { mode: 0o755 });
  for (const account of [{ name: 'root' }, { name: 'root', shell }]) {
    const box = await testSshd({ accounts: [account] });
    const { contact } = await hostOver(await linkTo(box));
    expect(contact.selfAndAncestors).toEqual(expect.arrayContaining([...box.connections()]));
    expect(contact.selfAndAncestors.filter((pid) => !isAlive(pid))).toEqual([]);
  }
});

test.each([
  ['ForceCommand echo This service allows sftp connections only.', 'sftp-only'],
  ['ForceCommand /usr/sbin/nologin', 'no-login'],
  ['ForceCommand false', 'no-answer'],
])('D10 an account that runs something else is refused in words: %s', async (line, code) => {
  const box = await testSshd({ config: [line] });
  const link = await linkTo(box);
  await expect(hostOver(link)).rejects.toMatchObject({ name: 'SshFailed', step: 'shell', code });
});

test('a lost link is no verdict: nothing is gone, nothing was said to be sent', async () => {
  const box = await testSshd({ machine: true });
  const link = await linkTo(box);
  const parts = await hostOver(link);
  const server = await spawnServer(parts, 'nonce');
  const held = await parts.host.hold(server.ref);
  let exits = 0;
  parts.host.watchExit(server.ref, () => {
    exits += 1;
  });
  await link.disconnect();
  expect(await held.verify()).toMatchObject({ verdict: 'unknown' });
  expect(await held.signal('SIGTERM')).toMatchObject({ sent: false, verdict: { verdict: 'unknown' } });
  expect(await held.exited(200)).toBe(false);
  await expect(parts.host.look(NOTHING_ASKED)).rejects.toMatchObject({ name: 'LookFailed' });
  await expect(parts.store.write(someRecord())).rejects.toMatchObject({ name: 'WriteFailed', code: 'link' });
  expect(exits).toBe(0);
  expect(existsSync(box.home)).toBe(true);
});

test('D2 a connection that is lost during a stop neither shortens its waits nor hides an exit', async () => {
  const box = await testSshd({ machine: true });
  const link = await linkTo(box);
  const parts = await hostOver(link);
  const steady = new ReconnectingHost(parts.host);
  const server = await spawnServer(parts, 'nonce', steady);
  const held = await steady.hold(server.ref);
  let over = false;
  const grace = held.exited(600_000).finally(() => {
    over = true;
  });
  expect(await held.verify()).toEqual({ verdict: 'same' });
  box.signalConnections('SIGKILL');
  await until('it is lost', () => link.state.status !== 'connected');
  await until('it is connected again', () => link.state.status === 'connected');
  await steady.renew((await hostOver(link)).host);
  expect(await held.exited(100)).toBe(false);
  expect(over).toBe(false);
  expect(await held.signal('SIGTERM')).toEqual({ sent: true });
  expect(await grace).toBe(true);
  expect(await server.exit).toEqual({ code: null, signal: null });
});
