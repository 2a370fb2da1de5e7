/**
 * One account on one machine, as long as somebody wants it: its connection, the first contact after each connecting,
 * and the supervisor that goes on over losses of the connection.
 */

import { type Audit, auditOf } from '../../audit/audit.ts';
import type { Host } from '../../hosts/host.ts';
import type { ConnectOptions, SshConnection } from '../../hosts/ssh/connection/ssh-connection.ts';
import type { RemotePlatform } from '../../hosts/ssh/host/platform.ts';
import { RecordNotes } from '../../hosts/ssh/host/record-notes.ts';
import { createSshHost, type SshHostDeps } from '../../hosts/ssh/host/ssh-host.ts';
import { ReconnectingHost } from '../../hosts/ssh/reconnecting-host.ts';
import { SshFailed } from '../../hosts/ssh-failed.ts';
import type { Observer, ProcessRef } from '../../identity/identity.ts';
import type { ProgramFinder } from '../../servers/kind.ts';
import type { SessionStore } from '../../sessions/session-tracker.ts';
import { plural } from '../../text/words.ts';
import { messageOf } from '../../util/errors.ts';
import type { Mode } from '../core.ts';
import { ServerHistory } from '../monitor/server-history.ts';
import type { SettingsSource } from '../settings.ts';
import { HostSupervisor } from './host-supervisor.ts';
import { isUnsupported } from './host-words.ts';
import { Steps } from './steps.ts';

/** Looks over a connection cost more than looks here, on both sides. Seconds. */
const SHORTEST_INTERVAL_S = 5;

export interface MachineDeps {
  readonly mode: Mode;
  readonly hears: boolean;
  readonly settings: SettingsSource;
  readonly audit: Audit;
  readonly writer: () => Promise<ProcessRef>;
  /** Where this program stands, so that a remote that is this very machine is told. */
  readonly localObserver: Observer;
  readonly watched: () => boolean;
  /** Where lives of sessions are written down; null where nothing is written. */
  readonly keeping: SessionStore | null;
  /** The contact was made, whoever asked for it. */
  readonly onContact: (machine: Machine) => void;
  readonly onChange: () => void;
}

export class Machine {
  readonly link: SshConnection;
  /** Name of the host that its rows are listed under. */
  readonly name: string;
  readonly steps = new Steps();
  readonly #parts: MachineDeps;
  #host: ReconnectingHost | null = null;
  /** Ports of pages, so that a reconnect gives the same ones. */
  readonly #pagePorts = new Map<string, number>();
  readonly #notes = new RecordNotes();
  #contact: RemotePlatform | null = null;
  #supervisor: HostSupervisor | null = null;
  /** RemotePlatform after the latest connecting; null while there is no connection. */
  #contacting: Promise<HostSupervisor> | null = null;
  /** The contact over this connection is made, and the machine has been looked at. */
  #made = false;
  #failure: SshFailed | null = null;
  #closed = false;

  constructor(parts: MachineDeps, link: SshConnection, name: string) {
    this.#parts = parts;
    this.link = link;
    this.name = name;
  }

  /** Who it is; null before the first contact. */
  get contact(): RemotePlatform | null {
    return this.#contact;
  }

  /** Also while the connection is lost: it shows what was last seen. */
  get supervisor(): HostSupervisor | null {
    return this.#supervisor;
  }

  /** Why the contact failed although the connection stands; null when it did not. */
  get failure(): SshFailed | null {
    return this.#failure;
  }

  /** Connected, and looked at. */
  get usable(): boolean {
    return this.link.state.status === 'connected' && this.#supervisor !== null && this.#made;
  }

  /** The contact is being made: the connection stands, and nothing is known yet. */
  get contacting(): boolean {
    return this.link.state.status === 'connected' && !this.usable && this.#failure === null;
  }

