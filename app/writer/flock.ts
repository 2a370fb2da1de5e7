/**
 * flock(2) on an open file: a lock that the kernel drops when the last descriptor of the open file is closed,
 * so also when its holder dies in any way. Node has no call for it. Sources: flock(2), flock(1), open(2) on Darwin.
 */

import { spawnSync } from 'node:child_process';
import { constants, openSync } from 'node:fs';
import { codeOf } from '../util/errors.ts';

export type FlockResult = 'taken' | 'held';

/** The lock could be neither taken nor found held; `code` is the error's name (`ENOLCK`), where there is one. */
export class FlockFailed extends Error {
  override readonly name = 'FlockFailed';
  readonly code: string;
  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

const LOCK_EX = 2;
const LOCK_NB = 4;

/** From Darwin's fcntl.h: open(2) itself takes the flock, so no foreign call is needed there. */
const DARWIN_O_EXLOCK = 0x20;

type Attempt = (fd: number) => FlockResult | null;

/** By the C library; null when koffi cannot be loaded here. */
async function byLibrary(): Promise<Attempt | null> {
  try {
    const { default: koffi } = await import('koffi');
    const flock = koffi.load(null).func('int flock(int fd, int operation)') as (fd: number, op: number) => number;
    return (fd) => {
      if (flock(fd, LOCK_EX | LOCK_NB) === 0) return 'taken';
      const errno = koffi.errno();
      const { EWOULDBLOCK, EAGAIN } = koffi.os.errno;
      if (errno === EWOULDBLOCK || errno === EAGAIN) return 'held';
      const code = Object.entries(koffi.os.errno).find(([, value]) => value === errno)?.[0] ?? `errno ${errno}`;
      throw new FlockFailed(code, `flock answered ${code}`);
    };
  } catch (error) {
    if (error instanceof FlockFailed) throw error;
    // No prebuilt koffi for this platform, or a C library without the symbol: the program does the same.
    return null;
  }
}

/**
 * By util-linux's or BusyBox's `flock`: it locks the open file that it inherits from us, and since we keep that
 * open file, the lock stays after it has exited. The same lock as by the library, so both exclude each other.
 */
const byProgram: Attempt = (fd) => {
  const ran = spawnSync('flock', ['-x', '-n', '3'], { stdio: ['ignore', 'ignore', 'pipe', fd], timeout: 5000 });
  if (ran.error !== undefined) return null;
  if (ran.status === 0) return 'taken';
  const said = ran.stderr.toString('utf8').trim();
  if (ran.status === 1 && said === '') return 'held';
  throw new FlockFailed('unknown', `flock ended with ${ran.status ?? ran.signal}: ${said.slice(0, 500)}`);
};

/**
 * Opens a file for reading and writing, creating it 0600, and takes its exclusive flock without waiting.
 * The descriptor is close-on-exec, as all of Node's are, so no server that we start inherits the lock.
 *
 * @param ways which ways to try, in order; for tests
 * @returns the descriptor, or `held` when another open file has the lock
 * @throws FlockFailed when the file system or the system cannot lock; a file-system error when the file cannot be opened
 */
export async function openLocked(
  path: string,
  closeFd: (fd: number) => void,
  ways: readonly ('library' | 'program')[] = ['library', 'program'],
): Promise<{ readonly fd: number } | 'held'> {
  const flags = constants.O_RDWR | constants.O_CREAT | constants.O_NOFOLLOW | constants.O_NONBLOCK;
  if (process.platform === 'darwin') return openDarwin(path, flags);
  const fd = openSync(path, flags, 0o600);
  try {
    for (const way of ways) {
      const attempt = way === 'library' ? await byLibrary() : byProgram;
      const result = attempt === null ? null : attempt(fd);
      if (result === 'taken') return { fd };
      if (result === 'held') {
        closeFd(fd);
        return 'held';
      }
    }
    throw new FlockFailed('ENOSYS', 'neither koffi nor a program named flock is usable here');
  } catch (error) {
    closeFd(fd);
    throw error;
  }
}

function openDarwin(path: string, flags: number): { readonly fd: number } | 'held' {
  try {
    return { fd: openSync(path, flags | DARWIN_O_EXLOCK, 0o600) };
  } catch (error) {
    const code = codeOf(error) ?? 'unknown';
    if (code === 'EAGAIN' || code === 'EWOULDBLOCK') return 'held';
    if (['ENOLCK', 'EOPNOTSUPP', 'ENOTSUP', 'ENOSYS'].includes(code)) {
      throw new FlockFailed(code, `open with O_EXLOCK answered ${code}`);
    }
    throw error;
  }
}
