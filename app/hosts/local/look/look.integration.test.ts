import { once } from 'node:events';
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { Host, Look } from '../../host.ts';
import { NOTHING_ASKED, recogniseTestServer, SERVER_ARGUMENT, testHost } from '../testing/hosts.ts';
import { endOrphanAfterTest, PYTHON, python, runs, start, temporaryFolder, until } from '../testing/processes.ts';
import { inlineLooker } from './looker.ts';

const isRoot = process.getuid?.() === 0;

/** A Python program that counts as a server; prints its ports when told to listen. */
const SERVER = `
import socket, sys
sockets = []
for family, address in ((socket.AF_INET, '127.0.0.1'), (socket.AF_INET6, '::1')):
    listener = socket.socket(family); listener.bind((address, 0)); listener.listen(8); sockets.append(listener)
print(*(s.getsockname()[1] for s in sockets), flush=True)
kept = []
for line in sys.stdin:
    word, *rest = line.split()
    if word == 'accept': kept.append(sockets[0].accept())
    if word == 'connect': kept.append(socket.create_connection(('127.0.0.1', int(rest[0]))))
    print('done', flush=True)
`;

async function server(): Promise<{ pid: number; ports: number[]; tell: (text: string) => Promise<void> }> {
  const process = python(SERVER, [SERVER_ARGUMENT]);
  const ports = (await process.line()).split(' ').map(Number);
  return {
    pid: process.pid,
    ports,
    tell: async (text) => {
      process.tell(text);
      await process.line();
    },
  };
}

async function look(host: Host, request = NOTHING_ASKED): Promise<Look> {
  return host.look(request);
}

test('a look shows servers with their trees and ancestors, and nobody else', async () => {
  const host = await testHost();
  const stranger = start('sleep', ['60']);
  const begun = Date.now();
  const one = await server();
  const began = performance.now();
  const seen = await look(host);
  expect(seen.candidates.map(({ pid }) => pid)).toEqual([one.pid]);
  const info = seen.processes.get(one.pid);
  expect(info).toMatchObject({
    ppid: process.pid,
    state: expect.stringMatching(/^[RS]$/u),
    cwd: process.cwd(),
    uid: process.getuid?.(),
    ignoresHangup: false,
    cpuPercent: null,
  });
  expect(info?.argv.at(-1)).toBe(SERVER_ARGUMENT);
  expect(info?.rssBytes).toBeGreaterThan(1_000_000);
  expect(info?.pssBytes).toBeGreaterThan(100_000);
  // The kernel tells the second of its boot.
  expect(info?.startedAt).toBeGreaterThan(begun - 2000);
  expect(info?.startedAt).toBeLessThan(Date.now() + 2000);
  expect(seen.processes.has(process.pid)).toBe(true);
  expect(seen.processes.has(stranger.pid)).toBe(false);
  expect(seen.reapers).toContain(1);
  expect(seen.counted).toBeGreaterThan(seen.processes.size);
  // CPU is told over a second at least: a single tick of a shorter span would read as work. The first look came
  // after `began`, so however late this thread is, a second has passed since.
  let percent: number | null | undefined = null;
  await until('its CPU is told', async () => {
    percent = (await look(host)).processes.get(one.pid)?.cpuPercent;
    return percent !== null;
  });
  expect(performance.now() - began).toBeGreaterThan(980);
  expect(percent).toBeGreaterThanOrEqual(0);
  expect((await look(host, { ...NOTHING_ASKED, include: [stranger.pid] })).processes.has(stranger.pid)).toBe(true);
});

