/**
 * Not one signal to a process that is not the recorded one: proved by a trace of the system calls and by witnesses on
 * really reused PIDs, with pidfds and, by a kernel that answers ENOSYS, without them.
 */
import { once } from 'node:events';
import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { readAudit } from '../audit/audit.ts';
import { bundle } from '../hosts/local/testing/bundle.ts';
import { recordOf, testHost } from '../hosts/local/testing/hosts.ts';
import { endOrphanAfterTest, isAlive, python, start, until } from '../hosts/local/testing/processes.ts';
import { straceProblem } from '../hosts/local/testing/strace.ts';
import { occupy, witnessAt } from '../hosts/local/testing/strangers.ts';
import type { ProcessIdentity, ProcessRef } from '../identity/identity.ts';
import { idOf } from '../identity/ids.ts';
import type { CommandResult } from '../roll/commands.ts';
import type { Server } from '../roll/schema.ts';
import { kindOf } from '../servers/kinds/kinds.ts';
import { openTraced, type TracedWorld } from './testing/traced-world.ts';

const problem = straceProblem();
let actor: URL;
beforeAll(async () => {
  if (problem === null) actor = await bundle({ entry: new URL('./testing/actor.ts', import.meta.url) });
});
beforeEach((context) => {
  if (problem !== null) context.skip(problem);
});

/** A server of this process, which ignores SIGTERM; it is collected as soon as it has ended. */
async function stubbornServer(world: TracedWorld): Promise<{ readonly pid: number; end(): Promise<void> }> {
  const server = start(world.program, ['serve', '--port', '0'], {
    cwd: world.folder,
    env: { ...process.env, FAKE: JSON.stringify({ swallow: -1 }) },
  });
  await world.until('it answers', (roll) =>
    roll.servers.some(({ pid, health }) => pid === server.pid && health === 'ok'),
  );
  return {
    pid: server.pid,
    end: async () => {
      const exited = once(server.child, 'exit');
      server.child.kill('SIGKILL');
      await exited;
    },
  };
}

async function reapByForce(world: TracedWorld, pid: number): Promise<CommandResult> {
  const targets = [(await world.server(pid))?.id ?? ''];
  return world.run({ command: 'reap', targets, confirmed: true, force: true });
}

/** Number of a thread that is no process of its own. */
async function threadId(): Promise<number> {
  const holder = python(`
import threading, time
thread = threading.Thread(target=lambda: time.sleep(60), daemon=True); thread.start()
print(thread.native_id, flush=True); time.sleep(60)
`);
  return Number(await holder.line());
}

/** Ends a process that this test is in charge of, and waits until its number is free. */
async function end(pid: number): Promise<void> {
  process.kill(pid, 'SIGKILL');
  await until(`PID ${pid} is gone`, () => !isAlive(pid));
}

/** Every act that could reach a row, on a row that must not be reached. */
async function everyAct(world: TracedWorld, id: string): Promise<void> {
  for (const command of ['stop', 'restart'] as const) {
    expect(await world.run({ command, server: id, force: true })).toMatchObject({ ok: false });
  }
  for (const targets of [[id], 'leaked' as const]) {
    const { results } = await world.run({ command: 'reap', targets, confirmed: true, force: targets !== 'leaked' });
    expect(results.flatMap(({ signals }) => signals)).toEqual([]);
  }
}

/** How long the server has after a SIGTERM, as its kind says. */
const TERM_WAIT_MS = Math.max(
  ...(kindOf('opencode', [])?.ending ?? []).map((step) => (step.step === 'signal' ? step.waitMs : 0)),
);

