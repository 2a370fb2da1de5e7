import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  closeSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build } from 'esbuild';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { NODE_SIDE } from '../hosts/local/testing/node-side.ts';
import { FlockFailed, openLocked } from './flock.ts';
import { acquireWriter, WriterHeld, WriterUnavailable } from './writer-lock.ts';

let folder = '';
let holderScript = '';
const started: ChildProcess[] = [];
const CLI = { holder: 'cli', version: '0' } as const;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'rollcall-lock-'));
  holderScript = join(folder, 'holder.mjs');
  // koffi stays outside the bundle, so it must be found from where the bundle is: name it in full.
  await build({
    stdin: {
      contents: `
        import { spawn } from 'node:child_process';
        import { acquireWriter } from './app/writer/writer-lock.ts';
        const [lock, grandchild] = process.argv.slice(2);
        await acquireWriter(lock, { holder: 'app', version: '1.2.3' });
        let child = null;
        if (grandchild) {
          child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { detached: true, stdio: 'ignore' });
          child.unref();
        }
        console.log(JSON.stringify({ grandchild: child?.pid ?? null }));
        setInterval(() => {}, 1000);`,
      resolveDir: process.cwd(),
      loader: 'ts',
    },
    outfile: holderScript,
    ...NODE_SIDE,
    alias: { koffi: import.meta.resolve('koffi') },
    external: ['file:*'],
  });
});

