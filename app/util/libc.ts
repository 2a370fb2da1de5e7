/**
 * The few Linux calls that Node lacks, through koffi. Loaded on first use and only on Linux; where it cannot be
 * loaded the reason is kept, and the host says how it signals without it.
 */
import { messageOf } from './errors.ts';
export interface Libc {
  /** A pidfd, or the name of the error: `ESRCH`, `EINVAL`, `ENOENT`, `EPERM`, `ENOSYS`, `EMFILE`. */
  pidfdOpen(pid: number): { readonly fd: number } | { readonly error: string };
  /** Null when sent, else the name of the error. @param group to the group that the process leads (Linux 6.9) */
  pidfdSendSignal(fd: number, signal: number, group?: boolean): string | null;
  /** Whether the process behind a pidfd has exited (a zombie has). */
  hasExited(pidfd: number): boolean;
  /**
   * The wait status of a process that has exited and been collected, as wait(2) would give it; null while it is not
   * collected, and on kernels that do not tell (before Linux 6.15).
   */
  pidfdWaitStatus(pidfd: number): number | null;
  /** Marks every descriptor from 3 up close-on-exec. Null when done, else the name of the error. */
  closeAllOnExec(): string | null;
  /**
   * Opens a file, reads once into the buffer and closes it. The number of bytes, or the name of the error. Node's own
   * three calls do the same at twice the cost, which tells in a look that reads thousands of files.
   */
  readOnce(path: string, into: Buffer): number | string;
  /** Who has connected to a Unix socket, as the kernel noted it then; or the name of the error. */
  peerCredentials(fd: number): { readonly pid: number; readonly uid: number } | string;
  epollCreate(): number;
  epollAdd(epoll: number, fd: number): string | null;
  epollRemove(epoll: number, fd: number): void;
  /**
   * Resolves with the descriptors that are ready. Holds one thread of Node's pool while pending: without end, or where
   * that is the only one for a moment at most, after which none may be ready.
   */
  epollWait(epoll: number): Promise<number[]>;
  eventfd(): number;
  eventfdWake(fd: number): void;
}

export type LibcLoad =
  | { readonly loaded: true; readonly libc: Libc }
  | { readonly loaded: false; readonly why: string };

/** System call numbers shared by every architecture since Linux 5.1 (asm-generic/unistd.h). */
const SYS = { pidfdSendSignal: 424, pidfdOpen: 434, closeRange: 436 } as const;
/** `_IOWR(0xFF, 11, struct pidfd_info)` of linux/pidfd.h, with the struct as it first was: 64 bytes. */
const PIDFD_INFO_BYTES = 64;
const PIDFD_GET_INFO = ((3 << 30) | (PIDFD_INFO_BYTES << 16) | (0xff << 8) | 11) >>> 0;
/** Flag in the struct's first member: the exit status is asked for, and in the answer: it is there. */
const PIDFD_INFO_EXIT = 1n << 3n;
const PIDFD_INFO_EXIT_OFFSET = 60;
const PIDFD_SIGNAL_PROCESS_GROUP = 4;
const CLOSE_RANGE_CLOEXEC = 4;
/** The same numbers on x86 and ARM. Three ints: pid, uid, gid. See unix(7). */
const SOL_SOCKET = 1;
const SO_PEERCRED = 17;
const UCRED_BYTES = 12;
const CLOEXEC = 0o2000000;
const POLLIN = 1;
const EPOLLIN = 1;
const EPOLL_CTL_ADD = 1;
const EPOLL_CTL_DEL = 2;
const FIRST_UNSHARED_FD = 3;
const EVERY_FD = 0xffff_ffff;
const EVENTS_AT_ONCE = 64;
/** Longest wait for events where Node's pool has one thread, which files are read on, too. In milliseconds. */
const SHARED_WAIT_MS = 50;

/** Longest wait for events at a time, in milliseconds; -1: without end. libuv takes what is no number for one thread. */
function longestWait(poolThreads = process.env['UV_THREADPOOL_SIZE']): number {
  return poolThreads === undefined || Number.parseInt(poolThreads, 10) > 1 ? -1 : SHARED_WAIT_MS;
}

interface EpollEvent {
  events: number;
  data: number | bigint;
}
interface PollFd {
  fd: number;
  events: number;
  revents: number;
}

let load: Promise<LibcLoad> | null = null;
let loaded: Libc | null = null;

/** Loads the calls once per thread. Never rejects. */
export function loadLibc(): Promise<LibcLoad> {
  load ??=
    process.platform === 'linux' ? bind() : Promise.resolve({ loaded: false, why: 'pidfds exist on Linux only' });
  return load;
}

/** The calls, where this thread has loaded them by now. */
export function loadedLibc(): Libc | null {
  return loaded;
}

async function bind(): Promise<LibcLoad> {
  try {
    const { default: koffi } = await import('koffi');
    loaded = bindings(koffi);
    return { loaded: true, libc: loaded };
  } catch (error) {
    return {
      loaded: false,
      why: `the system library could not be bound: ${messageOf(error)}`,
    };
  }
}

type Koffi = typeof import('koffi')['default'];

