import { expect, onTestFinished, test } from 'vitest';
import { parsePs, portableLooker, psRows } from './portable-look.ts';
import { NOTHING_ASKED, recogniseTestServer, SERVER_ARGUMENT, testHost } from './testing/hosts.ts';
import { python } from './testing/processes.ts';

const TEXT = `    1     0     1     0 S<Ls Mon Nov 30 06:59:38 2026
 4711     1  4711   501 Ss   Tue Dec  1 00:00:01 2026
garbage
 4712  4711  4711   501 Z+   Wed Dec  2 10:00:01 2026
`;

test('parsePs reads the columns and passes over the rest', () => {
  expect(parsePs(TEXT)).toEqual([
    { pid: 1, ppid: 0, pgrp: 1, uid: 0, state: 'S', started: 'Mon Nov 30 06:59:38 2026' },
    { pid: 4711, ppid: 1, pgrp: 4711, uid: 501, state: 'S', started: 'Tue Dec 1 00:00:01 2026' },
    { pid: 4712, ppid: 4711, pgrp: 4711, uid: 501, state: 'Z', started: 'Wed Dec 2 10:00:01 2026' },
  ]);
});

test('C12 locale and time zone of ours do not change the start that is recorded', async () => {
  const sleeper = python('import time; print("ok", flush=True); time.sleep(60)');
  await sleeper.line();
  const startIn = async (zone: string, locale: string): Promise<string | undefined> => {
    const before = { TZ: process.env['TZ'], LC_ALL: process.env['LC_ALL'] };
    Object.assign(process.env, { TZ: zone, LC_ALL: locale });
    onTestFinished(() => {
      for (const [name, value] of Object.entries(before)) {
        if (value === undefined) delete process.env[name];
        else process.env[name] = value;
      }
    });
    return (await psRows()).find(({ pid }) => pid === sleeper.pid)?.started;
  };
  const one = await startIn('America/Los_Angeles', 'de_DE.UTF-8');
  expect(one).toBeDefined();
  expect(await startIn('Asia/Tokyo', 'C')).toBe(one);
  expect(Math.abs(Date.parse(`${one} UTC`) - Date.now())).toBeLessThan(60_000);
});

test('a look without procfs finds servers and says what it cannot know', async () => {
  const server = python('import time; print("ok", flush=True); time.sleep(60)', [SERVER_ARGUMENT]);
  await server.line();
  const host = await testHost({ looker: portableLooker(recogniseTestServer) });
  const seen = await host.look(NOTHING_ASKED);
  expect(seen.candidates.map(({ pid }) => pid)).toContain(server.pid);
  expect(seen.processes.get(server.pid)).toMatchObject({ ppid: process.pid, uid: process.getuid?.() ?? -1 });
  expect(seen.processes.get(server.pid)?.rssBytes).toBeGreaterThan(1_000_000);
  expect(seen.socketsReadable).toBe(false);
  expect(seen.gaps.map(({ pid }) => pid)).toContain(server.pid);
  expect((await host.inspect(server.pid))?.identity.startTime).toMatch(/^darwin:\w{3} \w{3} \d+ /u);
});

test('F11 a lister that cannot run is a failed look, never an empty one', async () => {
  const before = process.env['PATH'];
  process.env['PATH'] = '/nowhere';
  onTestFinished(() => {
    process.env['PATH'] = before;
  });
  await expect(psRows()).rejects.toMatchObject({ name: 'LookFailed' });
});
