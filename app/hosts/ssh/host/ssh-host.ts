/** A remote machine as a host: looks, verdicts and signals by scripts on one account there. Spawns no ssh itself. */
import { posix } from 'node:path';
import type { Observer, ProcessRef, Verdict } from '../../../identity/identity.ts';
import type { RecordStore } from '../../../records/store.ts';
import { recognise } from '../../../servers/recognition/recognise.ts';
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
  Signal,
  SignalOutcome,
  Spawned,
  SpawnRequest,
} from '../../host.ts';
import type { Recognise } from '../../local/look/candidates.ts';
import type { At, Forwards, RemoteExec } from '../contract.ts';
import { Exits } from './exits.ts';
import { ForwardPool, othersClients } from './forward-pool.ts';
import { lingerProblem } from './linger.ts';
import { RemoteLooker } from './looking.ts';
import { machineLines, psMachineLines } from './machine-line.ts';
import { type Observed, Observing } from './observing.ts';
import { probePlatform, type RemotePlatform } from './platform.ts';
import { PsLooker } from './ps-looking.ts';
import { RecordNotes } from './record-notes.ts';
import { RemoteFiles } from './remote-files.ts';
import { machineFolder, RemoteRecords } from './remote-records.ts';
import { readSecrets } from './secrets.ts';
import { RemoteShell } from './shell.ts';
import { sendSignal, signallingOf } from './signalling.ts';
import { spawnRemote } from './spawning.ts';
import { takeStartLock } from './start-lock.ts';

const { join } = posix;

/** A look that is younger than this, in milliseconds, tells of the machine as well. */
const MACHINE_LIFETIME_MS = 5000;
const ANOTHERS: Verdict = {
  verdict: 'foreign',
  why: 'it was recorded on another machine that has the same machine id',
};
const TRIM_EVERY_MS = 10 * 60 * 1000;

class SshHost implements Host {
  readonly name: string;
  readonly signalling: Host['signalling'];
  readonly uid: number;
  readonly ownPids: readonly number[];
  readonly #shell: RemoteShell;
  readonly #contact: RemotePlatform;
  readonly #base: string;
  readonly #looker: RemoteLooker | PsLooker;
  readonly #observing: Observing;
  readonly #exits: Exits;
  readonly #files: RemoteFiles;
  readonly #reach: ForwardPool;
  readonly #lines: (read: (name: string) => string | null) => MachineLine;
  readonly #notes: RecordNotes;
  #lookedAt = Number.NEGATIVE_INFINITY;
  #trimmedAt = Number.NEGATIVE_INFINITY;

  constructor(
    shell: RemoteShell,
    contact: RemotePlatform,
    recogniser: Recognise,
    reach: ForwardPool,
    notes: RecordNotes,
  ) {
    this.#notes = notes;
    this.name = shell.host;
    this.signalling = signallingOf(shell.host, contact);
    this.uid = contact.uid;
    this.ownPids = contact.selfAndAncestors;
    this.#shell = shell;
    this.#contact = contact;
    this.#base = machineFolder(contact);
    this.#looker =
      contact.processes === 'ps'
        ? new PsLooker(shell, contact, recogniser)
        : new RemoteLooker(shell, contact, recogniser);
    this.#observing = new Observing(shell, contact);
    this.#exits = new Exits(shell, contact, (ref) => this.verify(ref));
    this.#files = new RemoteFiles(shell);
    this.#reach = reach;
    this.#lines = contact.processes === 'ps' ? psMachineLines(contact.hostname) : machineLines(contact.hostname);
  }

  async observer(): Promise<Observer> {
    return this.#contact.observer;
  }

