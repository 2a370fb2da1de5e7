// A private desktop for machines without one: an X server on a free display and a session bus, both children of ours.
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';

const READY_MS = 10_000;
const END_MS = 5000;

/** A part of the private desktop did not come up. */
export class DesktopFailed extends Error {
  name = 'DesktopFailed';
  constructor(program, why) {
    super(`${program} did not start: ${why}`);
    this.program = program;
  }
}

/** Whether this process already has a display to show windows on. */
export const hasDisplay = (env = process.env) => Boolean(env.DISPLAY || env.WAYLAND_DISPLAY);

/** Ends a child of ours: SIGTERM, and SIGKILL when it has not ended in time. Resolves when it has. */
export async function endChild(child, ms = END_MS) {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  const timer = setTimeout(() => child.kill('SIGKILL'), ms);
  child.kill('SIGTERM');
  await exited;
  clearTimeout(timer);
}

/** util-linux's setpriv makes the kernel end a child when we are killed without a chance to do it ourselves. */
const SETPRIV = '/usr/bin/setpriv';

/**
 * A command that gets a SIGTERM from the kernel when this process ends, where that can be had.
 *
 * @param {readonly string[]} words
 */
export const endingWithUs = (words) => (existsSync(SETPRIV) ? [SETPRIV, '--pdeathsig', 'TERM', '--', ...words] : words);

/**
 * Starts a program that announces itself with one line on descriptor 3. It gets a session of its own: Ctrl-C in the
 * terminal must not take the display away before the app has quit.
 */
function startAnnounced(program, args, env) {
  const words = endingWithUs([program, ...args]);
  const child = spawn(words[0], words.slice(1), { env, detached: true, stdio: ['ignore', 'ignore', 'pipe', 'pipe'] });
  const [, , stderr, announcement] = /** @type {import('node:stream').Readable[]} */ (child.stdio);
  let errors = '';
  stderr.setEncoding('utf8').on('data', (chunk) => {
    errors = (errors + chunk).slice(-4000);
  });
  return new Promise((resolve, reject) => {
    const fail = (why) => {
      clearTimeout(timer);
      reject(new DesktopFailed(program, why));
    };
    const timer = setTimeout(() => {
      child.kill('SIGKILL');
      fail(`it announced nothing within ${READY_MS / 1000} s`);
    }, READY_MS);
    child.once('error', (/** @type {NodeJS.ErrnoException} */ error) =>
      fail(error.code === 'ENOENT' ? 'it is not installed' : error.message),
    );
    child.once('exit', (code, signal) => fail(`it ended (${signal ?? `code ${code}`}) ${errors.trim()}`));
    let line = '';
    announcement.setEncoding('utf8').on('data', (chunk) => {
      line += chunk;
      if (!line.includes('\n')) return;
      clearTimeout(timer);
      child.removeAllListeners('exit');
      resolve({ child, announced: line.trim() });
    });
  });
}

/** An Xauthority file that lets only its reader use the display; the format is that of libXau's Xau.h. */
function authorityFile() {
  const field = (bytes) => Buffer.concat([Buffer.from([bytes.length >> 8, bytes.length & 255]), bytes]);
  const familyWild = Buffer.from([0xff, 0xff]);
  const anyDisplay = field(Buffer.alloc(0));
  return Buffer.concat([
    familyWild,
    field(Buffer.alloc(0)),
    anyDisplay,
    field(Buffer.from('MIT-MAGIC-COOKIE-1')),
    field(randomBytes(16)),
  ]);
}

/**
 * Starts Xvfb on a free display, or on that of the given number, which only this user's programs with the returned environment can open.
 *
 * @returns {Promise<{env: {DISPLAY: string, XAUTHORITY: string}, end: () => Promise<void>}>}
 * @throws {DesktopFailed}
 */
export async function startDisplay(env = process.env, number) {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'rollcall-x-'));
  const authority = path.join(folder, 'authority');
  try {
    await writeFile(authority, authorityFile(), { mode: 0o600 });
    const { child, announced } = await startAnnounced(
      'Xvfb',
      [
        ...(number === undefined ? [] : [`:${number}`]),
        '-displayfd',
        '3',
        '-screen',
        '0',
        '1440x900x24',
        '-nolisten',
        'tcp',
        '-noreset',
        '-auth',
        authority,
      ],
      env,
    );
    return {
      env: { DISPLAY: `:${announced}`, XAUTHORITY: authority },
      end: async () => {
        await endChild(child);
        await rm(folder, { recursive: true, force: true });
      },
    };
  } catch (error) {
    await rm(folder, { recursive: true, force: true });
    throw error;
  }
}

/**
 * Starts a private session bus.
 *
 * @returns {Promise<{env: {DBUS_SESSION_BUS_ADDRESS: string}, end: () => Promise<void>}>}
 * @throws {DesktopFailed}
 */
export async function startBus(env = process.env) {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'rollcall-bus-'));
  try {
    const { child, announced } = await startAnnounced(
      'dbus-daemon',
      ['--session', '--nofork', '--nopidfile', `--address=unix:path=${path.join(folder, 'bus')}`, '--print-address=3'],
      env,
    );
    return {
      env: { DBUS_SESSION_BUS_ADDRESS: announced },
      end: async () => {
        await endChild(child);
        await rm(folder, { recursive: true, force: true });
      },
    };
  } catch (error) {
    await rm(folder, { recursive: true, force: true });
    throw error;
  }
}

/** Calls each of these one after the other; one that fails is told and does not keep the rest from their turn. */
export async function endInOrder(ends) {
  for (const end of ends) {
    try {
      await end();
    } catch (error) {
      console.error(error);
    }
  }
}
