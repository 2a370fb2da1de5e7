/**
 * One writer per state folder (DESIGN "One writer"): the app, else the guard, else a CLI command while it acts.
 *
 * The lock is one the kernel releases when its holder dies: flock(2) on Linux and macOS, a listening named pipe on
 * Windows (whose first instance is exclusive). The file stays; its content names the holder for messages only and
 * is never trusted.
 *
 * A file system that cannot lock (ENOLCK, EOPNOTSUPP on some network mounts) must not block every act for ever, as
 * "held" would. Then the lock is taken on a file of the local runtime folder instead, named by the state folder:
 * that still keeps to one writer on this machine, and records are per machine anyway. The returned lock carries a
 * warning to say. Where even that cannot be locked, nothing is written: `WriterUnavailable`.
 */

import { createHash } from 'node:crypto';
import {
  closeSync,
  fstatSync,
  ftruncateSync,
  mkdirSync,
  readFileSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { dirname, join, resolve } from 'node:path';
import { whatIsWrongWith } from '../ipc/socket-path.ts';
import { codeOf, codeOrMessage } from '../util/errors.ts';
import { FlockFailed, openLocked } from './flock.ts';

export const HOLDERS = ['app', 'cli', 'guard'] as const;
export type Holder = (typeof HOLDERS)[number];

export interface WriterLock {
  readonly holder: Holder;
  /** The file that is really locked. */
  readonly path: string;
  /** One sentence to show where the lock is weaker than it should be; else null. */
  readonly warning: string | null;
  /** Gives the lock up. A second call does nothing. */
  release(): Promise<void>;
}

/** Another process holds the lock; what is known of it comes from the file and may be out of date or absent. */
export class WriterHeld extends Error {
  override readonly name = 'WriterHeld';
  readonly holder: Holder | null;
  readonly pid: number | null;
  /** ISO 8601. */
  readonly since: string | null;
  constructor(holder: Holder | null, pid: number | null, since: string | null) {
    super(
      `${holderLabel(holder)}${pid === null ? '' : `, PID ${pid},`} is in charge of these servers now. ` +
        'Try again when it has finished.',
    );
    this.holder = holder;
    this.pid = pid;
    this.since = since;
  }
}

/** The lock cannot be taken at all; nothing may be written. `path` is the file, `why` the system's answer. */
export class WriterUnavailable extends Error {
  override readonly name = 'WriterUnavailable';
  readonly path: string;
  readonly why: string;
  constructor(path: string, why: string) {
    super(
      `Nothing was changed: ${path} cannot be locked (${why}), so another Rollcall could act at the same time. ` +
        'Set ROLLCALL_STATE_DIR to a folder on a local disk that you may write, then try again.',
    );
    this.path = path;
    this.why = why;
  }
}

export function holderLabel(holder: Holder | null): string {
  if (holder === 'app') return 'The Rollcall app';
  if (holder === 'guard') return "Rollcall's guard";
  if (holder === 'cli') return 'Another rollcall command';
  return 'Another Rollcall process';
}

export interface WriterRequest {
  readonly holder: Holder;
  /** Program version, written beside the PID for messages. */
  readonly version: string;
  /** Folder on a local disk for file systems that cannot lock; our own, 0700. */
  readonly fallbackFolder?: string;
  /** Where the holder can be reached; commands in another environment (cron, sudo) would look elsewhere. */
  readonly socketPath?: string;
}

/**
 * Takes the writer's lock of a state folder, without waiting. Creates the folder (0700) where it is missing.
 *
 * @param lockPath the lock file in the state folder
 * @param open how a file is opened and locked; for tests
 * @throws WriterHeld when another process, or another holder in this one, has it
 * @throws WriterUnavailable when it cannot be taken for any other reason
 */
export async function acquireWriter(
  lockPath: string,
  request: WriterRequest,
  open: typeof openLocked = openLocked,
): Promise<WriterLock> {
  if (process.platform === 'win32') return acquirePipe(lockPath, request);
  try {
    return await acquireFile(lockPath, request, null, open);
  } catch (error) {
    if (error instanceof WriterHeld) throw error;
    // Where nothing can be written, servers can still be watched and what cannot be kept is said.
    const lockless = error instanceof FlockFailed || (error instanceof Error && codeOf(error) === 'EROFS');
    if (!lockless || request.fallbackFolder === undefined) throw new WriterUnavailable(lockPath, codeOrMessage(error));
    return acquireFallback(lockPath, request, request.fallbackFolder, error, open);
  }
}

async function acquireFallback(
  lockPath: string,
  request: WriterRequest,
  folder: string,
  cause: Error,
  open: typeof openLocked,
): Promise<WriterLock> {
  const path = join(folder, `writer-${digest(lockPath)}.lock`);
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    // In a folder that others may enter, they could take the lock's place away.
    const wrong = whatIsWrongWith(folder);
    if (wrong !== null) throw new Error(wrong);
    return await acquireFile(
      path,
      request,
      `${dirname(lockPath)} cannot be locked (${cause.message}). ` +
        'Do not run Rollcall on two machines that share this folder at the same time.',
      open,
    );
  } catch (error) {
    if (error instanceof WriterHeld) throw error;
    throw new WriterUnavailable(lockPath, `${cause.message}; ${path}: ${codeOrMessage(error)}`);
  }
}

