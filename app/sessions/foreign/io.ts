/** Reads what other tools wrote, bounded, and changes nothing. */

import { watch } from 'node:fs';
import { constants, lstat, open, opendir } from 'node:fs/promises';
import { dirname, isAbsolute, join, resolve } from 'node:path';
import { codeOf } from '../../util/errors.ts';

/** Names in one folder that are looked at before it is given up; far more than any tool leaves. */
const NAMES_LIMIT = 20_000;
/** A `.git` file and a `commondir` file hold one path. */
const POINTER_BYTES = 8192;
const DEEPEST = 64;
/** A file that changed this lately may change again without a change of its times: the kernel's clock has steps. */
const SETTLED_MS = 2000;

/** What reading foreign files takes; injected, so that its failures can be tried. */
export interface ForeignIo {
  /** Names in a folder that `wants` takes, at most `limit`. None for a folder that is not there, or is a link. */
  list(folder: string, wants: (name: string) => boolean, limit: number): Promise<Listed>;
  /**
   * A regular file, or null when there is none of that name; a link, a pipe, a device is none.
   *
   * @param known stamp of what was read of it before
   */
  read(path: string, limitBytes: number, known: string | null): Promise<FileRead | null>;
  /** Tells of every change in a folder. Throws, or calls `onError`, where the system cannot. Returns the end. */
  watch(folder: string, onChange: () => void, onError: (error: unknown) => void): () => void;
  /** The common git folder of the repository that a folder is in; null where it is in none. */
  commonDir(folder: string): Promise<string | null>;
}

export interface Listed {
  readonly names: readonly string[];
  /** There are more. */
  readonly more: boolean;
}

export type FileRead =
  /** It is as it was when it had the known stamp. */
  | { readonly same: true }
  /** The text is null where it is larger than the limit, the stamp where it may have changed again unseen. */
  | { readonly same: false; readonly text: string | null; readonly stamp: string | null };

function isAbsence(error: unknown): boolean {
  return ['ENOENT', 'ENOTDIR', 'ELOOP'].includes(codeOf(error) ?? '');
}

/** Null for an absence; other errors go on. */
async function orNull<T>(asked: Promise<T>): Promise<T | null> {
  try {
    return await asked;
  } catch (error) {
    if (isAbsence(error)) return null;
    throw error;
  }
}

async function list(folder: string, wants: (name: string) => boolean, limit: number): Promise<Listed> {
  // Not through a link: a repository that somebody else packed could point anywhere with it.
  const stats = await orNull(lstat(folder));
  const opened = stats?.isDirectory() === true ? await orNull(opendir(folder)) : null;
  if (opened === null) return { names: [], more: false };
  const names: string[] = [];
  let seen = 0;
  for await (const { name } of opened) {
    seen += 1;
    if (seen > NAMES_LIMIT) return { names, more: true };
    if (!wants(name)) continue;
    if (names.length === limit) return { names, more: true };
    names.push(name);
  }
  return { names, more: false };
}

async function read(path: string, limitBytes: number, known: string | null): Promise<FileRead | null> {
  // Asked first: only opening a device may already do something.
  if ((await orNull(lstat(path)))?.isFile() !== true) return null;
  // O_NONBLOCK and O_NOFOLLOW anyway: it may have become a pipe or a link since. Windows has neither.
  const flags = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0) | (constants.O_NOFOLLOW ?? 0);
  const file = await orNull(open(path, flags));
  if (file === null) return null;
  try {
    const stats = await file.stat({ bigint: true });
    if (!stats.isFile()) return null;
    const stamp = `${stats.dev} ${stats.ino} ${stats.size} ${stats.mtimeNs} ${stats.ctimeNs}`;
    if (stamp === known) return { same: true };
    const settled = Math.abs(Date.now() - Number(stats.ctimeMs)) > SETTLED_MS;
    const buffer = Buffer.alloc(Math.min(limitBytes, Number(stats.size)) + 1);
    let length = 0;
    while (length < buffer.length) {
      const { bytesRead } = await file.read(buffer, length, buffer.length - length, length);
      if (bytesRead === 0) break;
      length += bytesRead;
    }
    // One that grew while it was read is not wholly there; its next reading is.
    const text = length === buffer.length ? null : buffer.toString('utf8', 0, length);
    return { same: false, text, stamp: settled ? stamp : null };
  } finally {
    await file.close();
  }
}

/** The path that a pointer file of git holds, absolute. */
async function pointed(path: string, prefix: string): Promise<string | null> {
  const file = await read(path, POINTER_BYTES, null);
  const text = file?.same === false ? file.text?.trim() : undefined;
  if (text === undefined || !text.startsWith(prefix)) return null;
  const to = text.slice(prefix.length).trim();
  return to === '' || /[\0\n]/u.test(to) ? null : resolve(dirname(path), to);
}

async function commonDir(folder: string): Promise<string | null> {
  if (!isAbsolute(folder)) return null;
  let at = resolve(folder);
  for (let depth = 0; depth < DEEPEST; depth += 1) {
    const git = join(at, '.git');
    const stats = await orNull(lstat(git));
    if (stats?.isDirectory() === true) return git;
    if (stats?.isFile() === true) {
      // A further worktree: its own folder says where the common one is.
      const own = await pointed(git, 'gitdir:');
      return own === null ? null : ((await pointed(join(own, 'commondir'), '')) ?? own);
    }
    const above = dirname(at);
    if (above === at) return null;
    at = above;
  }
  return null;
}

/** The file system of this machine. */
export const localIo: ForeignIo = {
  list,
  read,
  commonDir,
  watch(folder, onChange, onError) {
    const watcher = watch(folder, { persistent: false }, onChange);
    watcher.on('error', onError);
    return () => watcher.close();
  },
};