describe.each([
  ['through pidfds', []],
  ['on a kernel without pidfds', ['pidfd_open:error=ENOSYS']],
])('%s', (_, tamper) => {
  test('C1 a recorded PID that came round to a stranger gets no signal from stop, restart, reap, reap all, clear, start and quit', async (context) => {
    const before = await openTraced(actor, { tamper });
    expect((await before.roll()).hosts[0]?.signalling).toMatchObject(
      tamper.length === 0
        ? { method: 'pidfd' }
        : { method: 'verify-then-kill', note: expect.stringContaining('ENOSYS') },
    );
    const { id, pid } = await before.start();
    await before.close(false);
    await end(pid);
    const witness = await witnessAt(pid);
    if (typeof witness === 'string') return context.skip(witness);
    const world = await before.reopen();
    const [entry] = (await world.roll()).records;
    expect(entry).toMatchObject({ pid, verdict: 'reused', clearable: true });
    await everyAct(world, id);
    await world.run({ command: 'clear', path: entry?.path ?? '', sha256: entry?.sha256 ?? '' });
    expect(world.records()).toEqual([]);
    const next = await world.start();
    await world.close(true);
    expect(isAlive(next.pid)).toBe(false);
    expect(before.trace.signals()).toEqual([]);
    expect(world.trace.signals()).toEqual([`SIGTERM ${next.pid}`]);
    expect(await witness.felt()).toEqual([]);
  });

  test('C1 the same while Rollcall runs, ends what is left of its server and starts it again', async (context) => {
    const world = await openTraced(actor, { tamper });
    const { id, pid } = await world.start();
    await end(pid);
    const witness = await witnessAt(pid);
    if (typeof witness === 'string') return context.skip(witness);
    const again = (server: Server): boolean => server.supervised !== null && server.id !== id && server.health === 'ok';
    const roll = await world.until('it was started again', ({ servers }) => servers.some(again));
    const next = roll.servers.find(again)?.pid ?? 0;
    await everyAct(world, id);
    await world.close(true);
    expect(world.trace.signals()).toEqual([`SIGTERM ${next}`]);
    expect(await witness.felt()).toEqual([]);
  });

  test('C1 a recorded PID that came round to a server of the same kind with the same arguments is not the recorded one', async (context) => {
    const before = await openTraced(actor, { tamper });
    const { id, pid } = await before.start();
    const [recorded] = (await before.roll()).servers;
    await before.close(false);
    await end(pid);
    const made = await occupy(pid, recorded?.command ?? [], before.folder);
    if (made !== null) return context.skip(made);
    const world = await before.reopen();
    await world.until('the other one is listed', (roll) =>
      roll.servers.some((server) => server.pid === pid && server.id !== id && server.listening.length > 0),
    );
    const other = await world.server(pid);
    expect(other).toMatchObject({ supervised: null, command: recorded?.command, executable: recorded?.executable });
    expect((await world.roll()).records).toMatchObject([{ pid, verdict: 'reused' }]);
    await everyAct(world, id);
    await world.close(true);
    expect([...before.trace.signals(), ...world.trace.signals()]).toEqual([]);
    expect(isAlive(pid)).toBe(true);
  });

  test('C1 a server that dies between SIGTERM and SIGKILL and whose PID comes round takes the SIGKILL with it', async (context) => {
    const world = await openTraced(actor, { tamper });
    const server = await stubbornServer(world);
    const reaping = reapByForce(world, server.pid);
    await until('SIGTERM was sent', () => world.trace.signals().length > 0);
    // Frozen beyond its wait, so that it finds its time up and the number in other hands at once.
    process.kill(world.actor, 'SIGSTOP');
    await server.end();
    const witness = await witnessAt(server.pid);
    const over = performance.now() + TERM_WAIT_MS;
    await until('its wait after SIGTERM is over', () => performance.now() > over);
    process.kill(world.actor, 'SIGCONT');
    if (typeof witness === 'string') return context.skip(witness);
    expect(await reaping).toMatchObject({
      results: [{ outcome: 'gone', signals: expect.arrayContaining([`SIGTERM ${server.pid}`]) }],
    });
    await world.close(true);
    expect(world.trace.signals()).toEqual([`SIGTERM ${server.pid}`]);
    expect(await witness.felt()).toEqual([]);
  });

  test('C17 C18 C27 records that name what may not be a target, or is not what they say, move nothing but themselves', async () => {
    const before = await openTraced(actor, { tamper });
    const first = await before.start();
    const template = JSON.parse(before.records()[0] ?? '') as Record<string, unknown>;
    await before.close(false);
    await end(first.pid);
    const world = await before.reopen();
    const victims = await victimsOf(world, tamper.length === 0);
    for (const [index, { ref }] of victims.entries()) {
      const nonce = `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`;
      const forged = { ...template, nonce, server: ref, spawned: ref, state: 'bound' };
      writeFileSync(join(world.paths.recordsDir, `${nonce}.json`), JSON.stringify(forged), { mode: 0o600 });
    }
    const roll = await world.until('all are judged', ({ records }) => records.length === victims.length + 1);
    const verdicts = victims.map(({ what }) => {
      const entry = roll.records.find(({ path }) => path.includes(nonceAt(victims, what)));
      return [what, entry?.verdict];
    });
    expect(verdicts).toEqual(victims.map(({ what, verdict }) => [what, verdict]));
    for (const { ref } of victims) await everyAct(world, idOf(ref.identity));
    for (const { path, sha256 } of roll.records) await world.run({ command: 'clear', path, sha256 });
    const next = await world.start();
    expect(victims.filter(({ alive }) => alive !== null && !existsSync(`/proc/${alive}`))).toEqual([]);
    await world.close(true);
    expect(world.trace.signals()).toEqual([`SIGTERM ${next.pid}`]);
  });
});

