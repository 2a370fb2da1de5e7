/** Reaping against real processes: what must go goes, and nothing else is touched. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { readAudit } from '../audit/audit.ts';
import type { CommandResult } from '../roll/commands.ts';
import { type Fake, installFake, launchUnder } from './testing/fake-opencode.ts';
import { isAlive, Started } from './testing/processes.ts';
import { openWorld, type World } from './testing/world.ts';

let folder: string;
let program: string;
let started: Started;
let world: World;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'rollcall-fake-'));
  program = installFake(folder);
  started = new Started();
  world = await openWorld();
});
afterEach(async () => {
  await world.dispose();
  await started.endAll();
  rmSync(folder, { recursive: true, force: true });
});

/** A server whose launcher has been killed. */
async function orphan(fake: Fake = {}): Promise<number> {
  const launcher = launchUnder(program, folder, fake);
  started.note(launcher.pid ?? 0);
  const pid = await started.pidFrom(launcher);
  await world.until('the server is seen while its owner lives', () => world.server(pid)?.standing === 'owned');
  await started.kill(launcher.pid ?? 0);
  return pid;
}

/**
 * Reaps what is leaked, after making sure that this is only what the test has started: on a developer's machine there
 * may be real leaked servers.
 */
async function reapLeaked(by: 'tray' | 'window' | 'cli'): Promise<CommandResult> {
  const plan = await world.core.plan('leaked');
  const strangers = plan.rows.filter(({ steps }) => !steps.some(({ pid }) => started.has(pid)));
  if (strangers.length > 0) throw new Error(`not ours: ${strangers.map(({ label }) => label).join(', ')}`);
  return world.core.run({ command: 'reap', targets: 'leaked', confirmed: false, force: false }, by);
}

/** Every process of a server, noted so that a failing test leaves nothing behind. */
function treeOf(pid: number): number[] {
  // The helper's own pauses come and go.
  const lasting = (world.server(pid)?.processes ?? []).filter(({ command }) => command !== 'sleep 0.2');
  const pids = lasting.map((process) => process.pid);
  for (const each of pids) started.note(each);
  return pids;
}

describe('a leaked server', () => {
  test('A2 is listed as leaked once its owner is killed, is reaped by one command with its tree, and a second reap is a no-op', async () => {
    const pid = await orphan({ helper: true });
    await world.until('it is leaked', () => world.server(pid)?.standing === 'leaked');
    const server = world.server(pid);
    expect(server?.reasons[0]).toMatch(/\bnode, PID \d+/u);
    const tree = treeOf(pid);
    expect(tree.length).toBeGreaterThanOrEqual(2);

    const result = await reapLeaked('tray');
    expect(result.results).toMatchObject([{ pid, outcome: 'gone' }]);
    expect(tree.filter(isAlive)).toEqual([]);

    const again = await world.core.run(
      { command: 'reap', targets: [server?.id ?? ''], confirmed: true, force: false },
      'tray',
    );
    expect(again.ok).toBe(true);
    expect(again.results).toMatchObject([{ outcome: 'gone', signals: [] }]);
  });

  test('A7 its children in sessions of their own end with it; unrelated node processes live on', async () => {
    const stranger = started.spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)']);
    const pid = await orphan({ tool: true, helper: true });
    await world.until('its children are seen', () => (world.server(pid)?.processes.length ?? 0) >= 5);
    const tree = treeOf(pid);
    const id = world.server(pid)?.id ?? '';
    // A running tool is a sign of work, so this one takes a force.
    const refused = await world.core.run({ command: 'reap', targets: [id], confirmed: true, force: false }, 'cli');
    expect(refused.results).toMatchObject([{ outcome: 'refused', signals: [] }]);
    expect(tree.filter(isAlive)).toEqual(tree);
    const result = await world.core.run({ command: 'reap', targets: [id], confirmed: true, force: true }, 'cli');
    expect(result.results).toMatchObject([{ outcome: 'gone' }]);
    expect(tree.filter(isAlive)).toEqual([]);
    expect(isAlive(stranger.pid)).toBe(true);
  });

  test('A9 one that ignores SIGTERM is ended by SIGKILL, and says so', async () => {
    const pid = await orphan({ swallow: -1 });
    await world.until('it is leaked', () => world.server(pid)?.standing === 'leaked');
    const result = await reapLeaked('window');
    expect(result.results[0]?.signals).toEqual([
      `dispose ${pid}`,
      `SIGTERM ${pid}`,
      `SIGTERM ${pid}`,
      `SIGKILL ${pid}`,
    ]);
    expect(isAlive(pid)).toBe(false);
  });

  test('every signal has its intent before and its outcome after it in the audit', async () => {
    const pid = await orphan();
    await world.until('it is leaked', () => world.server(pid)?.standing === 'leaked');
    await reapLeaked('window');
    const lines = readAudit(world.paths.auditFile)
      .filter((line) => line.pid === pid)
      .map(({ event }) => event);
    expect(lines).toEqual(['leaked', 'dispose-intent', 'dispose-outcome', 'signal-intent', 'signal-outcome', 'reaped']);
  });

  test('two reaps of one server at once send one set of signals', async () => {
    const pid = await orphan();
    await world.until('it is leaked', () => world.server(pid)?.standing === 'leaked');
    treeOf(pid);
    const [first, second] = await Promise.all([reapLeaked('window'), reapLeaked('window')]);
    expect(first.ok && second.ok).toBe(true);
    const signals = readAudit(world.paths.auditFile).filter(({ event }) => event === 'signal-intent');
    expect(signals).toHaveLength(1);
  });
});
