/** Point by point: what a stale record can name, and that nobody is signalled for it. */
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ProcessRef, Verdict } from '../../../identity/identity.ts';
import type { Host, Signal } from '../../host.ts';
import { SERVER_ARGUMENT } from '../../local/testing/hosts.ts';
import { anotherTick, isAlive, python, start, temporaryFolder, until } from '../../local/testing/processes.ts';
import { WITNESS, witnessAt } from '../../local/testing/strangers.ts';
import { openRemote, recorded, remoteHost, type TestRemote } from '../testing/remote.ts';
import { LocalExec, SIGNAL_SHELLS, type TestShell } from '../testing/shells.ts';

const EVERY_SIGNAL: readonly Signal[] = ['SIGHUP', 'SIGINT', 'SIGCONT', 'SIGTERM', 'SIGKILL'];

/** Signals are refused with this verdict. */
async function refused(
  host: Pick<Host, 'hold' | 'verify'>,
  ref: ProcessRef,
  verdict: Partial<Verdict>,
  signals: readonly Signal[] = ['SIGTERM'],
): Promise<void> {
  expect(await host.verify(ref)).toMatchObject(verdict);
  const held = await host.hold(ref);
  for (const signal of signals) {
    expect(await held.signal(signal), signal).toMatchObject({ sent: false, verdict });
  }
  held.release();
}

async function endedProcess(host: Pick<Host, 'inspect'>): Promise<ProcessRef> {
  const first = start('sleep', ['60']);
  const ref = await recorded(host, first.pid);
  const died = once(first.child, 'exit');
  first.child.kill('SIGKILL');
  await died;
  return ref;
}

/** A program that writes each signal it gets to a file. */
async function witness(argument: string): Promise<{ pid: number; felt: () => string }> {
  const log = join(temporaryFolder(), 'signals');
  writeFileSync(log, '');
  const { pid } = python(WITNESS, [log, argument]);
  await until('the witness is ready', () => readFileSync(log, 'utf8') === 'ready\n');
  return { pid, felt: () => (isAlive(pid) ? readFileSync(log, 'utf8') : 'gone') };
}

/** Longer than a test may take, in milliseconds: whoever waits for it fails. */
const FAR_OFF = 600_000;

