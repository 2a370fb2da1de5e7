/** A remote `/proc` as far as it was fetched: read by the same code that reads the local one. */

import type { Executable } from '../../../identity/identity.ts';
import type { ProcSource, Read, Unread } from '../../local/procfs/read.ts';
import { parseStat } from '../../local/procfs/stat.ts';
import { isFinished } from '../../process-info.ts';
import type { ScriptAnswer } from './shell.ts';

const NEWLINE = 0x0a;
const COLON = 0x3a;
const VANISHED: Unread = { ok: false, reason: 'vanished' };

function denied(what: string): Unread {
  return { ok: false, reason: 'denied', why: `no permission to read ${what}` };
}

/**
 * The files in the output of `grep -H ''`. Each line carries its file's name, so no content can pass for another
 * file's. A last line that had no newline gets one.
 */
export function splitFiles(output: Buffer): Map<string, Buffer> {
  const files = new Map<string, Buffer>();
  let current: string | null = null;
  let parts: Buffer[] = [];
  const finish = (): void => {
    const [first] = parts;
    if (current !== null && first !== undefined) files.set(current, parts.length === 1 ? first : Buffer.concat(parts));
    parts = [];
  };
  for (let at = 0; at < output.length; ) {
    const colon = output.indexOf(COLON, at);
    if (colon < 0) break;
    const end = output.indexOf(NEWLINE, colon);
    const next = end < 0 ? output.length : end + 1;
    const name = output.toString('latin1', at, colon);
    if (name !== current) finish();
    current = name;
    parts.push(output.subarray(colon + 1, next));
    at = next;
  }
  finish();
  return files;
}

/** `ls -b` writes what it cannot print as C does: `\303`, `\n`, `\ `. */
export function unescaped(text: string): string {
  if (!text.includes('\\')) return text;
  const letters: Readonly<Record<string, number>> = { a: 7, b: 8, e: 27, f: 12, n: 10, r: 13, t: 9, v: 11 };
  const bytes: number[] = [];
  for (const [part] of text.matchAll(/\\[0-7]{3}|\\.|[^\\]+/gsu)) {
    if (!part.startsWith('\\')) bytes.push(...Buffer.from(part));
    else if (part.length === 4) bytes.push(Number.parseInt(part.slice(1), 8));
    else bytes.push(letters[part.slice(1)] ?? part.charCodeAt(1));
  }
  return Buffer.from(bytes).toString('utf8');
}

export interface ListedLink {
  readonly uid: number;
  /** Null for a folder, or a link that could not be read. */
  readonly target: string | null;
}

const LINK =
  /^[a-z-]\S*\s+\d+\s+(\d+)\s+\d+\s+\d+\s+[A-Z][a-z]{2}\s+\d+\s+[\d:]+\s+((?:\d+|self)(?:\/[a-z\d/]+)?)(?: -> (.*))?$/su;
/** A listing of links always has this one; without it the rows are not of a form that can be read. */
const ALWAYS_LISTED = 'self/ns/net';

/** The rows of `ls -lnd`. Of a name that two rows claim, nothing is believed. */
export function parseLinks(output: string, escaped: boolean): Map<string, ListedLink> {
  const links = new Map<string, ListedLink>();
  const twice = new Set<string>();
  for (const row of output.split('\n')) {
    const [, uid, name, target] = LINK.exec(row) ?? [];
    if (uid === undefined || name === undefined) continue;
    if (links.has(name)) twice.add(name);
    links.set(name, {
      uid: Number(uid),
      target: target === undefined ? null : escaped ? unescaped(target) : target,
    });
  }
  for (const name of twice) links.delete(name);
  return links;
}

/**
 * Sockets by folder, from `ls -ln` of several folders. A folder is left out where one of its rows does not say where it
 * leads to: that may be a socket.
 *
 * @param closed folders that may not be opened
 */
export function parseOpen(output: string, closed: ReadonlySet<string>): Map<string, Set<string>> {
  const open = new Map<string, Set<string>>();
  let at = '';
  for (const row of output.split('\n')) {
    const folder = /^((?:\d+|self)\/(?:task\/\d+\/)?fd):$/u.exec(row)?.[1];
    if (folder !== undefined) {
      at = folder;
      if (!closed.has(folder)) open.set(folder, new Set());
      continue;
    }
    const inode = / -> socket:\[(\d+)\]$/u.exec(row)?.[1];
    if (inode !== undefined) open.get(at)?.add(inode);
    else if (row.startsWith('l') && !row.includes(' -> ')) open.delete(at);
  }
  return open;
}

/** PID and name of `4711/exe`; null for a file of no process. */
function pidOf(path: string): number | null {
  const pid = Number.parseInt(path, 10);
  return Number.isInteger(pid) && path.startsWith(`${pid}/`) ? pid : null;
}