async function acquireFile(
  path: string,
  request: WriterRequest,
  warning: string | null,
  open: typeof openLocked,
): Promise<WriterLock> {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  // A file that was removed or replaced between opening and locking would let two hold "the" lock: take it again.
  for (let attempt = 0; attempt < 5; attempt += 1) {
    const opened = await open(path, closeSync);
    if (opened === 'held') {
      const { holder, pid, since } = readHolder(path);
      throw new WriterHeld(holder, pid, since);
    }
    if (isStillAt(path, opened.fd)) {
      sayHolder(opened.fd, request);
      return lockOf(path, request.holder, warning, async () => closeSync(opened.fd));
    }
    closeSync(opened.fd);
  }
  throw new Error('the file is being replaced over and over');
}

function isStillAt(path: string, fd: number): boolean {
  const here = fstatSync(fd, { bigint: true });
  const there = statSync(path, { bigint: true, throwIfNoEntry: false });
  return there !== undefined && there.ino === here.ino && there.dev === here.dev;
}

/** Content is for messages only, so a full disk must not cost the lock. */
function sayHolder(fd: number, request: WriterRequest): void {
  try {
    ftruncateSync(fd, 0);
    writeSync(fd, holderText(request), 0, 'utf8');
  } catch {
    // The lock holds without it; others then say "Another Rollcall process".
  }
}

function holderText(request: WriterRequest): string {
  const since = new Date().toISOString();
  const { holder, version, socketPath } = request;
  return `${JSON.stringify({ holder, pid: process.pid, since, version, socketPath })}\n`;
}

function lockOf(path: string, holder: Holder, warning: string | null, free: () => Promise<void>): WriterLock {
  let released: Promise<void> | null = null;
  return {
    holder,
    path,
    warning,
    release() {
      released ??= free();
      return released;
    },
  };
}

/** Windows: the kernel destroys a process's pipes with it, and libuv asks for the first instance only. */
async function acquirePipe(lockPath: string, request: WriterRequest): Promise<WriterLock> {
  const pipe = `\\\\.\\pipe\\rollcall-writer-${digest(lockPath)}`;
  const server = createServer((socket) => socket.destroy());
  try {
    await new Promise<void>((done, fail) => {
      server.once('error', fail);
      server.listen(pipe, done);
    });
  } catch (error) {
    if (codeOf(error) === 'EADDRINUSE' || codeOf(error) === 'EACCES') {
      const { holder, pid, since } = readHolder(lockPath);
      throw new WriterHeld(holder, pid, since);
    }
    throw new WriterUnavailable(pipe, codeOrMessage(error));
  }
  server.unref();
  try {
    mkdirSync(dirname(lockPath), { recursive: true });
    writeFileSync(lockPath, holderText(request));
  } catch {
    // For messages only, as above.
  }
  return lockOf(pipe, request.holder, null, () => new Promise((done) => server.close(() => done())));
}

/**
 * The socket at which the lock's holder said it listens; null when it says none. The client checks the place before it
 * connects, so a stale or forged word leads nowhere.
 */
export function socketOfHolder(lockPath: string): string | null {
  try {
    const said: unknown = JSON.parse(readFileSync(lockPath, 'utf8').slice(0, 1000));
    const path = typeof said === 'object' && said !== null && 'socketPath' in said ? said.socketPath : null;
    return typeof path === 'string' && path !== '' ? path : null;
  } catch {
    // Absent, torn or unreadable: then there is only the usual place.
    return null;
  }
}

/** What the file says of its holder; every part null where it says nothing credible. Never throws. */
function readHolder(path: string): { holder: Holder | null; pid: number | null; since: string | null } {
  try {
    const said: unknown = JSON.parse(readFileSync(path, 'utf8').slice(0, 1000));
    if (typeof said === 'object' && said !== null) {
      const { holder, pid, since } = said as Record<string, unknown>;
      return {
        holder: HOLDERS.find((known) => known === holder) ?? null,
        pid: typeof pid === 'number' && Number.isInteger(pid) && pid > 1 ? pid : null,
        since: typeof since === 'string' && !Number.isNaN(Date.parse(since)) ? since : null,
      };
    }
  } catch {
    // Torn, empty or unreadable: it is for messages only.
  }
  return { holder: null, pid: null, since: null };
}

function digest(path: string): string {
  return createHash('sha256').update(resolve(path)).digest('hex').slice(0, 32);
}