test('listening ports and clients are told by socket, and our own connections are no clients', async () => {
  const host = await testHost();
  const one = await server();
  const other = await server();
  const [port = 0, port6 = 0] = one.ports;
  const [otherPort = 0] = other.ports;

  const quiet = await look(host);
  expect(quiet.listening.filter(({ pid }) => pid === one.pid)).toEqual(
    expect.arrayContaining([
      { pid: one.pid, address: '127.0.0.1', port },
      { pid: one.pid, address: '::1', port: port6 },
    ]),
  );
  expect(quiet.clients).toEqual([]);
  expect(quiet.socketsReadable).toBe(true);
  expect(await host.portHolder(port)).toMatchObject({ pid: one.pid });
  expect(await host.portHolder(port6)).toMatchObject({ pid: one.pid });

  const ours = connect(port, '127.0.0.1');
  onTestFinished(() => void ours.destroy());
  await once(ours, 'connect');
  await one.tell('accept');
  const client = python(
    'import socket, sys, time; s = socket.create_connection(("127.0.0.1", int(sys.argv[1]))); print("ok", flush=True); time.sleep(60)',
    [String(port)],
  );
  await client.line();
  const waiting = { port, serverPid: one.pid, peerPid: client.pid, peerAddress: '127.0.0.1' };
  // Connected, but not accepted yet: the kernel shows no inode for the server's side.
  expect((await look(host)).clients).toEqual([waiting]);
  await one.tell('accept');
  expect((await look(host)).clients).toEqual([waiting]);

  await one.tell(`connect ${otherPort}`);
  await other.tell('accept');
  const busy = await look(host);
  expect(busy.outgoing).toEqual([{ pid: one.pid, address: '127.0.0.1', port: otherPort }]);
  expect(busy.clients).toContainEqual({
    port: otherPort,
    serverPid: other.pid,
    peerPid: one.pid,
    peerAddress: '127.0.0.1',
  });
  const asked = await look(host, { ...NOTHING_ASKED, ownPids: [client.pid] });
  expect(asked.clients.filter(({ serverPid }) => serverPid === one.pid)).toEqual([]);
});

test('A23 descendants in groups and sessions of their own belong to the tree', async () => {
  const host = await testHost();
  const parent = python(
    `
import os, sys, time
child = os.fork()
if child == 0:
    os.setsid()
    grandchild = os.fork()
    if grandchild == 0:
        os.setpgid(0, 0); os.execvp('sleep', ['sleep', '60'])
    print(os.getpid(), grandchild, flush=True)
    time.sleep(60)
time.sleep(60)
`,
    [SERVER_ARGUMENT],
  );
  const [child = 0, grandchild = 0] = (await parent.line()).split(' ').map(Number);
  endOrphanAfterTest(child);
  endOrphanAfterTest(grandchild);
  await until('it has become sleep', () => runs(grandchild, 'sleep'));
  const seen = await look(host);
  expect(seen.processes.get(child)).toMatchObject({ ppid: parent.pid, session: child });
  expect(seen.processes.get(grandchild)).toMatchObject({ ppid: child, session: child, pgrp: grandchild });
});

test('a child that carries a mark is found when its server is gone, by no other variable', async () => {
  const host = await testHost();
  const env = { PATH: process.env['PATH'], SSH_CONNECTION: '10.0.0.1 1 10.0.0.2 22', SECRET: 'x' };
  const leftover = start('sleep', ['60'], { env: { ...env, OPENCODE_PID: '4711' } });
  const stranger = start('sleep', ['60'], { env });
  const seen = await look(host);
  expect(seen.processes.get(leftover.pid)?.marks).toEqual({
    OPENCODE_PID: '4711',
    SSH_CONNECTION: '10.0.0.1 1 10.0.0.2 22',
  });
  expect(seen.processes.has(stranger.pid)).toBe(false);
  expect(JSON.stringify([...seen.processes.values()])).not.toContain('SECRET');
});

test('a program that becomes a server by exec, keeping its identity, is seen on the next look', async () => {
  const host = await testHost();
  const shell = start('sh', ['-c', `read line; exec ${PYTHON} -c 'import time; time.sleep(60)' "$0"`, SERVER_ARGUMENT]);
  const before = await look(host, { ...NOTHING_ASKED, include: [shell.pid] });
  const identity = before.processes.get(shell.pid)?.identity;
  shell.tell('go');
  // Its name changes a moment before its arguments do.
  await until('it is python', () => readFileSync(`/proc/${shell.pid}/cmdline`, 'utf8').includes('time.sleep(60)\0--'));
  const after = await look(host);
  expect(after.processes.get(shell.pid)?.comm).toMatch(/^python/u);
  expect(after.processes.get(shell.pid)?.identity).toEqual(identity);
});

