/**
 * This machine where it has no procfs (macOS, Windows): verify, then kill, with a moment between the two. Tried on
 * Linux through `ps`; macOS and Windows themselves could not be tried where this was written.
 */

import type { Observation, Observer, ProcessRef, Verdict } from '../../identity/identity.ts';
import { judge } from '../../identity/judge.ts';
import { refusePid } from '../../identity/refuse.ts';
import { messageOf } from '../../util/errors.ts';
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
import { LocalFiles } from '../local/local-files.ts';
import type { Recognise } from '../local/look/candidates.ts';
import type { Looker } from '../local/look/looker.ts';
import { machineReader } from '../local/machine.ts';
import { pollExit, VerifyingHandle } from '../local/process/process-handle.ts';
import { spawnDetached } from '../local/spawn.ts';
import { evidenceOf, portableLooker } from './portable-look.ts';
import { portableObserver } from './portable-observer.ts';
import { isOwnOnWindows, type ListedProcess, listOne, listProcesses } from './portable-processes.ts';

/** The longest that a timer can be set for, 24 days. */
const WATCH_FOREVER_MS = 2 ** 31 - 1;

function observationOf(row: ListedProcess, observer: Observer): Observation {
  return {
    found: 'process',
    identity: { ...observer, pid: row.pid, startTime: row.startTime },
    evidence: evidenceOf(row),
    name: { pid: row.pid, name: row.commandLine.split(' ')[0] ?? '', startedAt: row.startedAt },
    finished: row.state === 'Z',
  };
}

class PortableHost extends LocalFiles implements Host {
  readonly name = 'local';
  readonly signalling: Host['signalling'] = {
    method: 'verify-then-kill',
    note: `Each signal follows a fresh check of the process, with a moment between the two: ${process.platform} has no handle that a signal could go through.`,
  };
  readonly #looker: Looker;
  readonly #observer: Observer;
  readonly #self: ReadonlySet<number>;
  readonly #machine = machineReader();
  readonly #watches = new Set<AbortController>();

  constructor(looker: Looker, observer: Observer, self: ReadonlySet<number>) {
    super();
    this.#looker = looker;
    this.#observer = observer;
    this.#self = self;
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

  /** No program here tells of another process's environment without telling all of it. */
  async secrets(): Promise<null> {
    return null;
  }

  inspect(pid: number): Promise<ProcessInfo | null> {
    return this.#looker.inspect(pid);
  }

  portHolder(port: number): Promise<ProcessInfo | 'unreadable' | null> {
    return this.#looker.portHolder(port);
  }

  async verify(ref: ProcessRef): Promise<Verdict> {
    const refused = refusePid(ref.identity.pid, this.#self);
    if (refused !== null) return { verdict: 'unknown', why: refused };
    try {
      const row = await listOne(ref.identity.pid);
      const seen: Observation = row === null ? { found: 'absent' } : observationOf(row, this.#observer);
      const verdict = judge(ref, this.#observer, seen);
      if (row === null || verdict.verdict !== 'same') return verdict;
      const own = row.uid === null ? await isOwnOnWindows(row.pid) : row.uid === process.getuid?.();
      if (!own) return { verdict: 'unknown', why: 'it belongs to another user, whose processes are never touched' };
      return verdict;
    } catch (error) {
      return judge(ref, this.#observer, { found: 'failed', why: messageOf(error) });
    }
  }

  async hold(ref: ProcessRef): Promise<ProcessHandle> {
    return new VerifyingHandle(ref, this);
  }

  watchExit(ref: ProcessRef, onExit: (status: ExitStatus | null) => void): () => void {
    const watch = new AbortController();
    this.#watches.add(watch);
    void pollExit(() => this.verify(ref), WATCH_FOREVER_MS, watch.signal).then((exited) => {
      this.#watches.delete(watch);
      if (exited && !watch.signal.aborted) onExit(null);
    });
    return () => watch.abort();
  }

  spawn(request: SpawnRequest): Promise<Spawned> {
    return spawnDetached(request, null, async (pid) => {
      const row = await listOne(pid);
      // The number means our child only while it is our child: it may have ended and been collected meanwhile.
      if (row === null || row.ppid !== process.pid) return null;
      return { identity: { ...this.#observer, pid, startTime: row.startTime }, evidence: evidenceOf(row) };
    });
  }

  async close(): Promise<void> {
    for (const watch of this.#watches) watch.abort();
    await this.#looker.close();
  }
}

/** Our own PID and every ancestor of ours. */
function selfAndAncestors(rows: readonly ListedProcess[]): ReadonlySet<number> {
  const parents = new Map(rows.map(({ pid, ppid }) => [pid, ppid]));
  const line = new Set<number>();
  for (let pid = process.pid; pid > 0 && !line.has(pid); pid = parents.get(pid) ?? 0) line.add(pid);
  return line;
}

/** Throws `ObserverUnknown`, or `LookFailed` when the processes cannot be listed. */
export async function createPortableHost(stateDir: string, recognise: Recognise): Promise<Host> {
  const [observer, rows] = await Promise.all([portableObserver(stateDir), listProcesses()]);
  const looker = portableLooker(recognise);
  await looker.start({ observer, procRoot: '', ownUid: process.getuid?.() ?? -1 });
  return new PortableHost(looker, observer, selfAndAncestors(rows));
}