interface Victim {
  readonly what: string;
  readonly ref: ProcessRef;
  readonly verdict: string;
  /** Who must live on; null for a number that is nobody's. */
  readonly alive: number | null;
}

const nonceAt = (victims: readonly Victim[], what: string): string =>
  `-${String(victims.findIndex((victim) => victim.what === what)).padStart(12, '0')}`;

/** What a record could name by mistake or by malice, each as exactly as it can be named. */
async function victimsOf(world: TracedWorld, pidfds: boolean): Promise<Victim[]> {
  const host = await testHost({ stateDir: world.paths.stateDir, usePidfds: pidfds });
  const bystander = start('sleep', ['600']);
  const real = await recordOf(host, bystander.pid);
  const tid = await threadId();
  const but = (change: Partial<ProcessIdentity>): ProcessRef => ({
    ...real,
    identity: { ...real.identity, ...change },
  });
  const ticks = BigInt(real.identity.startTime.slice('linux:'.length));
  const parent = Number(/^PPid:\s+(\d+)/mu.exec(readFileSync(`/proc/${world.actor}/status`, 'utf8'))?.[1]);
  const named = async (what: string, pid: number, verdict: string): Promise<Victim> => ({
    what,
    ref: await recordOf(host, pid),
    verdict,
    alive: pid,
  });
  const other = process.getuid?.() === 0 ? start('sleep', ['600'], { uid: 65_534, gid: 65_534 }).pid : null;
  const victim = (what: string, ref: ProcessRef, verdict: string): Victim => ({
    what,
    ref,
    verdict,
    alive: bystander.pid,
  });
  return [
    await named('init', 1, 'unknown'),
    await named('the supervisor itself', world.actor, 'unknown'),
    await named('its parent', parent, 'unknown'),
    await named('this test', process.pid, 'unknown'),
    ...(other === null ? [] : [await named('another user’s process', other, 'unknown')]),
    victim('a thread', but({ pid: tid }), 'thread'),
    victim('a process that started one tick later', but({ startTime: `linux:${ticks - 1n}`, pidfdId: '1' }), 'reused'),
    victim('an earlier boot', but({ bootId: '00000000-0000-4000-8000-000000000000' }), 'gone'),
    victim('another machine', but({ hostId: 'f'.repeat(32) }), 'foreign'),
    victim('another PID namespace', but({ pidNamespace: '4026530000' }), 'foreign'),
    victim(
      'the same tick with other evidence',
      pidfds ? but({ pidfdId: '1' }) : { ...real, evidence: { ...real.evidence, argvHash: '0'.repeat(64) } },
      pidfds ? 'reused' : 'unknown',
    ),
    victim('a number out of range', but({ pid: 4_194_305 }), 'unknown'),
    victim('a number that wraps to its own', but({ pid: 2 ** 32 + bystander.pid }), 'unknown'),
    victim('a number that is none', but({ pid: 0 }), 'corrupt'),
    victim('a whole group', but({ pid: -bystander.pid }), 'corrupt'),
    victim('everybody', but({ pid: -1 }), 'corrupt'),
    victim('a fraction', but({ pid: bystander.pid + 0.5 }), 'corrupt'),
  ];
}

