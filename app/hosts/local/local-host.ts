import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Observer, ProcessRef, Verdict } from '../../identity/identity.ts';
import { recognise } from '../../servers/recognition/recognise.ts';
import { type Libc, loadLibc } from '../../util/libc.ts';
import type {
  ExitStatus,
  Host,
  Look,
  LookRequest,
  MachineLine,
  ProcessHandle,
  ProcessInfo,
  Spawned,
  SpawnRequest,
} from '../host.ts';
import { createPortableHost } from '../ps/portable-host.ts';
import { LocalFiles } from './local-files.ts';
import { type Looker, REAL_PROC } from './look/looker.ts';
import { machineReader } from './machine.ts';
import { ExitWatcher } from './process/exit-watcher.ts';
import { linuxObserver } from './process/observer.ts';
import { openPidfd, pidfdProblem } from './process/pidfd.ts';
import { PidfdHandle, VerifyingHandle } from './process/process-handle.ts';
import { Verifier } from './process/verify.ts';
import { pickVariables } from './procfs/argv.ts';
import { spawnDetached } from './spawn.ts';

export interface LocalHostOptions {
  readonly looker: Looker;
  /** Rollcall's state folder; a host id is kept in it where the machine has none. */
  readonly stateDir: string;
  /** Another process table, in tests. */
  readonly procRoot?: string;
  /** False to do without pidfds although they work; for tests of what stands in for them. */
  readonly usePidfds?: boolean;
  /** True to do without procfs although it is there; for tests of what stands in for it. The looker is not used then. */
  readonly portable?: boolean;
}

/** Where no event tells of an exit. */
const POLL_MS = 1000;

const GONE: ReadonlySet<Verdict['verdict']> = new Set(['gone', 'zombie', 'reused']);

/** This machine, on Linux. */
class LocalHost extends LocalFiles implements Host {
  readonly name = 'local';
  readonly signalling: Host['signalling'];
  readonly #looker: Looker;
  readonly #observer: Observer;
  readonly #verifier: Verifier;
  readonly #libc: Libc | null;
  readonly #procRoot: string;
  readonly #watcher: ExitWatcher | null;
  readonly #machine = machineReader();
  readonly #polls = new Set<NodeJS.Timeout>();

  constructor(
    looker: Looker,
    observer: Observer,
    place: { readonly procRoot: string; readonly ownUid: number },
    libc: Libc | null,
    problem: string | null,
  ) {
    super();
    this.#looker = looker;
    this.#observer = observer;
    this.#libc = libc;
    this.#procRoot = place.procRoot;
    this.#verifier = new Verifier({ observer, libc, ...place });
    this.#watcher = libc === null ? null : new ExitWatcher(libc);
    this.signalling =
      libc === null
        ? {
            method: 'verify-then-kill',
            note: `Each signal follows a fresh check of the process, with a moment between the two: ${problem ?? 'no pidfds'}.`,
          }
        : { method: 'pidfd', note: 'Signals go through a kernel handle on the very process that was checked.' };
  }

  async observer(): Promise<Observer> {
    return this.#observer;
  }

  look(request: LookRequest): Promise<Look> {
    return this.#looker.look({ ...request, ownPids: [...new Set([process.pid, ...request.ownPids])] });
  }

  machine(): Promise<MachineLine> {
    return this.#machine();
  }

  inspect(pid: number): Promise<ProcessInfo | null> {
    return this.#looker.inspect(pid);
  }

  portHolder(port: number): Promise<ProcessInfo | 'unreadable' | null> {
    return this.#looker.portHolder(port);
  }

  async verify(ref: ProcessRef): Promise<Verdict> {
    return this.#verifier.verify(ref);
  }

  async secrets(ref: ProcessRef, names: readonly string[]): Promise<Readonly<Partial<Record<string, string>>> | null> {
    if (this.#verifier.verify(ref).verdict !== 'same') return null;
    const environ = await readFile(join(this.#procRoot, String(ref.identity.pid), 'environ')).catch(() => null);
    // What was read between two verdicts is of the one process.
    if (environ === null || this.#verifier.verify(ref).verdict !== 'same') return null;
    return pickVariables(environ, names);
  }

  async hold(ref: ProcessRef): Promise<ProcessHandle> {
    return this.#libc === null || this.#watcher === null
      ? new VerifyingHandle(ref, this.#verifier)
      : new PidfdHandle(ref, this.#verifier, this.#watcher, this.#libc);
  }

  watchExit(ref: ProcessRef, onExit: (status: ExitStatus | null) => void): () => void {
    const opened =
      this.#libc === null || this.#verifier.refuse(ref.identity.pid) !== null
        ? null
        : openPidfd(this.#libc, ref.identity.pid);
    if (opened?.opened === true && this.#watcher !== null) {
      if (this.#verifier.verifyHeld(ref, opened.pidfd)?.verdict === 'same') {
        return this.#watcher.watch(opened.pidfd, onExit);
      }
      opened.pidfd.close();
    }
    return this.#pollExit(ref, onExit);
  }

  spawn(request: SpawnRequest): Promise<Spawned> {
    return spawnDetached(request, this.#libc, (pid) => this.#verifier.capture(pid));
  }

  async close(): Promise<void> {
    for (const timer of this.#polls) clearTimeout(timer);
    this.#polls.clear();
    await Promise.all([this.#watcher?.close(), this.#looker.close()]);
  }

  /** Also for a process that is gone already: the answer comes after the call has returned. */
  #pollExit(ref: ProcessRef, onExit: (status: ExitStatus | null) => void): () => void {
    let timer: NodeJS.Timeout;
    const check = (): void => {
      this.#polls.delete(timer);
      if (GONE.has(this.#verifier.verify(ref).verdict)) onExit(null);
      else schedule(POLL_MS);
    };
    const schedule = (ms: number): void => {
      timer = setTimeout(check, ms);
      this.#polls.add(timer);
    };
    schedule(0);
    return () => {
      clearTimeout(timer);
      this.#polls.delete(timer);
    };
  }
}

/** Makes the host for this machine and starts its looker. Throws `ObserverUnknown`; without procfs also `LookFailed`. */
export async function createLocalHost(options: LocalHostOptions): Promise<Host> {
  if (options.portable ?? process.platform !== 'linux') {
    await options.looker.close();
    return createPortableHost(options.stateDir, recognise);
  }
  const procRoot = options.procRoot ?? REAL_PROC;
  const observer = linuxObserver({ stateDir: options.stateDir, procRoot });
  const ownUid = process.getuid?.() ?? -1;
  const { libc, problem } = await kernelHandles(procRoot, options.usePidfds ?? true);
  await options.looker.start({ observer, procRoot, ownUid });
  return new LocalHost(options.looker, observer, { procRoot, ownUid }, libc, problem);
}

async function kernelHandles(
  procRoot: string,
  wanted: boolean,
): Promise<{ readonly libc: Libc | null; readonly problem: string | null }> {
  if (!wanted) return { libc: null, problem: 'they were turned off' };
  if (procRoot !== REAL_PROC) return { libc: null, problem: `${procRoot} is not the kernel's own process table` };
  const load = await loadLibc();
  if (!load.loaded) return { libc: null, problem: load.why };
  const problem = pidfdProblem(load.libc);
  return problem === null ? { libc: load.libc, problem: null } : { libc: null, problem };
}
