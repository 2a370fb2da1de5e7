/**
 * A remote machine for as long as somebody supervises it. Each connection brings a host of its own, since the session's
 * processes there are others; what stands above goes on with the latest, and what it watches is watched there.
 */
import type { Observer, ProcessRef, Verdict } from '../../identity/identity.ts';
import type { DialAddress } from '../../servers/kind.ts';
import type {
  ExitStatus,
  Folder,
  Host,
  Listener,
  Look,
  LookRequest,
  MachineLine,
  ProcessHandle,
  ProcessInfo,
  Spawned,
  SpawnRequest,
} from '../host.ts';
import { ReconnectingHandle } from './reconnecting-handle.ts';

interface Watch {
  readonly ref: ProcessRef;
  readonly onExit: (status: ExitStatus | null) => void;
  cancel: () => void;
}

export class ReconnectingHost implements Host {
  #current: Host;
  readonly #watches = new Set<Watch>();
  #pages: readonly Listener[] = [];
  readonly #onChange = new Set<() => void>();

  constructor(first: Host) {
    this.#current = first;
  }

  /** The same machine, boot and account over a new connection. The one before is closed. */
  async renew(next: Host): Promise<void> {
    const before = this.#current;
    this.#current = next;
    for (const watch of this.#watches) {
      watch.cancel();
      watch.cancel = this.#register(watch);
    }
    for (const tell of this.#onChange) tell();
    await before.close();
  }

  #register(watch: Watch): () => void {
    return this.#current.watchExit(watch.ref, (status) => {
      if (this.#watches.delete(watch)) watch.onExit(status);
    });
  }

  get name(): string {
    return this.#current.name;
  }

  get signalling(): Host['signalling'] {
    return this.#current.signalling;
  }

  get uid(): number | null {
    return this.#current.uid;
  }

  get ownPids(): readonly number[] {
    return this.#current.ownPids;
  }

  observer(): Promise<Observer> {
    return this.#current.observer();
  }

  async look(request: LookRequest): Promise<Look> {
    const host = this.#current;
    const look = await host.look({ ...request, ownPids: host.ownPids });
    // The first look of a new connection proves anew what the pages lead to.
    if (this.#pages.length > 0) host.keepPages(this.#pages);
    return look;
  }

  machine(): Promise<MachineLine> {
    return this.#current.machine();
  }

  inspect(pid: number): Promise<ProcessInfo | null> {
    return this.#current.inspect(pid);
  }

  portHolder(port: number): Promise<ProcessInfo | 'unreadable' | null> {
    return this.#current.portHolder(port);
  }

  verify(ref: ProcessRef): Promise<Verdict> {
    return this.#current.verify(ref);
  }

  secrets(ref: ProcessRef, names: readonly string[]): Promise<Readonly<Partial<Record<string, string>>> | null> {
    return this.#current.secrets(ref, names);
  }

  hold(ref: ProcessRef): Promise<ProcessHandle> {
    const onChange = (tell: () => void): (() => void) => {
      this.#onChange.add(tell);
      return () => this.#onChange.delete(tell);
    };
    return new ReconnectingHandle(ref, { current: () => this.#current, onChange }).taken();
  }

  watchExit(ref: ProcessRef, onExit: (status: ExitStatus | null) => void): () => void {
    const watch: Watch = { ref, onExit, cancel: () => undefined };
    this.#watches.add(watch);
    watch.cancel = this.#register(watch);
    return () => {
      this.#watches.delete(watch);
      watch.cancel();
    };
  }

  async spawn(request: SpawnRequest): Promise<Spawned> {
    const host = this.#current;
    const { ref, exit } = await host.spawn(request);
    return { ref, exit: this.#exitOf(ref, exit, host) };
  }

  /** The host it was started on tells of its exit until another takes its place. */
  #exitOf(ref: ProcessRef, exit: Promise<ExitStatus>, host: Host): Promise<ExitStatus> {
    return new Promise((resolve) => {
      const onExit = (status: ExitStatus | null): void => resolve(status ?? { code: null, signal: null });
      const watch: Watch = { ref, onExit, cancel: () => undefined };
      this.#watches.add(watch);
      if (host !== this.#current) watch.cancel = this.#register(watch);
      void exit.then((status) => {
        this.#watches.delete(watch);
        watch.cancel();
        resolve(status);
      });
    });
  }

  folder(path: string): Promise<Folder> {
    return this.#current.folder(path);
  }

  isFile(path: string): Promise<boolean> {
    return this.#current.isFile(path);
  }

  tail(path: string, limitBytes: number): Promise<{ readonly text: string; readonly truncated: boolean }> {
    return this.#current.tail(path, limitBytes);
  }

  isProgram(path: string): Promise<boolean> {
    return this.#current.isProgram(path);
  }

  findProgram(name: string): Promise<string | null> {
    return this.#current.findProgram(name);
  }

  at(listener: Listener): DialAddress | null {
    return this.#current.at(listener);
  }

  page(listener: Listener): { readonly address: string; readonly port: number } | null {
    return this.#current.page(listener);
  }

  keepPages(listeners: readonly Listener[]): void {
    this.#pages = listeners;
    this.#current.keepPages(listeners);
  }

  startLock(nonce: string, abort?: AbortSignal): Promise<() => Promise<void>> {
    return this.#current.startLock(nonce, abort);
  }

  close(): Promise<void> {
    for (const watch of this.#watches) watch.cancel();
    this.#watches.clear();
    for (const tell of this.#onChange) tell();
    return this.#current.close();
  }
}
