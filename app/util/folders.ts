import { chmodSync, lstatSync, mkdirSync, type Stats, statSync } from 'node:fs';
import { codeOf } from './errors.ts';

/** A folder cannot be used, because others could reach into it or because it is none. */
export class UnsafeFolder extends Error {
  override readonly name = 'UnsafeFolder';
  readonly path: string;
  readonly why: string;
  constructor(path: string, why: string, remedy: string) {
    super(`${path} is not used: ${why}. ${remedy}`);
    this.path = path;
    this.why = why;
  }
}

/** A folder could not be made. */
export class FolderFailed extends Error {
  override readonly name = 'FolderFailed';
  readonly path: string;
  /** The system's word for the cause: `EACCES`, `ENOTDIR`, `EROFS`. */
  readonly code: string;
  constructor(path: string, code: string, cause: unknown) {
    super(
      `The folder ${path} could not be made (${code}). Make the folder above it writable for you, then try again.`,
      {
        cause,
      },
    );
    this.path = path;
    this.code = code;
  }
}

function make(path: string): void {
  try {
    // Folders above (~/.local, ~/.local/state) are made for us alone, too, as the XDG rules ask.
    mkdirSync(path, { recursive: true, mode: 0o700 });
  } catch (error) {
    const code = codeOf(error) ?? 'unknown';
    throw new FolderFailed(path, code, error);
  }
}

/**
 * Makes a folder (0700) where it is missing, and takes the rights of others away where it is ours and has any. A symbolic
 * link to a folder is fine here: people move their state to other disks.
 *
 * @throws FolderFailed when it cannot be made
 * @throws UnsafeFolder when it belongs to somebody else
 */
export function ensurePrivateFolder(path: string): void {
  make(path);
  if (process.platform === 'win32') return;
  const stats = statSync(path);
  const uid = process.getuid?.();
  if (stats.uid !== uid) {
    throw new UnsafeFolder(
      path,
      `it belongs to user ${stats.uid}`,
      'Give it to your own user, or choose another folder.',
    );
  }
  if ((stats.mode & 0o077) !== 0) chmodSync(path, stats.mode & 0o700);
}

/** Why a runtime folder will not do; null when it will. */
function unsafe(stats: Stats, uid: number | undefined): string | null {
  if (stats.isSymbolicLink()) return 'it is a symbolic link';
  if (!stats.isDirectory()) return 'it is not a folder';
  if (stats.uid !== uid) return `it belongs to user ${stats.uid}`;
  if ((stats.mode & 0o077) !== 0) return `others have rights to it (mode ${(stats.mode & 0o777).toString(8)})`;
  return null;
}

/**
 * Makes the runtime folder, and refuses one that somebody else may have prepared: `/tmp` is open to all, so a folder
 * that is found there is trusted only as a real folder of ours with no rights for others. Nothing is repaired: what was
 * open may already hold another's socket.
 *
 * @throws FolderFailed when it cannot be made
 * @throws UnsafeFolder when it is not a real folder of ours alone
 */
export function ensureRuntimeFolder(path: string): void {
  if (process.platform === 'win32') {
    make(path);
    return;
  }
  const before = lstatSync(path, { throwIfNoEntry: false });
  if (before === undefined) make(path);
  const why = unsafe(lstatSync(path), process.getuid?.());
  if (why !== null) throw new UnsafeFolder(path, why, 'Remove it, then try again.');
}