  /**
   * Connects where it is not connected, and makes contact.
   *
   * @throws SshFailed
   */
  async ready(options: ConnectOptions = {}): Promise<HostSupervisor> {
    if (this.#failure !== null) this.#dropContact();
    await this.link.connect(options);
    return this.#begin();
  }

  /** The link has changed. */
  linkChanged(): void {
    const { state } = this.link;
    this.steps.follow(state);
    // Of the connection before this one.
    if (state.status === 'connecting' || state.status === 'reconnecting') this.#failure = null;
    switch (state.status) {
      case 'connected':
        // Nobody may be waiting for it: then its failure is told by the state.
        this.#begin().catch(() => undefined);
        break;
      case 'reconnecting':
        if (this.#contacting !== null) this.#note('host-lost', `${this.name} was lost: ${state.why.message}`);
        this.steps.fail(state.why.step, state.why.message);
        this.#dropContact();
        break;
      case 'failed':
        this.steps.fail(state.error.step, state.error.message);
        this.#dropContact();
        break;
      case 'disconnected':
        if (this.#failure === null) this.steps.clear();
        this.#dropContact();
        break;
      default:
        this.#dropContact();
    }
    this.#parts.onChange();
  }

  #dropContact(): void {
    this.#contacting = null;
    this.#made = false;
  }

  #begin(): Promise<HostSupervisor> {
    this.#contacting ??= this.#probePlatform().catch((error: unknown) => {
      const failure = asFailure(this.name, error);
      // Of a link that was lost meanwhile its own state tells.
      if (this.link.state.status === 'connected') {
        this.#failure = failure;
        this.steps.fail(failure.step, failure.message);
        // It will not do however long the connection stands.
        if (isUnsupported(failure)) void this.link.disconnect();
      }
      this.#parts.onChange();
      throw failure;
    });
    return this.#contacting;
  }

  async #probePlatform(): Promise<HostSupervisor> {
    this.#failure = null;
    this.#made = false;
    this.steps.reach('shell', null);
    this.#parts.onChange();
    const made = await createSshHost({
      name: this.name,
      exec: this.link,
      forwards: this.link,
      localObserver: this.#parts.localObserver,
      onReach: () => this.#supervisor?.reached(),
      pagePorts: this.#pagePorts,
      notes: this.#notes,
    });
    const { contact } = made;
    if (contact.isLocal) throw isThisMachine(this.name);
    this.steps.reach('probe', `${contact.system} on ${contact.hostname}`);
    this.#parts.onChange();
    const before = this.#contact;
    this.#contact = contact;
    const known = this.#supervisor;
    let supervisor: HostSupervisor;
    if (known !== null && this.#host !== null && before !== null && isSame(before, contact)) {
      await this.#host.renew(made.host);
      const had = ours(known);
      await known.refresh();
      if (had.some((id) => !ours(known).includes(id))) await this.#hintAtLinger(made);
      supervisor = known;
    } else {
      supervisor = await this.#supervise(made, before);
    }
    if (this.#closed) throw disconnected(this.name);
    this.#made = true;
    this.steps.complete(null);
    this.#note('host-connected', `Connected to ${this.name}: ${contact.system}, ${contact.hostname}`);
    this.#parts.onChange();
    this.#parts.onContact(this);
    return supervisor;
  }

  async #supervise(made: SshHostDeps, before: RemotePlatform | null): Promise<HostSupervisor> {
    const { store, logsDir, contact } = made;
    const host = new ReconnectingHost(made.host);
    const { settings, mode, hears, audit, writer, keeping, onChange } = this.#parts;
    const old = this.#supervisor;
    if (old !== null && before !== null) {
      const ours = old.part.servers.filter(({ supervised }) => supervised !== null).length;
      const lost = ours === 0 ? '' : `; ${plural(ours, 'server')} of Rollcall’s there went with it`;
      const rebooted = before.observer.hostId === contact.observer.hostId;
      const text = rebooted ? `${this.name} has rebooted${lost}` : `${this.name} leads to another machine now`;
      this.#note('host-rebooted', text);
      this.#supervisor = null;
      this.#host = null;
      await old.close();
    }
    const supervisor = new HostSupervisor(
      {
        mode,
        hears,
        host,
        settings: {
          get config() {
            return settings.config;
          },
          kindOf: settings.forHost(this.name).kindOf,
          startable: async () => [],
          onChange: (listener) => settings.onChange(listener),
        },
        store,
        audit: auditOf(this.name, audit),
        memory: new ServerHistory(null, performance.now()),
        memoryFile: null,
        logsDir,
        // A server there has that account's own environment.
        env: {},
        finder: finderOn(this.name, host),
        programFileOf: () => null,
        writer,
        restarts: false,
        self: 'app',
        guard: null,
        handed: [],
        keeping,
        foreign: null,
        lookEverySeconds: () => Math.max(SHORTEST_INTERVAL_S, settings.config.look.intervalSeconds),
        reachable: () => this.link.state.status === 'connected',
      },
      onChange,
    );
    supervisor.watchedWhile(this.#parts.watched);
    await this.#open(supervisor);
    this.#host = host;
    this.#supervisor = supervisor;
    return supervisor;
  }

  /** A login that takes everything along when it ends looks like a crash, and is a setting of that machine. */
  async #hintAtLinger({ host }: SshHostDeps): Promise<void> {
    const hint = await host.lingerProblem();
    if (hint !== null) this.#note('host-lost', `Servers on ${this.name} went with the connection: ${hint}`);
  }

  /** One that did not open looks at nothing by itself, and another contact makes another. */
  async #open(supervisor: HostSupervisor): Promise<void> {
    try {
      await supervisor.open();
      if (this.#closed) throw disconnected(this.name);
    } catch (error) {
      await supervisor.close();
      throw error;
    }
  }

  #note(event: 'host-connected' | 'host-lost' | 'host-rebooted', text: string): void {
    const { audit, mode } = this.#parts;
    if (mode === 'app') audit.note({ event, by: 'app', host: this.name, subject: this.name, text });
  }

  /** Ends connection and supervision. Its servers go on. Idempotent. */
  async close(): Promise<void> {
    this.#closed = true;
    const supervisor = this.#supervisor;
    this.#supervisor = null;
    this.#contact = null;
    // First of all: what waits for an answer over it fails at once then.
    await this.link.disconnect();
    await supervisor?.close();
  }
}

