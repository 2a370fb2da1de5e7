/** The commands about sessions with real processes: a server that works, a hook, with the app and without it. */
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { bundlePrograms, type Programs } from '../guard/bundles.testing.ts';
import { Scene } from '../guard/scene.testing.ts';
import { startTicks } from '../hosts/local/testing/processes.ts';
import { claudeFile } from '../sessions/foreign/fixtures.testing.ts';
import type { SessionsJson } from './render-sessions.ts';

let folder: string;
let programs: Programs;
let scene: Scene;
/** Each run of the hook appends a line. */
let ran: string;

beforeAll(async () => {
  folder = mkdtempSync(join(fileURLToPath(new URL('../../node_modules', import.meta.url)), '.rollcall-sessions-'));
  programs = await bundlePrograms(folder);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));
afterEach(() => scene.dispose());

function open(): Scene {
  const out = mkdtempSync(join(folder, 'hook-'));
  ran = join(out, 'ran');
  const hook = join(out, 'hook');
  writeFileSync(hook, `#!/bin/sh\necho "$ROLLCALL_SESSION $ROLLCALL_REASON" >> '${ran}'\n`);
  chmodSync(hook, 0o755);
  scene = new Scene(programs, {
    fake: {
      sessions: [
        { id: 'ses_one', title: 'Mend the basket', busy: true },
        { id: 'ses_two', title: 'Count the sheep' },
      ],
    },
    config: { hooks: { sessionEnd: [{ command: [hook] }] }, restart: { when: 'never' } },
  });
  return scene;
}

const hooksRan = (): string[] => (existsSync(ran) ? readFileSync(ran, 'utf8').trim().split('\n') : []);

const quiet = (name: string): unknown => expect.stringMatching(new RegExp(`^ses_${name} (idle|unknown)$`, 'u'));

async function sessions(...options: string[]): Promise<string[]> {
  const { out } = await scene.cli('sessions', '--json', ...options);
  return (JSON.parse(out) as SessionsJson).sessions.map(({ id, state }) => `${id} ${state}`);
}

test('without the app: listed without a trace, refused while busy, interrupted, and ended with its hook', async () => {
  open();
  await scene.server();
  // This very process, as Claude would write it down of itself.
  const claude = join(scene.root, '.claude', 'sessions');
  mkdirSync(claude, { recursive: true });
  const told = { pid: process.pid, procStart: startTicks(process.pid), pidDomain: undefined };
  writeFileSync(join(claude, `${process.pid}.json`), claudeFile({ ...told, name: 'In a file', status: 'idle' }));
  const files = [scene.paths.auditFile, scene.paths.sessionsFile];
  const trace = () =>
    files.map((path) => (existsSync(path) ? [statSync(path).mtimeMs, readFileSync(path, 'utf8')] : []));
  const before = trace();
  const { out, err, code } = await scene.cli('sessions');
  expect([code, err]).toEqual([0, '']);
  expect(out).toMatch(
    /^State .*\nBusy +Mend the basket +opencode :\d+ .*\nIdle +Count the sheep +opencode :\d+ .*\nIdle +In a file +claude, PID \d+ .*\n$/u,
  );
  expect(trace()).toEqual(before);
  rmSync(claude, { recursive: true });

  const refused = await scene.cli('end', 'ses_one', '--yes');
  expect(refused).toMatchObject({ code: 1, out: '' });
  expect(refused.err).toMatch(/“Mend the basket”.*busy/u);
  const aborted = await scene.cli('abort', 'ses_o', '--yes');
  expect(aborted).toEqual({ code: 0, out: expect.stringContaining('“Mend the basket”'), err: '' });
  // A server that is silent while the command listens leaves open what its sessions do.
  expect((await sessions()).sort()).toEqual([quiet('one'), quiet('two')]);

  const unsure = await scene.cli('end', 'ses_two', '--yes');
  expect(unsure).toMatchObject({ code: 1, out: '' });
  expect(await scene.cli('end', 'ses_two', '--yes', '--force')).toMatchObject({ code: 0, err: '' });
  expect(hooksRan()).toEqual(['ses_two ended']);
  expect(await sessions('--all')).toEqual([quiet('one'), 'ses_two ended']);
  // What has ended is known to the next command, too: it is not ended once more.
  expect(await scene.cli('end', 'ses_two', '--yes')).toMatchObject({
    code: 1,
    err: expect.stringContaining('“Count the sheep”'),
  });
  expect((await scene.cli('audit', '--session', 'ses_two')).out).toContain('session-ended');
});

test('with the app: it acts for the command, and the hook has run', async () => {
  open();
  const app = await scene.app();
  const pid = await scene.server();
  let seen: string[] = [];
  for (const until = performance.now() + 60_000; !seen.includes('ses_two idle') && performance.now() < until; )
    seen = await sessions();
  expect(seen).toEqual(['ses_one busy', 'ses_two idle']);
  expect((await scene.cli('end', 'ses_one', '--yes')).code).toBe(1);
  expect(await scene.cli('end', 'ses_one', '--yes', '--force')).toMatchObject({ code: 0, err: '' });
  await scene.until('its hook has run', () => hooksRan().length > 0);
  expect(hooksRan()).toEqual(['ses_one ended']);
  expect(await sessions('--all')).toEqual(['ses_two idle', 'ses_one ended']);
  expect((await scene.cli('hooks')).code).toBe(0);
  expect((await scene.cli('idle', String(pid), '45')).code).toBe(0);
  expect(JSON.parse((await scene.cli('list', '--json')).out).servers[0].supervised.idleMinutes).toBe(45);
  await app.quit();
});
