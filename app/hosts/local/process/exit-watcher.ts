import { closeSync } from 'node:fs';
import type { Libc } from '../../../util/libc.ts';
import type { ExitStatus } from '../../host.ts';
import type { Pidfd } from './pidfd.ts';

interface Watched {
  readonly pidfd: Pidfd;
  readonly onExit: (status: ExitStatus | null) => void;
}

/**
 * Learns of exits by event: one epoll set over all pidfds, waited for on a single pool thread however many there
 * are (a thread each would soon use up the pool, and file reads would hang). An eventfd wakes it to end.
 */
export class ExitWatcher {
  readonly #libc: Libc;
  readonly #watched = new Map<number, Watched>();
  #waiting: { readonly epoll: number; readonly wake: number; readonly done: Promise<void> } | null = null;
  #closed = false;

  constructor(libc: Libc) {
    this.#libc = libc;
  }

  /**
   * Calls back once when the process has exited, with how it ended where the kernel tells, then closes the pidfd, which from now on is the watcher's.
   * Returns the cancellation, which closes it too.
   *
   * @throws when it is closed, or the kernel refuses; the pidfd is closed then
   */
  watch(pidfd: Pidfd, onExit: (status: ExitStatus | null) => void): () => void {
    if (this.#closed) {
      pidfd.close();
      throw new Error('The exit watcher is closed.');
    }
    const { epoll } = this.#start();
    this.#watched.set(pidfd.fd, { pidfd, onExit });
    const error = this.#libc.epollAdd(epoll, pidfd.fd);
    if (error !== null) {
      this.#watched.delete(pidfd.fd);
      pidfd.close();
      throw new Error(`epoll_ctl answered ${error}`);
    }
    return () => {
      if (this.#watched.get(pidfd.fd)?.pidfd === pidfd) this.#drop(pidfd);
    };
  }

  /** Stops every watch without calling back, and frees the thread. */
  async close(): Promise<void> {
    this.#closed = true;
    for (const { pidfd } of [...this.#watched.values()]) this.#drop(pidfd);
    if (this.#waiting === null) return;
    this.#libc.eventfdWake(this.#waiting.wake);
    await this.#waiting.done;
  }

  #drop(pidfd: Pidfd): void {
    this.#watched.delete(pidfd.fd);
    if (this.#waiting !== null) this.#libc.epollRemove(this.#waiting.epoll, pidfd.fd);
    pidfd.close();
  }

  #start(): { readonly epoll: number } {
    if (this.#waiting !== null) return this.#waiting;
    const epoll = this.#libc.epollCreate();
    const wake = this.#libc.eventfd();
    this.#libc.epollAdd(epoll, wake);
    // Node joins its pool threads at exit, so one that waits without end would hang process.exit() for ever.
    const release = (): void => {
      this.#closed = true;
      this.#libc.eventfdWake(wake);
    };
    process.once('exit', release);
    const done = this.#loop(epoll, wake).finally(() => {
      process.off('exit', release);
      this.#waiting = null;
      closeSync(wake);
      closeSync(epoll);
    });
    this.#waiting = { epoll, wake, done };
    return this.#waiting;
  }

  async #loop(epoll: number, wake: number): Promise<void> {
    while (!this.#closed) {
      for (const fd of await this.#libc.epollWait(epoll)) {
        const watched = fd === wake ? undefined : this.#watched.get(fd);
        // A number may have been closed and opened again since the event: ask the pidfd itself.
        if (watched === undefined || !watched.pidfd.hasExited()) continue;
        const status = watched.pidfd.exitStatus();
        this.#drop(watched.pidfd);
        // An error of a listener surfaces as uncaught and must not end the watching of the others.
        queueMicrotask(() => watched.onExit(status));
      }
    }
  }
}