test('nohup is told from setsid', async () => {
  const host = await testHost();
  const wanted = start('nohup', ['sleep', '60']);
  const other = start('setsid', ['sleep', '60']);
  await until('both run sleep', () => [wanted, other].every(({ pid }) => runs(pid, 'sleep')));
  const seen = await look(host, { ...NOTHING_ASKED, include: [wanted.pid, other.pid] });
  expect(seen.processes.get(wanted.pid)?.ignoresHangup).toBe(true);
  expect(seen.processes.get(other.pid)?.ignoresHangup).toBe(false);
});

test('F3 with COLUMNS=20 and 100 kB of arguments, the end of them is still there', async () => {
  const before = process.env['COLUMNS'];
  process.env['COLUMNS'] = '20';
  onTestFinished(() => {
    if (before === undefined) delete process.env['COLUMNS'];
    else process.env['COLUMNS'] = before;
  });
  const argv = ['x'.repeat(100_000), 'y'.repeat(100_000), SERVER_ARGUMENT, 'serve', '--port', '4096'];
  const long = python('import time; print("ok", flush=True); time.sleep(60)', argv);
  await long.line();
  const host = await testHost();
  const seen = await look(host);
  expect(seen.candidates.map(({ pid }) => pid)).toEqual([long.pid]);
  expect(seen.processes.get(long.pid)?.argv.slice(3)).toEqual(argv);
});

test.each([
  ['a parenthesis', 'a) S 1 1'],
  ['a newline', 'a\nb'],
  ['only parentheses', ')))((('],
  ['a blank', ' '],
  ['a long one', 'x'.repeat(40)],
  ['other letters', 'ünïcödé'],
])('F4 a process whose name is %s is read like any other', async (_, comm) => {
  const odd = python(
    `
import sys, time
open('/proc/self/comm', 'w').write(sys.argv[1]); print('ok', flush=True); time.sleep(60)
`,
    [comm, SERVER_ARGUMENT],
  );
  await odd.line();
  const host = await testHost();
  const seen = await look(host);
  expect(seen.processes.get(odd.pid)).toMatchObject({
    ppid: process.pid,
    comm: Buffer.from(comm).subarray(0, 15).toString(),
  });
});

test('F13 an empty argv is not a kernel thread, and undecodable bytes break nothing', async () => {
  const host = await testHost();
  const maker = python(`
import ctypes, os, time
libc = ctypes.CDLL(None)
def run(path, argv):
    pid = os.fork()
    if pid == 0:
        libc.execv(path, (ctypes.c_char_p * (len(argv) + 1))(*argv, None))
        os._exit(1)
    return pid
print(run(b'/bin/cat', [b'']), run(b'/bin/sh', [b'\\xff\\xfe', b'-c', b'read x', b'${SERVER_ARGUMENT}', b'\\x80']), flush=True)
time.sleep(60)
`);
  const [empty = 0, odd = 0] = (await maker.line()).split(' ').map(Number);
  endOrphanAfterTest(empty);
  endOrphanAfterTest(odd);
  // The kernel gives a new program its name before its arguments.
  const has = (pid: number, comm: string): boolean =>
    readFileSync(`/proc/${pid}/comm`, 'utf8') === `${comm}\n` && readFileSync(`/proc/${pid}/cmdline`).length > 0;
  await until('both have become what they are', () => has(empty, 'cat') && has(odd, 'sh'));
  const seen = await look(host, { ...NOTHING_ASKED, include: [empty] });
  expect(seen.processes.get(empty)).toMatchObject({ ppid: maker.pid, comm: 'cat', argv: [''] });
  expect(seen.candidates.map(({ pid }) => pid)).toEqual([odd]);
  expect(seen.processes.get(odd)?.argv).toEqual(['\ufffd\ufffd', '-c', 'read x', SERVER_ARGUMENT, '\ufffd']);
});

test('F2 a storm of short-lived processes breaks no look and loses no server', async () => {
  const host = await testHost();
  const one = await server();
  const storm = python(`
import os, sys
print('ok', flush=True)
while True:
    children = [os.fork() for _ in range(1)]
    if children[0] == 0:
        if os.getpid() % 3 == 0: os.execvp('true', ['true'])
        os._exit(0)
    os.waitpid(children[0], 0)
`);
  await storm.line();
  const ref = await host.inspect(one.pid);
  let counted = 0;
  for (let round = 0; round < 200; round += 1) {
    const seen = await look(host, { ...NOTHING_ASKED, include: [storm.pid] });
    expect(seen.candidates.map(({ pid }) => pid)).toEqual([one.pid]);
    expect(seen.processes.get(one.pid)?.identity).toEqual(ref?.identity);
    expect(seen.processes.has(storm.pid)).toBe(true);
    expect(seen.gaps.filter(({ pid }) => pid === one.pid)).toEqual([]);
    if (ref !== null) expect(await host.verify({ identity: ref.identity, evidence: ref })).toEqual({ verdict: 'same' });
    counted += seen.counted;
  }
  expect(counted).toBeGreaterThan(200);
});

