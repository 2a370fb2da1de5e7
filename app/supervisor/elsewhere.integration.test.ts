/**
 * One record, looked at from another place: another name of this machine, another machine, boot, PID namespace, clock.
 * The places are real: namespaces of the kernel, and its own files with other contents mounted over them.
 */
import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { hostname } from 'node:os';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { bundle } from '../hosts/local/testing/bundle.ts';
import { endOrphanAfterTest, isAlive } from '../hosts/local/testing/processes.ts';
import { straceProblem } from '../hosts/local/testing/strace.ts';
import { openTraced, type TracedWorld } from './testing/traced-world.ts';

const problem =
  straceProblem() ??
  (spawnSync('unshare', ['--mount', '--uts', '--pid', '--fork', 'true']).status === 0
    ? null
    : 'this machine allows no namespaces');
let actor: URL;
beforeAll(async () => {
  if (problem === null) actor = await bundle({ entry: new URL('./testing/actor.ts', import.meta.url) });
});
beforeEach((context) => {
  if (problem !== null) context.skip(problem);
});

/** Namespaces, and a script that changes them before everything else. */
const within = (flags: readonly string[], script: string) => (): readonly string[] => [
  'unshare',
  ...flags,
  'bash',
  '-c',
  `set -e; ${script}; exec "$@"`,
  'sh',
];
/** A file of the kernel's, or the system's, with other contents. */
const over = (path: string, text: string): string => `f=$(mktemp); ${text} >"$f"; mount --bind "$f" ${path}; rm "$f"`;

interface Started {
  readonly world: TracedWorld;
  readonly id: string;
  readonly pid: number;
}

/** A server with its record, whose supervisor has quit and left it running. */
async function leftRunning(): Promise<Started> {
  const world = await openTraced(actor);
  const server = await world.start();
  endOrphanAfterTest(server.pid);
  await world.close(false);
  return { world, ...server };
}

/** It is the recorded one: adopted, and ended by a stop. */
async function expectOurs({ world, id, pid }: Started, under: () => readonly string[]): Promise<void> {
  const there = await world.reopen({ under });
  expect(await there.server(pid)).toMatchObject({ id, standing: 'supervised' });
  expect((await there.roll()).records).toEqual([]);
  expect(await there.run({ command: 'stop', server: id, force: true })).toMatchObject({ ok: true });
  await there.close(true);
  expect(there.trace.signals()).toEqual([`SIGTERM ${pid}`]);
  expect(isAlive(pid)).toBe(false);
}

describe('is the same from', () => {
  test('C4 this machine under another name', async () => {
    const name = `not-${hostname()}`.slice(0, 60);
    await expectOurs(await leftRunning(), within(['--uts'], `hostname ${name}; test "$(hostname)" = ${name}`));
  });

  test.each([1, 300, -7200])('C2 a clock whose boot time moved by %d s', async (seconds) => {
    const moved = over('/proc/stat', `awk -v by=${seconds} '$1 == "btime" { $2 += by } { print }' /proc/stat`);
    await expectOurs(await leftRunning(), within(['--mount'], moved));
  });
});

/** It is not touched, whatever is asked, its record stays or is only moved, and back here all is as before. */
async function expectUntouched(
  started: Started,
  under: () => readonly string[],
  record: { readonly verdict: string; readonly clearable: boolean; readonly detail: RegExp },
): Promise<void> {
  const { world, id, pid } = started;
  const there = await world.reopen({ under });
  const { records } = await there.roll();
  expect(records).toMatchObject([
    { pid, verdict: record.verdict, clearable: record.clearable, detail: expect.stringMatching(record.detail) },
  ]);
  for (const command of ['stop', 'restart'] as const) {
    expect(await there.run({ command, server: id, force: true })).toMatchObject({ ok: false });
  }
  const { results } = await there.run({ command: 'reap', targets: [id], confirmed: true, force: true });
  expect(results).toMatchObject([{ outcome: 'refused', signals: [] }]);
  const [entry] = records;
  const cleared = await there.run({ command: 'clear', path: entry?.path ?? '', sha256: entry?.sha256 ?? '' });
  expect(cleared.ok).toBe(record.clearable);
  const next = await there.start();
  await there.close(true);
  expect(there.trace.signals()).toEqual([expect.stringMatching(/^SIGTERM /u)]);
  expect(next.id).not.toBe(id);
  expect(isAlive(pid)).toBe(true);
}

describe('is left alone from', () => {
  test('another machine of the same name, and is still ours at home', async () => {
    const started = await leftRunning();
    const elsewhere = within(['--mount'], over('/etc/machine-id', 'echo 0123456789abcdef0123456789abcdef'));
    await expectUntouched(started, elsewhere, { verdict: 'foreign', clearable: false, detail: /another host/u });
    await expectOurs(started, () => []);
  });

  test('another PID namespace, and is still ours at home', async () => {
    const started = await leftRunning();
    const elsewhere = within(['--pid', '--fork', '--mount-proc', '--kill-child'], 'true');
    await expectUntouched(started, elsewhere, {
      verdict: 'foreign',
      clearable: false,
      detail: /another PID namespace/u,
    });
    await expectOurs(started, () => []);
  });

  test('C3 C17 a later boot: its record is stale, a start goes on and says so', async () => {
    const started = await leftRunning();
    const later = over('/proc/sys/kernel/random/boot_id', 'cat /proc/sys/kernel/random/uuid');
    const under = within(['--mount'], later);
    await expectUntouched(started, under, { verdict: 'gone', clearable: true, detail: /has booted since/u });
    expect(readdirSync(started.world.paths.setAsideDir)).toHaveLength(1);
  });

  test('C2 another time namespace, where every start time is another: not taken for a stranger either', async (context) => {
    const flags = ['--time', '--boottime', '100000', '--fork', '--kill-child'];
    if (spawnSync('unshare', [...flags, 'true']).status !== 0)
      return context.skip('this machine has no time namespaces');
    const started = await leftRunning();
    const there = await started.world.reopen({ under: within(flags, 'true') });
    if ((await there.roll()).hosts[0]?.signalling.method !== 'pidfd') return context.skip('no pidfds here');
    const { records } = await there.roll();
    expect(records).toMatchObject([{ pid: started.pid, verdict: 'unknown', clearable: false }]);
    await there.close(true);
    expect(there.trace.signals()).toEqual([]);
    await expectOurs(started, () => []);
  });
});
