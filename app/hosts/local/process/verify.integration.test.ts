import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import type { ProcessRef } from '../../../identity/identity.ts';
import { bundle } from '../testing/bundle.ts';
import { inspected, recordOf, testHost } from '../testing/hosts.ts';
import {
  anotherTick,
  endOrphanAfterTest,
  isAlive,
  python,
  SPAWN_AT,
  start,
  startTicks,
  until,
} from '../testing/processes.ts';
import { witnessAt } from '../testing/strangers.ts';

const isRoot = process.getuid?.() === 0;
/** Longer than a test may take, in milliseconds: whoever waits for it fails. */
const FAR_OFF = 600_000;

describe.each([
  ['through pidfds', true],
  ['by verify-then-kill', false],
])('%s', (_, usePidfds) => {
  test('a living process is the same and gets the signal, then it is gone', async () => {
    const host = await testHost({ usePidfds });
    expect(host.signalling.method).toBe(usePidfds ? 'pidfd' : 'verify-then-kill');
    const sleeper = start('sleep', ['60']);
    const ref = await recordOf(host, sleeper.pid);
    const exited = once(sleeper.child, 'exit');
    const held = await host.hold(ref);
    expect(await held.verify()).toEqual({ verdict: 'same' });
    expect(await held.exited(30)).toBe(false);
    expect(await held.signal('SIGTERM')).toEqual({ sent: true });
    expect(await held.exited(60_000)).toBe(true);
    expect(await exited).toEqual([null, 'SIGTERM']);
    expect((await held.verify()).verdict).toBe('gone');
    expect(await held.signal('SIGKILL')).toMatchObject({ sent: false, verdict: { verdict: 'gone' } });
    held.release();
  });

  test('F1 a zombie with the matching start time has exited: it is not signalled and not waited for', async () => {
    const host = await testHost({ usePidfds });
    const launcher = python(`
import os, sys
child = os.fork()
if child == 0:
    sys.stdin.readline(); os._exit(0)
print(child, flush=True)
import time; time.sleep(60)
`);
    const pid = Number(await launcher.line());
    const ref = await recordOf(host, pid);
    launcher.tell('exit');
    await until('the child has exited', () => !isAlive(pid));
    process.kill(pid, 0); // the trap: the number still takes signals
    expect(await host.verify(ref)).toEqual({ verdict: 'zombie' });
    const held = await host.hold(ref);
    expect(await held.signal('SIGKILL')).toEqual({ sent: false, verdict: { verdict: 'zombie' } });
    expect(await held.exited(FAR_OFF)).toBe(true);
    held.release();
  });

  test('C1 a number that came round to a stranger is reused, and the stranger gets no signal', async (context) => {
    const host = await testHost({ usePidfds });
    const first = start('sleep', ['60']);
    const ref = await recordOf(host, first.pid);
    const died = once(first.child, 'exit');
    first.child.kill('SIGKILL');
    await died;
    await anotherTick(ref);
    const stranger = await witnessAt(first.pid);
    if (typeof stranger === 'string') return context.skip(stranger);

    expect(await host.verify(ref)).toMatchObject({ verdict: 'reused', by: { pid: first.pid, name: 'python3' } });
    const held = await host.hold(ref);
    for (const signal of ['SIGHUP', 'SIGINT', 'SIGCONT', 'SIGTERM', 'SIGKILL'] as const) {
      expect(await held.signal(signal)).toMatchObject({ sent: false, verdict: { verdict: 'reused' } });
    }
    expect(await held.exited(FAR_OFF)).toBe(true);
    held.release();
    expect(await stranger.felt()).toEqual([]);
  });

  test('C1 a grip taken before the number came round reaches nobody after it', async (context) => {
    const host = await testHost({ usePidfds });
    const first = start('sleep', ['60']);
    const ref = await recordOf(host, first.pid);
    const held = await host.hold(ref);
    const died = once(first.child, 'exit');
    first.child.kill('SIGKILL');
    await died;
    await anotherTick(ref);
    const stranger = await witnessAt(first.pid);
    if (typeof stranger === 'string') return context.skip(stranger);
    expect(await held.signal('SIGTERM')).toMatchObject({ sent: false, verdict: { verdict: 'reused' } });
    held.release();
    expect(await stranger.felt()).toEqual([]);
  });

  test('a thread id is a thread, and its process is not signalled', async () => {
    const host = await testHost({ usePidfds });
    const holder = python(`
import sys, threading, time
thread = threading.Thread(target=lambda: time.sleep(60), daemon=True); thread.start()
print(thread.native_id, flush=True)
for line in sys.stdin: print('here', flush=True)
`);
    const tid = Number(await holder.line());
    process.kill(tid, 0); // the trap: a thread's number takes signals, for the whole process
    const leader = await recordOf(host, holder.pid);
    const ref: ProcessRef = { ...leader, identity: { ...leader.identity, pid: tid } };
    expect(await host.verify(ref)).toMatchObject({ verdict: 'thread', of: { pid: holder.pid } });
    expect(await host.inspect(tid)).toBe(null);
    const held = await host.hold(ref);
    expect(await held.signal('SIGTERM')).toMatchObject({ sent: false, verdict: { verdict: 'thread' } });
    held.release();
    // A signal that had been sent would have ended it before its answer.
    holder.tell('are you there?');
    expect(await holder.line()).toBe('here');
  });

  test('a process whose main thread has exited is alive, and the same', async () => {
    const host = await testHost({ usePidfds });
    const holder = python(`
import ctypes, platform, sys, threading, time
def rest():
    time.sleep(60)
thread = threading.Thread(target=rest); thread.start()
print('ready', flush=True); sys.stdin.readline()
ctypes.CDLL(None).syscall(93 if platform.machine() == 'aarch64' else 60, 0)
`);
    await holder.line();
    const ref = await recordOf(host, holder.pid);
    holder.tell('leave');
    await until('the main thread has left', () => readFileSync(`/proc/${holder.pid}/stat`, 'latin1').includes(') Z '));
    expect(await host.verify(ref)).toEqual({ verdict: 'same' });
    const now = await inspected(host, holder.pid);
    expect(now.argv.slice(0, 2)).toEqual(['/usr/bin/python3', '-c']);
    expect(now.executable?.path).toMatch(/python3/u);
    const held = await host.hold(ref);
    expect(await held.signal('SIGKILL')).toEqual({ sent: true });
    expect(await held.exited(60_000)).toBe(true);
    held.release();
  });

  test('numbers that may not be a target are refused before any look-up', async () => {
    const host = await testHost({ usePidfds });
    const own = await recordOf(host, process.pid);
    for (const pid of [process.pid, process.ppid, 1, 0, -1, 1.5, 2 ** 31]) {
      const ref = { ...own, identity: { ...own.identity, pid } };
      expect(await host.verify(ref)).toMatchObject({ verdict: 'unknown' });
      const held = await host.hold(ref);
      expect(await held.signal('SIGTERM')).toMatchObject({ sent: false, verdict: { verdict: 'unknown' } });
      held.release();
    }
  });

  test.runIf(isRoot)("another user's process is never signalled, not by root either", async () => {
    const host = await testHost({ usePidfds });
    const other = start('cat', [], { uid: 65_534, gid: 65_534 });
    await until('it has changed user', async () => (await inspected(host, other.pid)).uid === 65_534);
    const ref = await recordOf(host, other.pid);
    const verdict = await host.verify(ref);
    expect(verdict).toMatchObject({ verdict: 'unknown', why: expect.stringContaining('another user') });
    const held = await host.hold(ref);
    expect(await held.signal('SIGKILL')).toEqual({ sent: false, verdict });
    held.release();
    other.tell('still here');
    expect(await other.line()).toBe('still here');
  });

  test('what another PID namespace recorded is foreign here', async (context) => {
    const host = await testHost({ usePidfds });
    const box = start('unshare', [
      '--pid',
      '--fork',
      '--mount-proc',
      '/usr/bin/python3',
      '-c',
      `
import os, time
print(os.readlink('/proc/self/ns/pid')[5:-1], os.getpid(), flush=True); time.sleep(60)
`,
    ]);
    const line = await box.line().catch(() => null);
    if (line === null) context.skip('this machine allows no PID namespaces');
    const [pidNamespace = '', inner] = line?.split(' ') ?? [];
    const outer = Number(readFileSync(`/proc/${box.pid}/task/${box.pid}/children`, 'utf8').trim());
    endOrphanAfterTest(outer);
    expect((await inspected(host, outer)).ownPidNamespace).toBe(pidNamespace);
    const ref = await recordOf(host, outer);
    const inside: ProcessRef = { ...ref, identity: { ...ref.identity, pidNamespace, pid: Number(inner) } };
    expect(await host.verify(inside)).toMatchObject({ verdict: expect.stringMatching(/foreign|unknown/u) });
    const other: ProcessRef = { ...ref, identity: { ...ref.identity, pidNamespace } };
    expect(await host.verify(other)).toMatchObject({ verdict: 'foreign' });
    const held = await host.hold(other);
    expect(await held.signal('SIGKILL')).toMatchObject({ sent: false, verdict: { verdict: 'foreign' } });
    held.release();
    expect(isAlive(outer)).toBe(true);
  });

  test('a watch calls back once when the process exits, and never after its cancellation', async () => {
    const host = await testHost({ usePidfds });
    const watched = start('sleep', ['60']);
    const ref = await recordOf(host, watched.pid);
    let calls = 0;
    let cancelled = 0;
    host.watchExit(ref, () => {
      calls += 1;
    });
    host.watchExit(ref, () => {
      cancelled += 1;
    })();
    watched.child.kill('SIGKILL');
    await until('it is told', () => calls > 0);
    // Gone before the watch began: told too, but not within the call.
    const late = await new Promise<boolean>((resolve) => {
      let returned = false;
      host.watchExit(ref, () => resolve(returned));
      returned = true;
    });
    expect(late).toBe(true);
    expect([calls, cancelled]).toEqual([1, 0]);
  });
});

