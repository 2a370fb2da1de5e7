import { randomBytes } from 'node:crypto';
import { type FileHandle, open, rename, unlink } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';

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
    const code = error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : 'unknown';
    throw new WriteFailed(path, code, error);
  }
}
