import { randomBytes } from 'node:crypto';
import { existsSync, lstatSync, readdirSync, unlinkSync } from 'node:fs';
import { type FileHandle, open, rename, unlink } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { codeOf } from './errors.ts';

/** What a person can do about a file that cannot be written, by the system's word for the cause. */
export function remedyFor(code: string): string {
  if (code === 'ENOSPC' || code === 'EDQUOT') return 'Free some space on that disk, then try again.';
  if (code === 'EROFS') return 'That disk is read-only: make it writable, then try again.';
  return 'Make its folder writable for you, then try again.';
}

/** A file could not be written; what stood there before is still whole. */
export class WriteFailed extends Error {
  override readonly name = 'WriteFailed';
  readonly path: string;
  /** The system's word for the cause: `ENOSPC`, `EACCES`. */
  readonly code: string;
  constructor(path: string, code: string, cause: unknown) {
    super(`${path} could not be written (${code}). ${remedyFor(code)}`, { cause });
    this.path = path;
    this.code = code;
  }
}

/** `.NAME.PID.RANDOM.tmp`, as `atomicWrite` names what it has not finished. */
const TEMPORARY = /^\..+\.(?<pid>\d+)\.[0-9a-f]{12}\.tmp$/u;
/** What is older than this is nobody's, whoever has its PID now. Milliseconds. */
const TEMPORARY_LIVES_MS = 3600 * 1000;

/** Whether the process that began a temporary file may still finish it. */
function mayBeUnderWay(pid: number, modifiedAt: number): boolean {
  if (pid === process.pid) return true;
  if (Date.now() - modifiedAt > TEMPORARY_LIVES_MS) return false;
  return process.platform !== 'linux' || existsSync(`/proc/${pid}`);
}

/** Removes what writes that a crash cut off have left in a folder. What stands under a name of its own is not touched. */
export function removeStaleTemporaries(folder: string): void {
  for (const name of readdirSync(folder)) {
    const pid = TEMPORARY.exec(name)?.groups?.['pid'];
    if (pid === undefined) continue;
    const path = join(folder, name);
    const stats = lstatSync(path, { throwIfNoEntry: false });
    if (stats?.isFile() !== true || mayBeUnderWay(Number(pid), stats.mtimeMs)) continue;
    try {
      unlinkSync(path);
    } catch {
      // It costs some space and nothing else; the next writer tries again.
    }
  }
}

/** Makes a finished rename last through a power cut. Windows cannot open folders and needs no such thing. */
async function syncFolder(folder: string): Promise<void> {
  if (process.platform === 'win32') return;
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/**
 * Replaces a file as a whole, readable by us alone (0600): whoever reads sees the old or the new one, also after a
 * crash or a full disk. The folder must exist. A symbolic link at `path` is replaced, not followed.
 *
 * @throws WriteFailed
 */
export async function atomicWrite(path: string, text: string): Promise<void> {
  const folder = dirname(path);
  const temporary = join(folder, `.${basename(path)}.${process.pid}.${randomBytes(6).toString('hex')}.tmp`);
  let handle: FileHandle | null = null;
  try {
    handle = await open(temporary, 'wx', 0o600);
    await handle.writeFile(text, 'utf8');
    await handle.sync();
    await handle.close();
    handle = null;
    await rename(temporary, path);
    await syncFolder(folder);
  } catch (error) {
    await handle?.close().catch(() => {
      // The first error is the one to tell; the descriptor is gone either way.
    });
    await unlink(temporary).catch(() => {
      // It was never made, or it has already been renamed.
    });
    const code = codeOf(error) ?? 'unknown';
    throw new WriteFailed(path, code, error);
  }
}
