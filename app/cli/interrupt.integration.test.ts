/** Ctrl-C in the middle of a start by a command alone, with a real server. */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { installFake } from '../supervisor/testing/fake-opencode.ts';
import { livingIn, Started, waitUntil } from '../supervisor/testing/processes.ts';
import { bundleCommand, CommandHome, running } from './command.testing.ts';

let program: string;
let folder: string;
let started: Started;

beforeAll(async () => {
  program = await bundleCommand();
});
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'rollcall-interrupt-'));
  started = new Started();
});
afterEach(async () => {
  for (const pid of livingIn(folder)) started.note(pid);
  await started.endAll();
  rmSync(folder, { recursive: true, force: true });
});

test.each(['SIGINT', 'SIGHUP'] as const)(
  '%s in the middle of start --for leaves no server behind',
  async (signal) => {
    const project = join(folder, 'project');
    const path = installFake(project);
    const start = { opencode: { path, env: { FAKE: JSON.stringify({ silent: true }) } } };
    const { env, paths } = new CommandHome(join(folder, 'home'), { start });
    const owner = started.spawn('sleep', ['300']);
    const words = ['start', 'opencode', '--dir', project, '--for', String(owner.pid)];
    const { child, ended } = running([process.execPath, program, ...words], env);
    started.note(child.pid ?? 0);
    await waitUntil('it was spawned', () => auditText(paths.auditFile).includes('"started"'), 60_000);
    expect(livingIn(project)).toHaveLength(1);
    child.kill(signal);
    const { code } = await ended;
    expect(code).toBe(1);
    expect(livingIn(project)).toEqual([]);
    expect(readdirSync(paths.recordsDir)).toEqual([]);
  },
  120_000,
);

function auditText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return ''; // nothing was written yet
  }
}