test('C1 a PID that comes round between the last check and the signal itself is safe, too: the handle is the dead one’s', async (context) => {
  if (process.getuid?.() !== 0) return context.skip('only root may choose a PID');
  // The first call of this kind asks whether it works at all; every later one is held back long enough to be caught.
  const world = await openTraced(actor, { tamper: ['pidfd_send_signal:delay_enter=4000000:when=2+'] });
  if ((await world.roll()).hosts[0]?.signalling.method !== 'pidfd') return context.skip('no pidfds here');
  const server = await stubbornServer(world);
  const reaping = reapByForce(world, server.pid);
  await until('its intent is written', () =>
    readAudit(world.paths.auditFile).some(({ event, pid }) => event === 'signal-intent' && pid === server.pid),
  );
  await until('the signal is on its way', () =>
    readFileSync(`/proc/${world.actor}/syscall`, 'utf8').startsWith('424 '),
  );
  // While strace stands still, so does the call that it holds back.
  const tracer = Number(/^TracerPid:\s+(\d+)$/mu.exec(readFileSync(`/proc/${world.actor}/status`, 'utf8'))?.[1]);
  process.kill(tracer, 'SIGSTOP');
  const witness = await server
    .end()
    .then(() => witnessAt(server.pid))
    .finally(() => process.kill(tracer, 'SIGCONT'));
  if (typeof witness === 'string') return context.skip(witness);
  expect(await reaping).toMatchObject({ results: [{ outcome: 'gone' }] });
  await world.close(true);
  // It was really sent while the witness had the number, and reached nobody.
  expect(world.trace.sent().filter(({ by, pid }) => by !== pid)).toMatchObject([
    { call: 'pidfd_send_signal', pid: server.pid, signal: 'SIGTERM', result: 'ESRCH' },
  ]);
  expect(await witness.felt()).toEqual([]);
});

test('C5 A18 a server in the supervisor’s own process group is signalled by its own number, never by the group’s', async () => {
  // One shell, one group: the server, a bystander, strace and the supervisor.
  const script =
    'cd "$1"; "$2" serve --port 0 >/dev/null 2>&1 & sleep 600 >/dev/null 2>&1 & echo $! >bystander; shift 2; exec "$@"';
  const world = await openTraced(actor, {
    under: (program, folder) => ['bash', '-c', script, 'sh', folder, program],
  });
  const roll = await world.until('it is listed', ({ servers }) =>
    servers.some(({ directory }) => directory === world.folder),
  );
  const pid = roll.servers.find(({ directory }) => directory === world.folder)?.pid ?? 0;
  const bystander = Number(readFileSync(join(world.folder, 'bystander'), 'utf8'));
  endOrphanAfterTest(bystander);
  const groupOf = (of: number): string =>
    readFileSync(`/proc/${of}/stat`, 'latin1').split(') ')[1]?.split(' ')[2] ?? '';
  expect([groupOf(pid), groupOf(bystander)]).toEqual([groupOf(world.actor), groupOf(world.actor)]);
  const result = await reapByForce(world, pid);
  expect(result.results).toMatchObject([{ outcome: 'gone' }]);
  expect([world.actor, bystander].map(isAlive)).toEqual([true, true]);
  await world.close(true);
  expect(world.trace.signals()).toEqual([`SIGTERM ${pid}`]);
});

test('another user’s server gets no signal, by name, by force and as root', async (context) => {
  if (process.getuid?.() !== 0) return context.skip('only root can start a process as another user');
  const world = await openTraced(actor);
  for (const path of [join(world.folder, '..'), world.folder]) chmodSync(path, 0o755);
  const other = start(world.program, ['serve', '--port', '0'], { cwd: world.folder, uid: 65_534, gid: 65_534 });
  await world.until('it is listed', ({ servers }) => servers.some(({ pid, ownUid }) => pid === other.pid && !ownUid));
  const row = await world.server(other.pid);
  expect(row?.reap).toMatchObject({ allowed: 'no' });
  await everyAct(world, row?.id ?? '');
  await world.close(true);
  expect(world.trace.signals()).toEqual([]);
  expect(isAlive(other.pid)).toBe(true);
});