afterAll(() => {
  for (const child of started) child.kill('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
});

async function startHolder(lock: string, withGrandchild = false): Promise<{ child: ChildProcess; grandchild: number }> {
  const child = spawn(process.execPath, [holderScript, lock, withGrandchild ? 'yes' : ''], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  started.push(child);
  const [line] = (await once(child.stdout as NodeJS.ReadableStream, 'data')) as [Buffer];
  const said = JSON.parse(line.toString()) as { grandchild: number | null };
  // Never 0: as a target of kill that is our own process group.
  if (withGrandchild && said.grandchild === null) throw new Error('the holder started no grandchild');
  return { child, grandchild: said.grandchild ?? Number.NaN };
}

test('a second acquirer learns who holds the lock, and gets it when the holder is SIGKILLed', async () => {
  const lock = join(folder, 'killed', 'writer.lock');
  const { child } = await startHolder(lock);
  const held = await acquireWriter(lock, CLI).catch((error: unknown) => error);
  expect(held).toBeInstanceOf(WriterHeld);
  expect(held).toMatchObject({ holder: 'app', pid: child.pid });
  expect((held as WriterHeld).message).toContain(`The Rollcall app, PID ${child.pid},`);
  child.kill('SIGKILL');
  await once(child, 'exit');
  const mine = await acquireWriter(lock, CLI);
  expect(JSON.parse(readFileSync(lock, 'utf8'))).toMatchObject({ holder: 'cli', pid: process.pid });
  await mine.release();
});

test('two holders in one process exclude each other, and release lets the next one in', async () => {
  const lock = join(folder, 'twice.lock');
  const first = await acquireWriter(lock, CLI);
  await expect(acquireWriter(lock, CLI)).rejects.toBeInstanceOf(WriterHeld);
  await first.release();
  await first.release();
  const second = await acquireWriter(lock, CLI);
  await second.release();
});

test('what the file says is never trusted: a file that names a live process locks nobody out', async () => {
  const lock = join(folder, 'claims.lock');
  for (const text of [
    JSON.stringify({ holder: 'app', pid: process.ppid, since: new Date() }),
    '{"holder":',
    '\0\0',
    '',
  ]) {
    writeFileSync(lock, text);
    await (await acquireWriter(lock, CLI)).release();
  }
});

test('a torn holder text still says that somebody holds it', async () => {
  const lock = join(folder, 'torn.lock');
  const mine = await acquireWriter(lock, CLI);
  writeFileSync(lock, '{"holder":"nobody","pid":-4}');
  await expect(acquireWriter(lock, CLI)).rejects.toMatchObject({ name: 'WriterHeld', holder: null, pid: null });
  await mine.release();
});

test('a detached grandchild inherits no descriptor of the lock, which dies with its holder', async () => {
  const lock = join(folder, 'inherited.lock');
  const { child, grandchild } = await startHolder(lock, true);
  try {
    const fds = readdirSync(`/proc/${grandchild}/fd`).map((fd) => {
      try {
        return readlinkSync(`/proc/${grandchild}/fd/${fd}`);
      } catch {
        return ''; // closed between listing and reading
      }
    });
    expect(fds.length).toBeGreaterThan(2);
    expect(fds).not.toContain(lock);
    child.kill('SIGKILL');
    await once(child, 'exit');
    expect(existsSync(`/proc/${grandchild}`)).toBe(true);
    await (await acquireWriter(lock, CLI)).release();
  } finally {
    process.kill(grandchild, 'SIGKILL');
  }
});

test('without koffi the flock program takes the very same lock', async () => {
  const lock = join(folder, 'program.lock');
  const byProgram = await openLocked(lock, closeSync, ['program']);
  expect(byProgram).not.toBe('held');
  expect(await openLocked(lock, closeSync, ['library'])).toBe('held');
  expect(await openLocked(lock, closeSync, ['program'])).toBe('held');
  if (byProgram !== 'held') closeSync(byProgram.fd);
  const byLibrary = await openLocked(lock, closeSync, ['library']);
  expect(await openLocked(lock, closeSync, ['program'])).toBe('held');
  if (byLibrary !== 'held') closeSync(byLibrary.fd);
});

test('a lock file that is removed and made anew under a holder does not let two write', async () => {
  const lock = join(folder, 'removed.lock');
  const first = await acquireWriter(lock, CLI);
  rmSync(lock);
  // The newcomer gets a lock on the new file: nothing can know of the old one. But it must be the file at the path.
  const second = await acquireWriter(lock, CLI);
  await expect(acquireWriter(lock, CLI)).rejects.toBeInstanceOf(WriterHeld);
  await first.release();
  await expect(acquireWriter(lock, CLI)).rejects.toBeInstanceOf(WriterHeld);
  await second.release();
});

test('D23 a lock that cannot be taken for another reason is never called held', async () => {
  const lock = join(folder, 'a-folder');
  await acquireWriter(join(lock, 'x.lock'), CLI).then((l) => l.release());
  // The lock's path is a folder: opening it for writing fails, and no holder may be invented for it.
  const failed = await acquireWriter(lock, { ...CLI, fallbackFolder: folder }).catch((error: unknown) => error);
  expect(failed).toBeInstanceOf(WriterUnavailable);
  expect((failed as WriterUnavailable).why).toBe('EISDIR');
});

test('D23 where the file system cannot lock, the local runtime folder stands in and says so', async () => {
  const lock = join(folder, 'network', 'writer.lock');
  const runtime = join(folder, 'runtime');
  // As a network mount without a lock daemon answers; every other file is really locked.
  const open: typeof openLocked = (path, closeFd) => {
    if (path === lock) throw new FlockFailed('ENOLCK', 'flock answered ENOLCK');
    return openLocked(path, closeFd);
  };
  const request = { ...CLI, fallbackFolder: runtime };
  const mine = await acquireWriter(lock, request, open);
  expect(mine.path.startsWith(runtime)).toBe(true);
  expect(mine.warning).toContain('ENOLCK');
  await expect(acquireWriter(lock, request, open)).rejects.toBeInstanceOf(WriterHeld);
  await mine.release();
  await expect(acquireWriter(lock, CLI, open)).rejects.toMatchObject({ name: 'WriterUnavailable' });
  chmodSync(runtime, 0o777);
  await expect(acquireWriter(lock, request, open)).rejects.toThrow('others may enter it (mode 777)');
  await expect(openLocked(join(folder, 'none.lock'), closeSync, [])).rejects.toMatchObject({ code: 'ENOSYS' });
});