test('a number that came round within one tick is told by the pidfd inode', async (context) => {
  const host = await testHost();
  if (host.signalling.method !== 'pidfd') context.skip('no pidfds here');
  const churn = python(`${SPAWN_AT}
import json, sys, time
def look(pid):
    fd = os.pidfd_open(pid); inode = os.fstat(fd).st_ino; os.close(fd)
    return inode, open(f'/proc/{pid}/stat').read().rsplit(')', 1)[1].split()[19]
try: os.nice(-20)
except OSError: pass
# Far from the numbers that are handed out now, so that nobody else gets it meanwhile.
limit = int(open('/proc/sys/kernel/pid_max').read())
base = 300 + (os.getpid() + limit // 2) % (limit - 600)
while os.path.exists(f'/proc/{base}'): base += 1
try:
    end = time.monotonic() + 3
    while True:
        spawn_at(base, ['sleep', '60']); old = look(base)
        os.kill(base, 9); os.waitpid(base, 0)
        spawn_at(base, ['sleep', '60']); new = look(base)
        if old[1] == new[1] or time.monotonic() > end: break
        os.kill(base, 9); os.waitpid(base, 0)
    print(json.dumps([base, old, new]), flush=True)
except OSError as error:
    print(json.dumps(str(error)), flush=True)
time.sleep(60)
`);
  const told: unknown = JSON.parse(await churn.line());
  if (!Array.isArray(told)) context.skip(`this machine does not let a PID be chosen: ${String(told)}`);
  const [pid, [oldInode, oldTicks], [newInode, newTicks]] = told as [number, [number, string], [number, string]];
  endOrphanAfterTest(pid);
  const now = await recordOf(host, pid);
  expect(now.identity).toMatchObject({ startTime: `linux:${newTicks}`, pidfdId: String(newInode) });
  // On a busy machine the two may have missed each other's tick; the record then says what it would have said.
  expect(Number(newTicks) >= Number(oldTicks)).toBe(true);
  const before: ProcessRef = { ...now, identity: { ...now.identity, pidfdId: String(oldInode) } };
  expect(await host.verify(now)).toEqual({ verdict: 'same' });
  expect(await host.verify(before)).toMatchObject({ verdict: 'reused' });
  const held = await host.hold(before);
  expect(await held.signal('SIGKILL')).toMatchObject({ sent: false, verdict: { verdict: 'reused' } });
  held.release();
  expect(startTicks(pid)).toBe(newTicks);
});