export class Snapshot implements ProcSource {
  self = 0;
  /** This connection's own line of processes, as of the last answer. */
  selfAndAncestors: readonly number[] = [];
  readonly #escaped: boolean;
  readonly #ownUid: number;
  #listed: number[] = [];
  #files = new Map<string, Buffer>();
  #links = new Map<string, ListedLink>();
  #paths = new Map<string, string>();
  #executables = new Map<string, { readonly device: string; readonly inode: string }>();
  #open = new Map<string, Set<string>>();
  #marks = new Map<string, Buffer[]>();
  #details = new Set<number>();
  #sockets = new Set<number>();
  #programs = new Set<number>();
  /** Environments that could be read. */
  #environments = new Set<string>();
  #tasks = new Map<number, number[]>();

  /** @param escaped links were listed by `ls -b` */
  constructor(escaped: boolean, ownUid: number) {
    this.#escaped = escaped;
    this.#ownUid = ownUid;
  }

  /** Forgets everything; what comes next is a fresh listing. */
  clear(): void {
    this.#listed = [];
    for (const map of [
      this.#files,
      this.#links,
      this.#paths,
      this.#executables,
      this.#open,
      this.#marks,
      this.#tasks,
    ]) {
      map.clear();
    }
    this.#details.clear();
    this.#sockets.clear();
    this.#programs.clear();
    this.#environments.clear();
  }

  /**
   * Takes in one answer of `look.sh`.
   *
   * @param asked the processes that it was asked to read in detail
   * @param programs those of which it was asked for the program alone
   * @throws Error where its links are not of a form that can be read
   */
  add(answer: ScriptAnswer, asked: Iterable<number>, programs: Iterable<number> = []): void {
    const [self, ...line] = (answer.text('line') ?? '').split(/ +/u).map(Number);
    this.self = self ?? 0;
    this.selfAndAncestors = line;
    for (const pid of asked) this.#forget(pid);
    const files = splitFiles(answer.bytes('files') ?? Buffer.alloc(0));
    for (const [path, bytes] of files) this.#addFile(path, bytes);
    for (const [path, bytes] of splitFiles(answer.bytes('tables') ?? Buffer.alloc(0))) this.#files.set(path, bytes);
    this.#addMarks(answer.bytes('marks') ?? Buffer.alloc(0));
    for (const row of (answer.text('environments') ?? '').split('\n')) {
      const path = /^([\d/a-z]+\/environ):\d+$/u.exec(row)?.[1];
      if (path !== undefined) this.#environments.add(path);
    }
    const links = parseLinks(answer.bytes('links')?.toString('utf8') ?? '', this.#escaped);
    if (!links.has(ALWAYS_LISTED)) throw new Error('its ls prints rows of a form that cannot be read');
    for (const [path, link] of links) this.#links.set(path, link);
    for (const pid of programs) this.#programs.add(pid);
    for (const { name, rest, bytes } of answer.sections) {
      if (name === 'path' && bytes.length > 0) this.#paths.set(rest, bytes.toString('utf8').replace(/\n$/u, ''));
    }
    for (const row of (answer.text('executables') ?? '').split('\n')) {
      const [path, device, inode] = row.split(' ');
      if (path !== undefined && device !== undefined && inode !== undefined) {
        this.#executables.set(path, { device, inode });
      }
    }
    const closed = new Set((answer.text('closed') ?? '').split('\n'));
    for (const [path, inodes] of parseOpen(answer.bytes('open')?.toString('latin1') ?? '', closed)) {
      this.#open.set(path, inodes);
      const pid = pidOf(path);
      if (pid !== null) this.#sockets.add(pid);
    }
    this.#settle(answer, asked);
  }

  /** What was asked for and has the same start time at the end is believed; anything else is not there. */
  #settle(answer: ScriptAnswer, asked: Iterable<number>): void {
    const after = new Map(
      (answer.text('after') ?? '').split('\n').map((row) => row.split(' ') as [string, string | undefined]),
    );
    for (const pid of asked) {
      const stat = parseStat(this.#files.get(`${pid}/stat`) ?? Buffer.alloc(0));
      if (stat === null || after.get(String(pid)) !== stat.startTicks) this.#forget(pid);
      this.#details.add(pid);
      this.#sockets.add(pid);
    }
  }

  #addFile(path: string, bytes: Buffer): void {
    const pid = pidOf(path);
    // The newline at the end is grep's.
    const whole = path.endsWith('/cmdline') ? bytes.subarray(0, -1) : bytes;
    this.#files.set(path, whole);
    if (pid === null) return;
    if (path === `${pid}/stat`) this.#listed.push(pid);
    const tid = /^\d+\/task\/(\d+)\//u.exec(path)?.[1];
    if (tid !== undefined) this.#tasks.set(pid, [pid, Number(tid)]);
  }