function ours(supervisor: HostSupervisor): string[] {
  return supervisor.part.servers.flatMap(({ id, supervised }) => (supervised === null ? [] : [id]));
}

function isSame(one: RemotePlatform, other: RemotePlatform): boolean {
  const { hostId, bootId, pidNamespace } = other.observer;
  const { observer } = one;
  return (
    one.uid === other.uid &&
    observer.hostId === hostId &&
    observer.bootId === bootId &&
    observer.pidNamespace === pidNamespace
  );
}

function finderOn(name: string, host: Host): ProgramFinder {
  return {
    isProgram: (path) => host.isProgram(path),
    onPath: (program) => host.findProgram(program),
    onLoginPath: async () => 'unasked',
    place: `on the PATH that ${name} gives a command without a login`,
  };
}

function isThisMachine(name: string): SshFailed {
  return new SshFailed(
    name,
    'probe',
    'this-machine',
    `${name} is this very machine; its servers are listed under local.`,
    'Nothing has to be connected for them.',
  );
}

function disconnected(name: string): SshFailed {
  return new SshFailed(name, 'link', 'disconnected', `${name} was disconnected.`, 'Connect it again.');
}

function asFailure(name: string, error: unknown): SshFailed {
  if (error instanceof SshFailed) return error;
  const why = messageOf(error);
  return new SshFailed(
    name,
    'probe',
    'unexpected',
    `${name} could not be looked at: ${why}`,
    'Try again.',
    null,
    error,
  );
}
