import { closeSync, openSync, readdirSync, readlinkSync, readSync, statSync } from 'node:fs';
import type { Executable } from '../../../identity/identity.ts';
import { codeOf } from '../../../util/errors.ts';
import type { Libc } from '../../../util/libc.ts';

/** Why a file of `/proc` could not be read. */
export type Unread =
  /** The process went away: ENOENT at open, ESRCH at read. Not an error. */
  | { readonly ok: false; readonly reason: 'vanished' }
  | { readonly ok: false; readonly reason: 'denied'; readonly why: string }
  | { readonly ok: false; readonly reason: 'failed'; readonly why: string };

export type Read<T> = { readonly ok: true; readonly value: T } | Unread;

/** Told the PID before each step that may block, and 0 when idle: a watchdog elsewhere can see where we hang. */
export type Beat = (pid: number) => void;

const FIRST_BUFFER = 64 * 1024;
const VIEWS_KEPT = 1024;
/** No argument area is larger: the kernel allows a quarter of the stack limit, 2 MB unless raised. */
const READ_LIMIT = 16 * 1024 * 1024;

function unread(error: unknown, doing: string): Unread {
  return unreadAs(codeOf(error) ?? 'UNKNOWN', doing);
}

function unreadAs(code: string, doing: string): Unread {
  if (code === 'ENOENT' || code === 'ESRCH' || code === 'ENOTDIR') return { ok: false, reason: 'vanished' };
  if (code === 'EACCES' || code === 'EPERM')
    return { ok: false, reason: 'denied', why: `no permission to read ${doing}` };
  return { ok: false, reason: 'failed', why: `${code} while reading ${doing}` };
}

/** A process table as it is read: the kernel's own, or what was fetched of one on another machine. */
export interface ProcSource {
  /** A process of ours that is in the table: its namespaces are those we see. */
  readonly self: number;
  /** Every PID that is listed. Throws when the table itself cannot be read. */
  pids(): number[];
  /** The whole of `PID/name`; good until the next read only. */
  bytes(pid: number, name: string): Read<Buffer>;
  /** As `bytes`, but `denied` for a process of another user, also where we are root. */
  ownBytes(pid: number, name: string, uid: number): Read<Buffer>;
  text(pid: number, name: string): Read<string>;
  /** A file of `/proc` that belongs to no process, `net/tcp` for example. */
  global(name: string): Read<string>;
  link(pid: number, name: string): Read<string>;
  /** The program a process runs; `vanished` also for kernel threads and zombies, which have none. */
  executable(pid: number, within?: string): Read<Executable>;
  /** Inodes of the sockets that a process holds open. */
  socketInodes(pid: number, within?: string): Read<Set<string>>;
  /** Thread ids of a process; empty when it is gone or may not be listed. */
  threads(pid: number): number[];
  /** User that `/proc/PID` belongs to: the effective user, or root for a process that may not be inspected. */
  folderUid(pid: number): Read<number>;
}

/**
 * Synchronous reads below one `/proc`. One buffer serves all of them, so a value from `bytes` is good until the
 * next read only; asynchronous reads cost five to ten times as much per file.
 */
export class ProcReader implements ProcSource {
  readonly root: string;
  readonly self = process.pid;
  readonly #beat: Beat;
  readonly #libc: Pick<Libc, 'readOnce'> | null;
  #views: Buffer[] = [];
  #buffer = Buffer.allocUnsafeSlow(FIRST_BUFFER);

  /** @param libc reads faster than Node where it is at hand */
  constructor(root: string, beat: Beat = () => undefined, libc: Pick<Libc, 'readOnce'> | null = null) {
    this.root = root;
    this.#beat = beat;
    this.#libc = libc;
  }

  pids(): number[] {
    const pids: number[] = [];
    for (const name of readdirSync(this.root)) {
      const first = name.charCodeAt(0);
      if (first >= 0x31 && first <= 0x39) {
        const pid = Number(name);
        if (Number.isInteger(pid)) pids.push(pid);
      }
    }
    return pids;
  }