  /** Records end in NUL, and each carries its file's name. */
  #addMarks(output: Buffer): void {
    for (let at = 0; at < output.length; ) {
      const end = output.indexOf(0, at);
      if (end < 0) break;
      const colon = output.indexOf(COLON, at);
      if (colon > 0 && colon < end) {
        const path = output.toString('latin1', at, colon);
        const marks = this.#marks.get(path);
        const mark = output.subarray(colon + 1, end + 1);
        if (marks === undefined) this.#marks.set(path, [mark]);
        else marks.push(mark);
      }
      at = end + 1;
    }
  }

  #forget(pid: number): void {
    const prefix = `${pid}/`;
    for (const name of ['stat', 'cmdline', 'status', 'cgroup', 'smaps_rollup']) this.#files.delete(prefix + name);
    for (const name of ['exe', 'cwd', 'ns/pid', 'ns/net']) {
      this.#links.delete(prefix + name);
      this.#paths.delete(prefix + name);
    }
    this.#links.delete(String(pid));
    this.#executables.delete(`${prefix}exe`);
    this.#open.delete(`${prefix}fd`);
    this.#marks.delete(`${prefix}environ`);
    this.#environments.delete(`${prefix}environ`);
    this.#listed = this.#listed.filter((each) => each !== pid);
  }

  hasDetails(pid: number): boolean {
    return this.#details.has(pid);
  }

  hasProgram(pid: number): boolean {
    return this.#programs.has(pid) || this.#details.has(pid);
  }

  hasSockets(pid: number): boolean {
    return this.#sockets.has(pid);
  }

  hasTable(network: string): boolean {
    return this.#files.has(`${network}net/tcp`);
  }

  /** Processes whose main thread has left while others live: their files are found with one of those. */
  headless(): number[] {
    return this.#listed.filter((pid) => {
      const bytes = this.#files.get(`${pid}/stat`);
      const stat = bytes === undefined ? null : parseStat(bytes);
      return stat?.state === 'Z' && !isFinished(stat);
    });
  }

  /** Ticks at which a process started; null when it is not listed. */
  startOf(pid: number): string | null {
    const bytes = this.#files.get(`${pid}/stat`);
    return bytes === undefined ? null : (parseStat(bytes)?.startTicks ?? null);
  }

  /** The same of one that has not exited. */
  runningSince(pid: number): string | null {
    const bytes = this.#files.get(`${pid}/stat`);
    const stat = bytes === undefined ? null : parseStat(bytes);
    return stat === null || isFinished(stat) ? null : stat.startTicks;
  }

  /** A file of a process that was fetched earlier and is still good. */
  keep(path: string, bytes: Buffer): void {
    if (!this.#files.has(path)) this.#files.set(path, bytes);
  }

  raw(path: string): Buffer | null {
    return this.#files.get(path) ?? null;
  }

  pids(): number[] {
    return this.#listed;
  }

  bytes(pid: number, name: string): Read<Buffer> {
    const bytes = this.#files.get(`${pid}/${name}`);
    if (bytes !== undefined) return { ok: true, value: bytes };
    // An empty file has no line that could have been fetched.
    if (name.endsWith('cmdline') && this.#files.has(`${pid}/stat`)) return { ok: true, value: Buffer.alloc(0) };
    return VANISHED;
  }

  /**
   * Of an environment, nothing but the allowed names was fetched, and of our own processes only. One of which no name
   * came is known to have none only where it was counted as well.
   */
  ownBytes(pid: number, name: string): Read<Buffer> {
    if (!name.endsWith('environ')) return this.bytes(pid, name);
    const path = `${pid}/${name}`;
    const marks = this.#marks.get(path);
    if (marks === undefined && !this.#environments.has(path)) return denied(name);
    return { ok: true, value: Buffer.concat(marks ?? []) };
  }

  text(pid: number, name: string): Read<string> {
    const read = this.bytes(pid, name);
    return read.ok ? { ok: true, value: read.value.toString('utf8') } : read;
  }

  global(name: string): Read<string> {
    const bytes = this.#files.get(name);
    return bytes === undefined ? VANISHED : { ok: true, value: bytes.toString('utf8') };
  }

  link(pid: number, name: string): Read<string> {
    const path = pid === this.self && name === 'ns/net' ? 'self/ns/net' : `${pid}/${name}`;
    const told = this.#paths.get(path);
    if (told !== undefined) return { ok: true, value: told };
    const link = this.#links.get(path);
    if (link === undefined) return VANISHED;
    if (link.target !== null) return { ok: true, value: link.target };
    // Kernel threads and what has exited lead nowhere; any other link was refused.
    const stat = parseStat(this.#files.get(`${pid}/stat`) ?? Buffer.alloc(0));
    return stat === null || stat.kernelThread || isFinished(stat) ? VANISHED : denied(name);
  }

  executable(pid: number, within = ''): Read<Executable> {
    const path = this.link(pid, `${within}exe`);
    if (!path.ok) return path;
    const file = this.#executables.get(`${pid}/${within}exe`);
    return file === undefined ? denied('exe') : { ok: true, value: { path: path.value, ...file } };
  }

  socketInodes(pid: number, within = ''): Read<Set<string>> {
    const inodes = this.#open.get(`${pid}/${within}fd`);
    if (inodes !== undefined) return { ok: true, value: inodes };
    return this.#files.has(`${pid}/stat`) ? denied('its open files') : VANISHED;
  }

  threads(pid: number): number[] {
    return this.#tasks.get(pid) ?? [];
  }

  folderUid(pid: number): Read<number> {
    const uid = this.#links.get(String(pid))?.uid;
    // Those that only `ps`-like lines told of are taken for ours: their files are refused if they are not.
    return { ok: true, value: uid ?? this.#ownUid };
  }
}