  async look(request: LookRequest): Promise<Look> {
    const before = await this.#reach.ownConnections();
    const look = await this.#looker.look(request);
    const clients = othersClients(look.clients, before, await this.#reach.ownConnections());
    this.#lookedAt = performance.now();
    this.#exits.looked((pid) => this.#looker.runningSince(pid));
    this.#reach.looked(look);
    void this.#trim();
    return { ...look, clients };
  }

  async machine(): Promise<MachineLine> {
    if (performance.now() - this.#lookedAt >= MACHINE_LIFETIME_MS) await this.#looker.readMachine();
    return this.#lines((name) => this.#looker.global(name));
  }

  inspect(pid: number): Promise<ProcessInfo | null> {
    return this.#looker.inspect(pid);
  }

  portHolder(port: number): Promise<ProcessInfo | 'unreadable' | null> {
    return this.#looker.portHolder(port);
  }

  async verify(ref: ProcessRef): Promise<Verdict> {
    return (await this.#observe(ref)).verdict;
  }

  async #observe(ref: ProcessRef): Promise<Observed> {
    const nonce = this.#notes.nonceOf(ref);
    const asked = nonce === undefined ? ref : { ...ref, evidence: { ...ref.evidence, nonce } };
    const observed = await this.#observing.observe(asked);
    return observed.verdict.verdict === 'gone' && this.#isAnothers(ref) ? { seen: null, verdict: ANOTHERS } : observed;
  }

  /** Of another boot, but of no earlier one of this machine: it may well run where it was recorded. */
  #isAnothers(ref: ProcessRef): boolean {
    return ref.identity.bootId !== this.#contact.observer.bootId && this.#notes.isAnothers(ref);
  }

  async secrets(ref: ProcessRef, names: readonly string[]): Promise<Readonly<Partial<Record<string, string>>> | null> {
    if (this.#contact.processes === 'ps' || (await this.verify(ref)).verdict !== 'same') return null;
    return readSecrets(this.#shell, ref.identity, names);
  }

  async hold(ref: ProcessRef): Promise<ProcessHandle> {
    return {
      ref,
      verify: () => this.verify(ref),
      signal: (signal) => this.#signal(ref, signal),
      exited: (timeoutMs) => this.#exits.exited(ref, timeoutMs),
      // Nothing is held between two scripts.
      release: () => undefined,
    };
  }

  async #signal(ref: ProcessRef, signal: Signal): Promise<SignalOutcome> {
    const send = (as: ProcessRef): Promise<SignalOutcome> =>
      sendSignal(this.#shell, this.#contact, as, signal, async () => (await this.#observing.observe(as)).verdict);
    const outcome = await send(ref);
    if (outcome.sent || outcome.verdict.verdict !== 'unknown' || this.#notes.nonceOf(ref) === undefined) {
      return outcome;
    }
    const { verdict, seen } = await this.#observe(ref);
    if (verdict.verdict !== 'same' || seen?.found !== 'process') return outcome;
    return send({ identity: ref.identity, evidence: seen.evidence });
  }

  watchExit(ref: ProcessRef, onExit: (status: ExitStatus | null) => void): () => void {
    return this.#exits.watch(ref, onExit);
  }

  async spawn(request: SpawnRequest): Promise<Spawned> {
    const { ref, ended } = await spawnRemote(this.#shell, this.#contact, request);
    const nonce = request.env['ROLLCALL_NONCE'];
    if (nonce !== undefined) this.#notes.started(ref, nonce);
    if (ended !== null) return { ref, exit: Promise.resolve(ended) };
    const exit = new Promise<ExitStatus>((resolve) => {
      // Whose child it is by now cannot tell us how it ended.
      this.#exits.watch(ref, (status) => {
        this.#notes.ended(ref);
        resolve(status ?? { code: null, signal: null });
      });
    });
    return { ref, exit };
  }

  /** `~` is the account's home there. */
  folder(path: string): Promise<Folder> {
    const { home } = this.#contact;
    return this.#files.folder(path === '~' || path.startsWith('~/') ? `${home}${path.slice(1)}` : path);
  }

  isFile(path: string): Promise<boolean> {
    return this.#files.isFile(path);
  }

  tail(path: string, limitBytes: number): Promise<{ text: string; truncated: boolean }> {
    return this.#files.tail(path, limitBytes);
  }

  isProgram(path: string): Promise<boolean> {
    return this.#files.isProgram(path);
  }

  findProgram(name: string): Promise<string | null> {
    return this.#files.findProgram(name);
  }

  at(listener: Listener): At | null {
    return this.#reach.at(listener);
  }

  page(listener: Listener): { readonly address: string; readonly port: number } | null {
    return this.#reach.page(listener);
  }

  keepPages(listeners: readonly Listener[]): void {
    this.#reach.keepPages(listeners);
  }

  startLock(nonce: string, abort?: AbortSignal): Promise<() => Promise<void>> {
    return takeStartLock(this.#shell, join(this.#base, 'start.lock'), nonce, {}, abort ?? null);
  }

  /** Why what was started may go when the connection goes, with the remedy; null where nothing says so. */
  lingerProblem(): Promise<string | null> {
    return lingerProblem(this.#shell);
  }

  async #trim(): Promise<void> {
    if (performance.now() - this.#trimmedAt < TRIM_EVERY_MS) return;
    this.#trimmedAt = performance.now();
    // What fails now is done at the next turn: a log that is too long costs space and nothing else.
    await this.#files.trimLogs(join(this.#base, 'logs')).catch(() => undefined);
  }

  async close(): Promise<void> {
    this.#exits.close();
    this.#reach.close();
  }
}

export interface SshHostOptions {
  readonly name: string;
  readonly exec: RemoteExec;
  readonly forwards: Forwards;
  /** Called when a way to a server was opened or closed. */
  readonly onReach: () => void;
  /** Where this program itself stands, so that a remote that is this very machine is told; null where unknown. */
  readonly localObserver: Observer | null;
  /** Ports of pages, by what they lead to; kept by the caller so that a reconnect gives the same ones. */
  readonly pagePorts?: Map<string, number>;
  /** What records told; kept by the caller over reconnects, as the store is. */
  readonly notes?: RecordNotes;
  readonly recognise?: Recognise;
  /** True to do as if that machine had no /proc; for tests of what stands in for it. */
  readonly withoutProc?: boolean;
}

export interface SshHostDeps {
  readonly host: SshHost;
  readonly store: RecordStore;
  /** Where the logs of servers are on that machine. */
  readonly logsDir: string;
  readonly contact: RemotePlatform;
}

/** @throws SshFailed when the machine cannot be reached, or is not supported */
export async function createSshHost(options: SshHostOptions): Promise<SshHostDeps> {
  const shell = new RemoteShell(options.name, options.exec);
  const contact = await probePlatform(shell, options.localObserver, options.withoutProc);
  const reach = new ForwardPool(options.forwards, contact.uid, options.onReach, options.pagePorts ?? new Map());
  const base = machineFolder(contact);
  const notes = options.notes ?? new RecordNotes();
  return {
    host: new SshHost(shell, contact, options.recognise ?? recognise, reach, notes),
    store: new RemoteRecords(shell, contact, notes),
    logsDir: join(base, 'logs'),
    contact,
  };
}
