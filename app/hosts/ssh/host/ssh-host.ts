/** A remote machine as a host: looks, verdicts and signals by scripts on one account there. Spawns no ssh itself. */
import type { Observer, ProcessRef, Verdict } from '../../../identity/identity.ts';
import { recognise } from '../../../servers/recognise.ts';
import type {
  ExitStatus,
  HeldProcess,
  Host,
  Look,
  LookRequest,
  MachineLine,
  ProcessInfo,
  Signal,
  SignalOutcome,
} from '../../host.ts';
import type { Recognise } from '../../local/collect.ts';
import type { RemoteExec } from '../contract.ts';
import { type Contact, makeContact } from './contact.ts';
import { Exits } from './exits.ts';
import { RemoteLooker } from './looking.ts';
import { machineLines } from './machine-line.ts';
import { Observing } from './observing.ts';
import { RemoteShell } from './shell.ts';
import { sendSignal, signallingOf } from './signalling.ts';

/** A look that is younger than this, in milliseconds, tells of the machine as well. */
const MACHINE_LIFETIME_MS = 5000;

class SshHost {
  readonly name: string;
  readonly signalling: Host['signalling'];
  readonly uid: number;
  readonly ownPids: readonly number[];
  readonly #shell: RemoteShell;
  readonly #contact: Contact;
  readonly #looker: RemoteLooker;
  readonly #observing: Observing;
  readonly #exits: Exits;
  readonly #lines: (read: (name: string) => string | null) => MachineLine;
  #lookedAt = Number.NEGATIVE_INFINITY;

  constructor(shell: RemoteShell, contact: Contact, recogniser: Recognise) {
    this.name = shell.host;
    this.signalling = signallingOf(shell.host, contact);
    this.uid = contact.uid;
    this.ownPids = contact.ownLine;
    this.#shell = shell;
    this.#contact = contact;
    this.#looker = new RemoteLooker(shell, contact, recogniser);
    this.#observing = new Observing(shell, contact);
    this.#exits = new Exits(shell, (ref) => this.verify(ref));
    this.#lines = machineLines(contact.hostname);
  }

  async observer(): Promise<Observer> {
    return this.#contact.observer;
  }

  async look(request: LookRequest): Promise<Look> {
    const look = await this.#looker.look(request);
    this.#lookedAt = performance.now();
    this.#exits.looked((pid) => this.#looker.runningSince(pid));
    return look;
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
    return (await this.#observing.observe(ref)).verdict;
  }

  async hold(ref: ProcessRef): Promise<HeldProcess> {
    return {
      ref,
      verify: () => this.verify(ref),
      signal: (signal) => this.#signal(ref, signal),
      exited: (timeoutMs) => this.#exits.exited(ref, timeoutMs),
      // Nothing is held between two scripts.
      release: () => undefined,
    };
  }

  #signal(ref: ProcessRef, signal: Signal): Promise<SignalOutcome> {
    return sendSignal(this.#shell, this.#contact, ref, signal, () => this.verify(ref));
  }

  watchExit(ref: ProcessRef, onExit: (status: ExitStatus | null) => void): () => void {
    return this.#exits.watch(ref, onExit);
  }

  async close(): Promise<void> {
    this.#exits.close();
  }
}

export interface SshHostOptions {
  readonly name: string;
  readonly exec: RemoteExec;
  /** Where this program itself stands, so that a remote that is this very machine is told; null where unknown. */
  readonly localObserver: Observer | null;
  readonly recognise?: Recognise;
}

/** @throws SshFailed when the machine cannot be reached, or is not supported */
export async function createSshHost(options: SshHostOptions): Promise<{ host: SshHost; contact: Contact }> {
  const shell = new RemoteShell(options.name, options.exec);
  const contact = await makeContact(shell, options.localObserver);
  return { host: new SshHost(shell, contact, options.recognise ?? recognise), contact };
}