describe.each(SIGNAL_SHELLS)('$name', (shell) => {
  const exec = new LocalExec(shell);
  let host: TestRemote['host'];
  let contact: TestRemote['contact'];
  beforeAll(async () => {
    if (shell.missing === null) ({ host, contact } = await openRemote(exec));
  });
  afterAll(async () => {
    if (shell.missing === null) await host.close();
  });

  test('a dead PID is gone', async (context) => {
    if (shell.missing !== null) context.skip(shell.missing);
    const ref = await endedProcess(host);
    await refused(host, ref, { verdict: 'gone' });
    expect(await (await host.hold(ref)).exited(FAR_OFF)).toBe(true);
  });

  test('a zombie has exited: no signal, no wait', async (context) => {
    if (shell.missing !== null) context.skip(shell.missing);
    const parent = python(`
import os, sys, time
child = os.fork()
if child == 0:
    sys.stdin.readline(); os._exit(0)
print(child, flush=True)
time.sleep(60)
`);
    const pid = Number(await parent.line());
    const ref = await recorded(host, pid);
    parent.tell('exit');
    await until('the child has exited', () => !isAlive(pid));
    process.kill(pid, 0); // the trap: the number still takes signals
    await refused(host, ref, { verdict: 'zombie' });
    expect(await (await host.hold(ref)).exited(FAR_OFF)).toBe(true);
  });

  test('a stranger on the recorded number is left alone', async (context) => {
    if (shell.missing !== null) context.skip(shell.missing);
    const ref = await endedProcess(host);
    await anotherTick(ref);
    const stranger = await witnessAt(ref.identity.pid);
    if (typeof stranger === 'string') return context.skip(stranger);
    await refused(host, ref, { verdict: 'reused', by: expect.objectContaining({ pid: stranger.pid }) }, EVERY_SIGNAL);
    expect(await stranger.felt()).toEqual([]);
  });

  test('a thread of a stranger is no process', async (context) => {
    if (shell.missing !== null) context.skip(shell.missing);
    const stranger = python(`
import signal, threading, time
for n in (1, 2, 15, 18): signal.signal(n, lambda n, f: print('felt', n, flush=True))
def work():
    print(threading.get_native_id(), flush=True)
    time.sleep(60)
thread = threading.Thread(target=work); thread.start(); thread.join()
`);
    const tid = Number(await stranger.line());
    process.kill(tid, 0); // the trap: the number takes signals, and the whole process would get them
    expect(await host.inspect(tid)).toBeNull();
    const own = await recorded(host, stranger.pid);
    const ticks = readFileSync(`/proc/${tid}/stat`, 'latin1').split(') ')[1]?.split(' ')[19];
    const ref: ProcessRef = { ...own, identity: { ...own.identity, pid: tid, startTime: `linux:${ticks}` } };
    await refused(host, ref, { verdict: 'thread', of: expect.objectContaining({ pid: stranger.pid }) }, EVERY_SIGNAL);
    expect(isAlive(stranger.pid)).toBe(true);
  });

  test('another server of the same kind is another process, also where it has the same arguments', async (context) => {
    if (shell.missing !== null) context.skip(shell.missing);
    const [one, other] = [await witness(SERVER_ARGUMENT), await witness(SERVER_ARGUMENT)];
    const ref = await recorded(host, one.pid);
    const mixed = { ...ref, identity: { ...ref.identity, pid: other.pid } };
    await refused(host, mixed, { verdict: 'reused', by: expect.objectContaining({ pid: other.pid }) });
    // Equal ticks with another program or other arguments prove nothing either way.
    const doubtful = { ...ref, evidence: { ...ref.evidence, argvHash: '0'.repeat(64) } };
    await refused(host, doubtful, { verdict: 'unknown' });
    await refused(host, { ...ref, evidence: { executable: null, argvHash: null } }, { verdict: 'unknown' });
    expect([one.felt(), other.felt()]).toEqual(['ready\n', 'ready\n']);
  });

  test('D5 a record of another machine, boot or namespace is never compared with what runs here', async (context) => {
    if (shell.missing !== null) context.skip(shell.missing);
    const here = await witness('here');
    const ref = await recorded(host, here.pid);
    const from = (place: Partial<ProcessRef['identity']>): ProcessRef => ({
      ...ref,
      identity: { ...ref.identity, ...place },
    });
    await refused(host, from({ hostId: 'f'.repeat(32) }), { verdict: 'foreign' });
    await refused(host, from({ pidNamespace: '1' }), { verdict: 'foreign' });
    await refused(host, from({ bootId: '00000000-0000-0000-0000-000000000000' }), { verdict: 'gone' });
    expect(here.felt()).toBe('ready\n');
  });

  test('numbers that may not be a target are refused unread', async (context) => {
    if (shell.missing !== null) context.skip(shell.missing);
    const ref = await recorded(host, (await witness('here')).pid);
    // This process stands for the session's sshd: the shell runs under it.
    expect(contact.selfAndAncestors).toContain(process.pid);
    for (const pid of [0, 1, -5, 1.5, Number.NaN, 4_194_305, process.pid]) {
      await refused(host, { ...ref, identity: { ...ref.identity, pid } }, { verdict: 'unknown' });
    }
  });

  test("another user's process is shown and never signalled, also by root", async (context) => {
    if (shell.missing !== null) context.skip(shell.missing);
    if (process.getuid?.() !== 0) return context.skip('only root can start a process of another user');
    const other = start('sleep', ['60'], { uid: 65534, gid: 65534 });
    const ref = await recorded(host, other.pid);
    await refused(host, ref, { verdict: 'unknown', why: expect.stringContaining('another user') });
    expect(isAlive(other.pid)).toBe(true);
    // Nor by a user for whom it is a stranger's.
    const { host: plain } = await remoteHost(new LocalExec(shell, { uid: 65533 }));
    expect(await plain.verify(ref)).toMatchObject({ verdict: 'unknown' });
    expect(isAlive(other.pid)).toBe(true);
  });

  test("D20 a stranger's PID recorded beside an adopted external server is no way to either", async (context) => {
    if (shell.missing !== null) context.skip(shell.missing);
    const external = python(
      "import socket, time; s = socket.socket(); s.bind(('127.0.0.1', 0)); s.listen(); print(s.getsockname()[1], flush=True); time.sleep(60)",
      [SERVER_ARGUMENT],
    );
    const port = Number(await external.line());
    const stranger = await witness('editor');
    const own = await recorded(host, stranger.pid);
    // The record's server has gone, its number is the stranger's, and its port is the external server's.
    const ref = { ...own, identity: { ...own.identity, startTime: 'linux:17' as const } };
    await refused(host, ref, { verdict: 'reused', by: expect.objectContaining({ pid: stranger.pid }) });
    expect(await host.portHolder(port)).toMatchObject({ pid: external.pid });
    expect([stranger.felt(), isAlive(external.pid)]).toEqual(['ready\n', true]);
  });

  test('a /proc that hides the processes of others is no reason to call them gone', async (context) => {
    if (shell.missing !== null) context.skip(shell.missing);
    if (process.getuid?.() !== 0) return context.skip('only root can mount a /proc that hides processes');
    const uid = 65533;
    const hiding: TestShell = {
      ...shell,
      argv: [
        '/usr/bin/unshare',
        '--mount',
        '/bin/sh',
        '-c',
        `mount -t proc -o hidepid=2 proc /proc && exec setpriv --reuid=${uid} --regid=${uid} --clear-groups "$@"`,
        'sh',
        ...shell.argv,
      ],
    };
    const env = { PATH: '/usr/bin:/bin' };
    const hidden = await remoteHost(new LocalExec({ ...hiding, path: null }, { env }));
    expect(hidden.contact.processes).toBe('own');
    const other = start('sleep', ['60']);
    const ref = await recorded(host, other.pid);
    await refused(hidden.host, ref, { verdict: 'unknown', why: expect.stringContaining('hidden') });
    const mine = start('sleep', ['60'], { uid, gid: uid });
    const own = await recorded(hidden.host, mine.pid);
    expect(await hidden.host.verify(own)).toEqual({ verdict: 'same' });
    const exited = once(mine.child, 'exit');
    expect(await (await hidden.host.hold(own)).signal('SIGTERM')).toEqual({ sent: true });
    await exited;
    expect(await hidden.host.verify(own)).toMatchObject({ verdict: 'gone' });
  });
});