  bytes(pid: number, name: string): Read<Buffer> {
    this.#beat(pid);
    try {
      const path = `${this.root}/${pid}/${name}`;
      const count = this.#libc?.readOnce(path, this.#buffer);
      if (typeof count === 'string') return unreadAs(count, name);
      // A full buffer may not have held all of it.
      if (count !== undefined && count < this.#buffer.length) return { ok: true, value: this.#view(count) };
      return { ok: true, value: this.#readFile(path, true) };
    } catch (error) {
      return unread(error, name);
    } finally {
      this.#beat(0);
    }
  }

  ownBytes(pid: number, name: string, uid: number): Read<Buffer> {
    // Whoever is not root is refused by the kernel.
    if (uid === 0) {
      const owner = this.folderUid(pid);
      if (!owner.ok) return owner;
      if (owner.value !== uid) return { ok: false, reason: 'denied', why: `${name} is another user's` };
    }
    return this.bytes(pid, name);
  }

  text(pid: number, name: string): Read<string> {
    const read = this.bytes(pid, name);
    return read.ok ? { ok: true, value: read.value.toString('utf8') } : read;
  }

  global(name: string): Read<string> {
    try {
      return { ok: true, value: this.#readFile(`${this.root}/${name}`, false).toString('utf8') };
    } catch (error) {
      return unread(error, name);
    }
  }

  link(pid: number, name: string): Read<string> {
    this.#beat(pid);
    try {
      return { ok: true, value: readlinkSync(`${this.root}/${pid}/${name}`) };
    } catch (error) {
      return unread(error, name);
    } finally {
      this.#beat(0);
    }
  }

  executable(pid: number, within = ''): Read<Executable> {
    const path = this.link(pid, `${within}exe`);
    if (!path.ok) return path;
    this.#beat(pid);
    try {
      const stat = statSync(`${this.root}/${pid}/${within}exe`, { bigint: true });
      return { ok: true, value: { path: path.value, device: String(stat.dev), inode: String(stat.ino) } };
    } catch (error) {
      return unread(error, 'exe');
    } finally {
      this.#beat(0);
    }
  }

  socketInodes(pid: number, within = ''): Read<Set<string>> {
    this.#beat(pid);
    try {
      const inodes = new Set<string>();
      const folder = `${this.root}/${pid}/${within}fd`;
      for (const fd of readdirSync(folder)) {
        const inode = socketInode(`${folder}/${fd}`);
        if (inode !== null) inodes.add(inode);
      }
      return { ok: true, value: inodes };
    } catch (error) {
      return unread(error, 'its open files');
    } finally {
      this.#beat(0);
    }
  }

  threads(pid: number): number[] {
    try {
      return readdirSync(`${this.root}/${pid}/task`).map(Number);
    } catch {
      return []; // only a refinement for a process whose main thread has left: its own folder is read instead
    }
  }

  folderUid(pid: number): Read<number> {
    try {
      return { ok: true, value: statSync(`${this.root}/${pid}`).uid };
    } catch (error) {
      return unread(error, 'its owner');
    }
  }

  /**
   * @param shortIsEnd a short read means the end. So it is for files that the kernel writes in one piece, as those of
   *   a process are, and it saves every second read; tables such as `net/tcp` come in pieces.
   */
  #readFile(path: string, shortIsEnd: boolean): Buffer {
    const fd = openSync(path, 'r');
    try {
      let length = 0;
      for (;;) {
        const count = readSync(fd, this.#buffer, length, this.#buffer.length - length, null);
        const asked = this.#buffer.length - length;
        length += count;
        if (count === 0 || (shortIsEnd && count < asked)) return this.#buffer.subarray(0, length);
        if (length === this.#buffer.length) this.#grow();
      }
    } finally {
      closeSync(fd);
    }
  }

  /** The first bytes of the buffer. Thousands of files are of a few lengths, so the views are made once. */
  #view(length: number): Buffer {
    const known = this.#views[length];
    if (known !== undefined) return known;
    const view = this.#buffer.subarray(0, length);
    if (length < VIEWS_KEPT) this.#views[length] = view;
    return view;
  }

  #grow(): void {
    const size = this.#buffer.length * 4;
    if (size > READ_LIMIT) throw Object.assign(new Error('too large'), { code: 'EFBIG' });
    const larger = Buffer.allocUnsafeSlow(size);
    this.#buffer.copy(larger);
    this.#buffer = larger;
    this.#views = [];
  }
}

function socketInode(path: string): string | null {
  let target: string;
  try {
    target = readlinkSync(path);
  } catch {
    return null; // the descriptor was closed between the listing and now: nothing is open there
  }
  return target.startsWith('socket:[') ? target.slice(8, -1) : null;
}
