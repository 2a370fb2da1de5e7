import { type ChildProcess, spawn } from 'node:child_process';
import { mkdir, readdir, readFile, readlink } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Endpoint } from './kind.ts';
import { opencodeFolders } from './opencode-home.testing.ts';
import { endpointAt, until } from './session-feed/hostile.testing.ts';

const BIN = fileURLToPath(new URL('../../node_modules/.bin/opencode', import.meta.url));

export interface RealOpencode {
  readonly child: ChildProcess;
  readonly pid: number;
  readonly endpoint: Endpoint;
}

/**
 * Starts the real server with `root` as its home and `root/project` as its folder, and waits for the address that it
 * prints. The first server of a home makes its database, so the next one is to wait for it.
 */
export async function startOpencode(root: string, env: Readonly<Record<string, string>>): Promise<RealOpencode> {
  await mkdir(join(root, 'project'), { recursive: true });
  const own: Record<string, string> = {
    PATH: '/usr/bin:/bin',
    HOME: root,
    TMPDIR: root,
    ...opencodeFolders(root),
  };
  // By this mark a whole test run finds what it has left behind.
  const run = process.env['ROLLCALL_TEST_RUN'];
  if (run !== undefined) own['ROLLCALL_TEST_RUN'] = run;
  const child = spawn(BIN, ['serve', '--hostname', '127.0.0.1', '--port', '0'], {
    cwd: join(root, 'project'),
    env: { ...own, ...env },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
  const port = (): string | undefined => /listening on http:\/\/127\.0\.0\.1:(\d+)/u.exec(output)?.[1];
  try {
    await until('opencode listens', () => port() !== undefined || child.exitCode !== null, 120_000);
    const { pid } = child;
    if (port() === undefined || pid === undefined) throw new Error('opencode exited before it listened');
    await expectListener(pid, Number(port()));
    return { child, pid, endpoint: endpointAt('127.0.0.1', Number(port())) };
  } catch (error) {
    await endChild(child);
    throw error;
  }
}

/** Nothing is asked at a port before it has been shown to be this very child's. */
async function expectListener(pid: number, port: number): Promise<void> {
  const hex = port.toString(16).toUpperCase().padStart(4, '0');
  const lines = (await readFile(`/proc/${pid}/net/tcp`, 'utf8')).split('\n').map((line) => line.trim().split(/\s+/u));
  const inode = lines.find((fields) => fields[1] === `0100007F:${hex}` && fields[3] === '0A')?.[9];
  const held = await Promise.all(
    (await readdir(`/proc/${pid}/fd`)).map((fd) => readlink(`/proc/${pid}/fd/${fd}`).catch(() => 'closed meanwhile')),
  );
  if (!held.includes(`socket:[${inode}]`)) throw new Error(`port ${port} is not held by PID ${pid}`);
}

/** Kills a child of ours and waits until it is gone. */
export async function endChild(child: ChildProcess): Promise<void> {
  const gone = new Promise((resolve) => child.once('exit', resolve));
  if (child.exitCode === null && child.signalCode === null && child.kill('SIGKILL')) await gone;
}