function bindings(koffi: Koffi): Libc {
  const library = koffi.load(null);
  // syscall(2) is variadic; each use is declared with the fixed arguments it has.
  const open = library.func('syscall', 'long', ['long', 'int', 'uint']) as (
    n: number,
    pid: number,
    flags: number,
  ) => number;
  const send = library.func('syscall', 'long', ['long', 'int', 'int', 'void *', 'uint']) as (
    n: number,
    fd: number,
    signal: number,
    info: null,
    flags: number,
  ) => number;
  const closeRange = library.func('syscall', 'long', ['long', 'uint', 'uint', 'uint']) as (
    n: number,
    first: number,
    last: number,
    flags: number,
  ) => number;
  const ioctl = library.func('ioctl', 'int', ['int', 'ulong', 'void *']) as (
    fd: number,
    request: number,
    data: Buffer,
  ) => number;
  const pollFd = koffi.struct({ fd: 'int', events: 'short', revents: 'short' });
  const poll = library.func('poll', 'int', [koffi.inout(koffi.pointer(pollFd)), 'ulong', 'int']) as (
    fds: PollFd[],
    count: number,
    timeout: number,
  ) => number;
  // The kernel packs this struct on x86-64 only (eventpoll.h, EPOLL_PACKED).
  const epollEvent = (process.arch === 'x64' ? koffi.pack : koffi.struct)({ events: 'uint32_t', data: 'uint64_t' });
  const create = library.func('epoll_create1', 'int', ['int']) as (flags: number) => number;
  const control = library.func('epoll_ctl', 'int', ['int', 'int', 'int', koffi.pointer(epollEvent)]) as (
    epoll: number,
    operation: number,
    fd: number,
    event: EpollEvent,
  ) => number;
  const longest = longestWait();
  const wait = library.func('epoll_wait', 'int', ['int', koffi.out(koffi.pointer(epollEvent)), 'int', 'int']);
  const newEventfd = library.func('eventfd', 'int', ['uint', 'int']) as (initial: number, flags: number) => number;
  const write = library.func('write', 'long', ['int', 'void *', 'size_t']) as (
    fd: number,
    data: Buffer,
    size: number,
  ) => number;

  // open(2) is variadic in its mode only, which is not used.
  const openFile = library.func('open', 'int', ['str', 'int']) as (path: string, flags: number) => number;
  const read = library.func('read', 'long', ['int', 'void *', 'size_t']) as (
    fd: number,
    data: Buffer,
    size: number,
  ) => number;
  const close = library.func('close', 'int', ['int']) as (fd: number) => number;

  const getsockopt = library.func('getsockopt', 'int', ['int', 'int', 'int', 'void *', 'void *']) as (
    fd: number,
    level: number,
    option: number,
    value: Buffer,
    length: Buffer,
  ) => number;

  const names = new Map(Object.entries(koffi.os.errno).map(([name, value]) => [value, name]));
  const errorName = (): string => names.get(koffi.errno()) ?? `errno ${koffi.errno()}`;

  return {
    pidfdOpen(pid) {
      const fd = Number(open(SYS.pidfdOpen, pid, 0));
      return fd < 0 ? { error: errorName() } : { fd };
    },
    pidfdSendSignal: (fd, signal, group = false) =>
      Number(send(SYS.pidfdSendSignal, fd, signal, null, group ? PIDFD_SIGNAL_PROCESS_GROUP : 0)) < 0
        ? errorName()
        : null,
    hasExited(pidfd) {
      const fds = [{ fd: pidfd, events: POLLIN, revents: 0 }];
      return poll(fds, 1, 0) > 0;
    },
    pidfdWaitStatus(pidfd) {
      const info = Buffer.alloc(PIDFD_INFO_BYTES);
      info.writeBigUInt64LE(PIDFD_INFO_EXIT);
      if (ioctl(pidfd, PIDFD_GET_INFO, info) < 0) return null;
      return (info.readBigUInt64LE() & PIDFD_INFO_EXIT) === 0n ? null : info.readInt32LE(PIDFD_INFO_EXIT_OFFSET);
    },
    closeAllOnExec: () =>
      Number(closeRange(SYS.closeRange, FIRST_UNSHARED_FD, EVERY_FD, CLOSE_RANGE_CLOEXEC)) < 0 ? errorName() : null,
    readOnce(path, into) {
      const fd = openFile(path, CLOEXEC);
      if (fd < 0) return errorName();
      const count = Number(read(fd, into, into.length));
      // Asked before close(2), which may set it anew.
      const error = count < 0 ? errorName() : null;
      close(fd);
      return error ?? count;
    },
    peerCredentials(fd) {
      const value = Buffer.alloc(UCRED_BYTES);
      const length = Buffer.from(Uint32Array.of(UCRED_BYTES).buffer);
      if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, value, length) < 0) return errorName();
      return { pid: value.readInt32LE(0), uid: value.readUInt32LE(4) };
    },
    epollCreate: () => create(CLOEXEC),
    epollAdd: (epoll, fd) =>
      control(epoll, EPOLL_CTL_ADD, fd, { events: EPOLLIN, data: fd }) < 0 ? errorName() : null,
    epollRemove(epoll, fd) {
      control(epoll, EPOLL_CTL_DEL, fd, { events: 0, data: 0 });
    },
    epollWait: (epoll) =>
      new Promise((resolve) => {
        const events: EpollEvent[] = Array.from({ length: EVENTS_AT_ONCE }, () => ({ events: 0, data: 0 }));
        wait.async(epoll, events, EVENTS_AT_ONCE, longest, (_error: unknown, count: number) => {
          // A wait that is over, or was cut short by a signal, reports no events; the caller waits again.
          resolve(events.slice(0, Math.max(0, Number(count) || 0)).map((event) => Number(event.data)));
        });
      }),
    eventfd: () => newEventfd(0, CLOEXEC),
    eventfdWake(fd) {
      const one = Buffer.alloc(8);
      one.writeBigUInt64LE(1n); // any non-zero count wakes, so its byte order does not matter
      write(fd, one, one.length);
    },
  };
}