test.runIf(isRoot)('C19 a process that may not be read is reported as partial, never as gone', async () => {
  // A look without root's rights at root's process: made by giving them up in a process of its own is slow, so the
  // unreadable entry is a folder of a copied table, which root reads as any user would not.
  const procRoot = fixture([[4711, 'server', ['python3', SERVER_ARGUMENT]]]);
  mkdirSync(join(procRoot, '4712'));
  mkdirSync(join(procRoot, '4712', 'stat'));
  const host = await testHost({ procRoot, looker: inlineLooker(recogniseTestServer) });
  const seen = await look(host);
  expect(seen.candidates.map(({ pid }) => pid)).toEqual([4711]);
  expect(seen.gaps.map(({ pid }) => pid)).toContain(4712);
});

test('in a crowd, orphans with a mark are found at once, and one that nothing speaks for soon after', async () => {
  const CROWD = 700;
  const procRoot = fixture([
    [100, 'bash', ['bash']],
    ...Array.from({ length: CROWD }, (_, at): [number, string, string[]] => [1000 + at, 'sleep', ['sleep', '60']]),
    [5001, 'orphan', ['orphan']],
    [5002, 'setsid', ['setsid']],
    [5003, 'child', ['child']],
    [5004, 'hidden', ['hidden']],
  ]);
  const place = (pid: number, ppid: number, session: number, marked: boolean): void => {
    const line = `${pid} (x) S ${ppid} 1 ${session} 0 -1 0 0 0 0 0 1 1 0 0 20 0 1 0 ${pid} 0 0\n`;
    writeFileSync(join(procRoot, String(pid), 'stat'), line);
    writeFileSync(join(procRoot, String(pid), 'environ'), marked ? 'A=1\0OPENCODE_PID=4711\0' : 'A=1\0');
  };
  place(100, 1, 100, false);
  for (let at = 0; at < CROWD; at += 1) place(1000 + at, 100, 100, false);
  place(5001, 1, 100, true);
  place(5002, 100, 5002, true);
  place(5003, 5002, 5002, true);
  // A mark that a living, unmarked parent of the same session handed down: nothing but a reading tells it.
  place(5004, 100, 100, true);
  const host = await testHost({ procRoot, looker: inlineLooker(recogniseTestServer) });
  const marked = async (): Promise<number[]> =>
    [...(await look(host)).processes.values()].filter(({ marks }) => marks?.OPENCODE_PID).map(({ pid }) => pid);
  expect((await marked()).sort()).toEqual([5001, 5002, 5003]);
  expect((await marked()).sort()).toEqual([5001, 5002, 5003, 5004]);
});

/** A process table of files. */
function fixture(processes: readonly [pid: number, comm: string, argv: readonly string[]][]): string {
  const root = temporaryFolder();
  mkdirSync(join(root, 'sys/kernel/random'), { recursive: true });
  writeFileSync(join(root, 'sys/kernel/random/boot_id'), 'boot\n');
  mkdirSync(join(root, 'self/ns'), { recursive: true });
  symlinkSync('pid:[1]', join(root, 'self/ns/pid'));
  writeFileSync(join(root, 'uptime'), '10000.00 1.00\n');
  for (const [pid, comm, argv] of processes) {
    mkdirSync(join(root, String(pid)));
    writeFileSync(
      join(root, String(pid), 'stat'),
      `${pid} (${comm}) S 1 1 1 0 -1 0 0 0 0 0 1 1 0 0 20 0 1 0 ${pid} 0 0\n`,
    );
    writeFileSync(join(root, String(pid), 'cmdline'), argv.map((arg) => `${arg}\0`).join(''));
    writeFileSync(join(root, String(pid), 'environ'), '');
    cpSync('/proc/self/status', join(root, String(pid), 'status'));
  }
  return root;
}