test('a process that changes its program while it is held stays the same, also where the kernel has no pidfd inodes', async () => {
  const host = await testHost();
  const shell = start('bash', ['-c', 'echo ready; read line; exec sleep 60']);
  await shell.line();
  const { identity, evidence } = await recordOf(host, shell.pid);
  const { pidfdId: _, ...withoutInode } = identity;
  const held = await host.hold({ identity: withoutInode, evidence });
  expect(await held.verify()).toEqual({ verdict: 'same' });
  shell.tell('go');
  await until('it runs another program', () =>
    readFileSync(`/proc/${shell.pid}/cmdline`, 'latin1').startsWith('sleep'),
  );
  // A fresh look has nothing but evidence that contradicts; the handle has been proved and cannot be another's.
  expect(await host.verify({ identity: withoutInode, evidence })).toMatchObject({ verdict: 'unknown' });
  expect(await held.verify()).toEqual({ verdict: 'same' });
  expect(await held.signal('SIGTERM')).toEqual({ sent: true });
  expect(await held.exited(60_000)).toBe(true);
  held.release();
});

test('C20 where another user hides behind hidepid, that is unknown and never gone; our own are seen as ever', async (context) => {
  if (!isRoot) context.skip('only root can mount a /proc that hides others');
  const script = await bundle({
    beside: new URL(import.meta.url),
    code: `
      import { createLocalHost } from '../local-host.ts';
      import { loadLibc } from '../../../util/libc.ts';
      import { inlineLooker } from '../look/looker.ts';
      // All of the program is loaded before it becomes a user who may not read it.
      await Promise.all([loadLibc(), import('systeminformation')]);
      const [own, text, usePidfds] = JSON.parse(process.argv[2]);
      process.setgroups([]); process.setgid(65534); process.setuid(65534);
      const host = await createLocalHost({ looker: inlineLooker(() => ({ state: 'other' })), stateDir: '/nonexistent', usePidfds });
      const { identity, executable, argvHash, uid } = await host.inspect(own);
      const mine = await host.verify({ identity, evidence: { executable, argvHash } });
      const look = await host.look({ customKinds: [], include: [own, text.identity.pid], ownPids: [] });
      const seen = [...look.processes.keys()];
      console.log(JSON.stringify({ uid, mine, other: await host.verify(text), seen }));
      await host.close();
    `,
  });
  const own = start('sleep', ['60'], { uid: 65_534, gid: 65_534 });
  const other = start('sleep', ['60']);
  const host = await testHost();
  await until('it has changed user', async () => (await inspected(host, own.pid)).uid === 65_534);
  const ref = await recordOf(host, other.pid);
  for (const usePidfds of [true, false]) {
    const hidden = start('unshare', [
      '--mount',
      'bash',
      '-c',
      'mount -t proc -o hidepid=2 proc /proc && exec "$@"',
      'sh',
      process.execPath,
      fileURLToPath(script),
      JSON.stringify([own.pid, ref, usePidfds]),
    ]);
    const line = await hidden.line().catch(() => null);
    if (line === null) return context.skip('this machine mounts no /proc that hides others');
    const told = JSON.parse(line) as Record<string, unknown>;
    expect(told).toMatchObject({
      uid: 65_534,
      mine: { verdict: 'same' },
      other: { verdict: 'unknown', why: 'it is alive, but hidden from this user' },
    });
    expect(told['seen']).toContain(own.pid);
    expect(told['seen']).not.toContain(other.pid);
  }
});
