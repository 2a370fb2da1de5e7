import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { beforeAll, expect, test } from 'vitest';
import { bundle } from '../testing/bundle.ts';
import { recordOf, testHost } from '../testing/hosts.ts';
import { python, start, temporaryFolder, until } from '../testing/processes.ts';

const run = promisify(execFile);

test('fifty exits are learned of by event, on one pool thread', async (context) => {
  const host = await testHost();
  if (host.signalling.method !== 'pidfd') context.skip('no pidfds here');
  const brood = python(`
import os, signal, sys
children = []
for i in range(50):
    child = os.fork()
    if child == 0: signal.pause()
    children.append(child)
print(' '.join(map(str, children)), flush=True)
for line in sys.stdin:
    os.kill(int(line), 9); os.waitpid(int(line), 0)
for child in children:
    try: os.kill(child, 9)
    except ProcessLookupError: pass
`);
  const pids = (await brood.line()).split(' ').map(Number);
  const exits = new Map<number, () => void>();
  for (const pid of pids) host.watchExit(await recordOf(host, pid), () => exits.get(pid)?.());

  // With a thread each the pool of four would be used up, and these reads would wait for an exit that does not come.
  expect(await Promise.all(Array.from({ length: 8 }, () => readFile('/proc/self/stat')))).toHaveLength(8);

  for (const pid of pids) {
    const told = new Promise<void>((resolve) => exits.set(pid, resolve));
    brood.tell(String(pid));
    await told;
  }
});

test('watching and closing, over and over, leaves no descriptor behind', async () => {
  const sleeper = start('sleep', ['60']);
  const rounds = async (count: number): Promise<void> => {
    for (let round = 0; round < count; round += 1) {
      const host = await testHost();
      const ref = await recordOf(host, sleeper.pid);
      const cancel = host.watchExit(ref, () => undefined);
      host.watchExit(ref, () => undefined);
      const held = await host.hold(ref);
      await held.exited(1);
      held.release();
      cancel();
      await host.close();
    }
  };
  await rounds(2);
  const before = readdirSync('/proc/self/fd').length;
  await rounds(20);
  expect(readdirSync('/proc/self/fd').length).toBeLessThanOrEqual(before + 2);
});

test('waiting for an exit once the host is closed fails then, and at no later time', async (context) => {
  const host = await testHost();
  if (host.signalling.method !== 'pidfd') context.skip('no pidfds here');
  const sleeper = start('sleep', ['60']);
  const held = await host.hold(await recordOf(host, sleeper.pid));
  await host.close();
  const uncaught: unknown[] = [];
  const others = process.listeners('uncaughtException');
  process.removeAllListeners('uncaughtException');
  process.on('uncaughtException', (error) => uncaught.push(error));
  try {
    const before = readdirSync('/proc/self/fd').length;
    await expect(held.exited(10)).rejects.toThrow('closed');
    // Timers of one thread end in the order of their times, so the one of that wait would have ended.
    await new Promise((resolve) => setTimeout(resolve, 40));
    expect(readdirSync('/proc/self/fd')).toHaveLength(before);
  } finally {
    process.removeAllListeners('uncaughtException');
    for (const other of others) process.on('uncaughtException', other);
    held.release();
  }
  expect(uncaught).toEqual([]);
});

let script: URL;
beforeAll(async () => {
  script = await bundle({
    beside: new URL(import.meta.url),
    code: `
      import { readFile } from 'node:fs/promises';
      import { tmpdir } from 'node:os';
      import { createLocalHost } from '../local-host.ts';
      import { inlineLooker } from '../look/looker.ts';
      const host = await createLocalHost({ looker: inlineLooker(() => ({ state: 'other' })), stateDir: tmpdir() });
      const [how, pid] = process.argv.slice(2);
      const info = await host.inspect(Number(pid));
      if (info === null) throw new Error('not there');
      host.watchExit({ identity: info.identity, evidence: info }, () => undefined);
      if (how === 'read') {
        for (let n = 0; n < 5; n += 1) await readFile('/proc/self/stat');
        await host.close();
      } else if (how === 'close') await host.close();
      else if (how === 'exit') process.exit(7);
      else process.exitCode = 1;
    `,
  });
});

test.each([
  ['a pending watch does not keep a process alive after its host is closed', 'close', 0, {}],
  ['a pending watch does not keep a process alive that exits', 'exit', 7, {}],
  ['files are read beside a pending watch, on the only thread of the pool', 'read', 0, { UV_THREADPOOL_SIZE: '1' }],
])('%s', async (_, how, code, more) => {
  const sleeper = start('sleep', ['60']);
  const ended = await run(process.execPath, [fileURLToPath(script), how, String(sleeper.pid)], {
    timeout: 15_000,
    env: { ...process.env, ...more },
  }).then(
    () => 0,
    (error: { code: number | null; killed: boolean }) => (error.killed ? 'hung' : error.code),
  );
  expect(ended).toBe(code);
  await until('the watched one lives on', () => sleeper.child.exitCode === null);
});

test('how a process ended is told, also of one that is no child of ours and of one collected already', async (context) => {
  const host = await testHost();
  if (host.signalling.method !== 'pidfd') context.skip('no pidfds here');
  // Its middle process collects the watched one at once or never, so that both ways of asking are gone through.
  const ends = async (how: string, collect: boolean): Promise<unknown> => {
    const parent = python(`
import os, signal, sys, time
child = os.fork()
if child == 0:
    sys.stdin.readline()
    ${how}
print(child, flush=True)
${collect ? 'os.waitpid(child, 0)' : ''}
time.sleep(60)
`);
    const pid = Number(await parent.line());
    const told = new Promise((resolve) => {
      void recordOf(host, pid).then((ref) => {
        host.watchExit(ref, resolve);
        parent.tell('go');
      });
    });
    return told;
  };
  expect(await ends('os._exit(3)', true)).toEqual({ code: 3, signal: null });
  expect(await ends('os._exit(0)', false)).toEqual({ code: 0, signal: null });
  expect(await ends('os.kill(os.getpid(), 9)', false)).toEqual({ code: null, signal: 'SIGKILL' });
  expect(await ends('os.kill(os.getpid(), 15)', true)).toEqual({ code: null, signal: 'SIGTERM' });
  await host.close();
});

test.each([
  [200, 'through pidfds', true],
  [40, 'by verify-then-kill', false],
])(
  'B19 F10 %d starts and stops leave no descriptor, no child and no zombie, %s',
  async (rounds, _, usePidfds) => {
    const host = await testHost({ usePidfds });
    const folder = temporaryFolder();
    const round = async (): Promise<void> => {
      const spawned = await host.spawn({ argv: ['sleep', '60'], cwd: folder, env: {}, logPath: join(folder, 'log') });
      const held = await host.hold(spawned.ref);
      const cancel = host.watchExit(spawned.ref, () => undefined);
      expect(await held.signal('SIGKILL')).toEqual({ sent: true });
      await spawned.exit;
      expect(await held.exited(60_000)).toBe(true);
      held.release();
      cancel();
    };
    const children = (): string => readFileSync(`/proc/self/task/${process.pid}/children`, 'utf8');
    for (let count = 0; count < 5; count += 1) await round();
    const before = { descriptors: readdirSync('/proc/self/fd').length, children: children() };
    for (let count = 0; count < rounds; count += 1) await round();
    expect(readdirSync('/proc/self/fd').length).toBeLessThanOrEqual(before.descriptors);
    expect(children()).toBe(before.children);
  },
  120_000,
);
