import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { expect, test } from 'vitest';
import { DesktopFailed, endChild, endInOrder, startBus, startDisplay } from './desktop.mjs';

const alive = (pid: number) => existsSync(`/proc/${pid}`);

/** Whether somebody listens at a Unix socket. */
async function answers(socket: string): Promise<boolean> {
  const connection = connect(socket);
  try {
    await once(connection, 'connect');
    return true;
  } catch {
    // Refused or absent: nobody listens.
    return false;
  } finally {
    connection.destroy();
  }
}

test('a display and a bus come up side by side and are gone after their end, with their files', async () => {
  const displays = await Promise.all([startDisplay(), startDisplay()]);
  const bus = await startBus();
  const [first, second] = displays;
  expect(first?.env.DISPLAY).toMatch(/^:\d+$/);
  expect(second?.env.DISPLAY).not.toBe(first?.env.DISPLAY);
  const sockets = displays.map(({ env }) => `/tmp/.X11-unix/X${env.DISPLAY.slice(1)}`);
  const busSocket = /unix:path=([^,]+)/.exec(bus.env.DBUS_SESSION_BUS_ADDRESS)?.[1] ?? '';
  for (const socket of [...sockets, busSocket]) expect(await answers(socket)).toBe(true);
  await endInOrder([...displays.map(({ end }) => end), bus.end]);
  for (const socket of [...sockets, busSocket]) expect(await answers(socket)).toBe(false);
  for (const { env } of displays) expect(existsSync(path.dirname(env.XAUTHORITY))).toBe(false);
  expect(existsSync(path.dirname(busSocket))).toBe(false);
});

test('the display ends with the process that started it, even when that is killed', async () => {
  const script = `import { startDisplay } from ${JSON.stringify(path.join(import.meta.dirname, 'desktop.mjs'))};
    const display = await startDisplay(); console.log(display.env.DISPLAY); setInterval(() => {}, 1000);`;
  const temporary = mkdtempSync(path.join(os.tmpdir(), 'desktop-'));
  const parent = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, TMPDIR: temporary },
  });
  const [line] = (await once(parent.stdout, 'data')) as [Buffer];
  const socket = `/tmp/.X11-unix/X${line.toString().trim().slice(1)}`;
  expect(await answers(socket)).toBe(true);
  parent.kill('SIGKILL');
  await once(parent, 'exit');
  await expect.poll(() => answers(socket), { timeout: 60_000 }).toBe(false);
  rmSync(temporary, { recursive: true });
});

test('what does not start is told by name', async () => {
  await expect(startBus({ PATH: '/nowhere' })).rejects.toBeInstanceOf(DesktopFailed);
});

test('a child that ignores SIGTERM is killed after its time, and the rest of the end goes on', async () => {
  const child = spawn('sh', ['-c', 'trap "" TERM; echo up; while :; do sleep 0.1; done'], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  await once(child.stdout, 'data');
  let reached = false;
  await endInOrder([
    () => Promise.reject(new Error('expected here: this end fails')),
    () => endChild(child, 300),
    async () => {
      reached = true;
    },
  ]);
  expect([child.signalCode, reached, alive(child.pid ?? 0)]).toEqual(['SIGKILL', true, false]);
});
