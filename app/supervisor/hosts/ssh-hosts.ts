/** The hosts that are reached over SSH: saved ones and those that somebody named, each with its connection. */

import { whyRefused } from '../../config/alias.ts';
import { removeHost, saveHost } from '../../config/edit.ts';
import { isHostName, LOCAL_HOST } from '../../config/schema.ts';
import type { ConnectOptions, SshConnection } from '../../hosts/ssh/connection/ssh-connection.ts';
import type { Transport } from '../../hosts/ssh/connection/transport.ts';
import { SshFailed } from '../../hosts/ssh-failed.ts';
import type { Command, CommandResult } from '../../roll/commands.ts';
import type { Offered, Question, SshEntry } from '../../roll/schema.ts';
import { plural } from '../../text/words.ts';
import type { Actor, QuitReport } from '../core.ts';
import { ActFailed, done, failed, failureOf } from '../failure.ts';
import type { HostSnapshot } from '../snapshot.ts';
import type { HostSupervisor } from './host-supervisor.ts';
import { hostPartOf } from './host-words.ts';
import { Machine, type MachineDeps } from './machine.ts';
import type { PendingQuestions } from './pending-questions.ts';
import type { RemoteHosts } from './remote-hosts.ts';

export interface SshHostsDeps extends Omit<MachineDeps, 'watched' | 'onContact'> {
  readonly configFile: string;
  /** Opened when the first host is connected to. */
  readonly openTransport: (onChange: (link: SshConnection) => void) => Promise<Access>;
  /** Null where no person can be asked. */
  readonly questions: PendingQuestions | null;
  /** Looks up what could be added. */
  readonly offered: () => readonly Offered[];
}

/** The connections, and what has to be closed with them. */
export interface Access {
  readonly transport: Transport;
  /** Idempotent, never rejects. */
  close(): Promise<void>;
}

interface Entry {
  readonly name: string;
  readonly alias: string;
  saved: boolean;
  connect: SshEntry['connect'];
  machine: Machine | null;
  /** Where its alias leads. */
  target: string | null;
  /** Why its alias could not be resolved, or that it is this very machine. */
  failure: SshFailed | null;
}

export class SshHosts implements RemoteHosts {
  readonly #parts: SshHostsDeps;
  readonly #entries = new Map<string, Entry>();
  readonly #machines = new Map<SshConnection, Machine>();
  /** Machines that are being let go of. Their links are the same ones that a new machine would get. */
  readonly #ends = new Set<Promise<void>>();
  #access: Promise<Access> | null = null;
  #offered: readonly Offered[] = [];
  #watched: () => boolean = () => true;
  /** Hosts that are to be connected with the app and were seen to; null before it opens, and for a command. */
  #wanted: ReadonlySet<Entry> | null = null;
  #closed = false;

  constructor(parts: SshHostsDeps) {
    this.#parts = parts;
    this.#follow();
    parts.settings.onChange(() => this.#onSettings());
  }

  open(): void {
    this.#offered = this.#parts.offered();
    // A command connects only to what it is about.
    if (this.#parts.mode !== 'app') return;
    this.#wanted = new Set();
    // One that is not there yet, when the app starts, is waited for.
    this.#connectWanted({ keepTrying: true });
  }

  /** Connects what has come to be connected with the app since the last time: one that a person took back stays so. */
  #connectWanted(options: ConnectOptions): void {
    const before = this.#wanted;
    if (before === null) return;
    const wanted = [...this.#entries.values()].filter(({ connect }) => connect === 'at-start');
    this.#wanted = new Set(wanted);
    for (const entry of wanted) {
      // Its state tells how it went.
      if (!before.has(entry)) void this.reach(entry.name, options).catch(() => undefined);
    }
  }

  /** The saved hosts as the configuration has them now; what is gone from it or leads elsewhere is let go of. */
  #follow(): void {
    const { config, problem } = this.#parts.settings;
    const { hosts } = config;
    // Of a file with a mistake in it, what is missing may just not have been understood.
    const gone = problem === null ? [...this.#entries.values()] : [];
    for (const entry of gone) {
      const settings = hosts[entry.name];
      const alias = settings?.alias ?? entry.name;
      if (!entry.saved && settings === undefined) continue;
      if (settings === undefined || alias !== entry.alias) {
        this.#entries.delete(entry.name);
        void this.#letGo(entry);
      }
    }
    for (const [name, { alias = name, connect }] of Object.entries(hosts)) {
      const known = this.#entries.get(name);
      // The very entry: a connecting that is under way goes on with it.
      if (known !== undefined) Object.assign(known, { saved: true, connect });
      else this.#entries.set(name, { name, alias, saved: true, connect, machine: null, target: null, failure: null });
    }
  }

  #onSettings(): void {
    this.#follow();
    this.#offered = this.#parts.offered();
    this.#parts.onChange();
    // Who has just set it is told at once when it fails.
    this.#connectWanted({});
  }

  parts(): readonly HostSnapshot[] {
    return [...this.#entries.values()].map((entry) => {
      const { machine } = entry;
      const primary = machine?.name === entry.name;
      const shared = machine !== null && !primary && entry.failure === null ? machine.name : null;
      return hostPartOf({
        name: entry.name,
        alias: entry.alias,
        saved: entry.saved,
        connect: entry.connect,
        sharedWith: shared,
        target: entry.target,
        steps: machine?.steps.list ?? [],
        link: machine?.link.state ?? null,
        contacting: machine?.contacting ?? false,
        failure: entry.failure ?? machine?.failure ?? null,
        part: primary ? (machine.supervisor?.part ?? null) : null,
      });
    });
  }

  supervisors(): readonly HostSupervisor[] {
    return [...this.#machines.values()].flatMap((machine) =>
      machine.usable && machine.supervisor !== null ? [machine.supervisor] : [],
    );
  }

  connected(name: string): HostSupervisor {
    const { machine = null } = this.#entries.get(name) ?? {};
    if (machine?.usable === true && machine.supervisor !== null) return machine.supervisor;
    const message = `Nothing can be done on ${name} now: without a connection Rollcall cannot prove which process is which.`;
    throw new ActFailed('not-connected', message, 'It works again when the host is connected and was looked at.');
  }

  questions(): readonly Question[] {
    return this.#parts.questions?.list ?? [];
  }

  offered(): readonly Offered[] {
    return this.#offered.filter(({ alias }) => ![...this.#entries.values()].some((entry) => entry.alias === alias));
  }

  watchedWhile(test: () => boolean): void {
    this.#watched = test;
  }

  /** What the host with that alias is called. */
  nameOf(alias: string): string {
    return [...this.#entries.values()].find((entry) => entry.alias === alias)?.name ?? alias;
  }

  async reach(name: string, options: ConnectOptions = {}): Promise<HostSupervisor> {
    const entry = this.#entry(name);
    try {
      return await this.#reach(entry, options);
    } catch (error) {
      if (!(error instanceof SshFailed)) throw error;
      // What a person took back has not failed.
      const withdrawn = error.code === 'disconnected';
      if (error.code === 'this-machine') await this.#letGo(entry);
      if (entry.machine === null && !withdrawn) entry.failure = error;
      this.#parts.onChange();
      throw new ActFailed(error.code, error.message, error.remedy, error.output);
    }
  }

  async #reach(entry: Entry, options: ConnectOptions): Promise<HostSupervisor> {
    if (this.#closed) throw new ActFailed('quitting', `${entry.name} was not connected: Rollcall is quitting.`, '');
    entry.failure = null;
    const machine = await this.#machineOf(entry);
    const supervisor = await machine.ready(options);
    // It may have been connected all the time for another host, or be the same machine as that one by another way.
    this.#parts.onChange();
    return entry.machine?.supervisor ?? supervisor;
  }

  /** Two ways to one account: one connection is enough, and each server is listed once. The later one goes. */
  #onContact(machine: Machine): void {
    const twin = this.#twinOf(machine);
    if (twin === null) return;
    for (const other of this.#entries.values()) if (other.machine === machine) other.machine = twin;
    // Not awaited by the contact itself, which it ends. It is bounded, and never rejects.
    void this.#end(machine).then(() => this.#parts.onChange());
  }

  /** @throws SshFailed when the alias leads nowhere */
  async #machineOf(entry: Entry): Promise<Machine> {
    if (entry.machine !== null) return entry.machine;
    const { transport } = await this.#open();
    await Promise.allSettled([...this.#ends]);
    const link = await transport.link(entry.alias);
    entry.target = link.target;
    let machine = this.#machines.get(link);
    if (machine === undefined) {
      machine = new Machine(
        { ...this.#parts, watched: () => this.#watched(), onContact: (each) => this.#onContact(each) },
        link,
        entry.name,
      );
      this.#machines.set(link, machine);
    }
    entry.machine = machine;
    return machine;
  }

  /** @throws what keeps ssh from being used at all; the next wish tries again */
  #open(): Promise<Access> {
    this.#access ??= this.#parts
      .openTransport((link) => this.#machines.get(link)?.linkChanged())
      .catch((error: unknown) => {
        this.#access = null;
        throw error;
      });
    return this.#access;
  }

  #twinOf(machine: Machine): Machine | null {
    const { contact } = machine;
    if (contact === null) return null;
    const alike = [...this.#machines.values()].find(
      (other) =>
        other !== machine &&
        other.usable &&
        other.contact?.uid === contact.uid &&
        other.contact.observer.hostId === contact.observer.hostId &&
        other.contact.observer.pidNamespace === contact.observer.pidNamespace,
    );
    return alike ?? null;
  }

  #entry(name: string): Entry {
    const known = this.#entries.get(name);
    if (known !== undefined) return known;
    if (name === LOCAL_HOST || !isHostName(name)) {
      const message = `${name} cannot be connected to: that is no alias of ssh.`;
      throw new ActFailed('no-alias', message, 'Name a host of your ssh configuration, or user@machine.');
    }
    const entry: Entry = {
      name,
      alias: name,
      saved: false,
      connect: 'when-asked',
      machine: null,
      target: null,
      failure: null,
    };
    this.#entries.set(name, entry);
    return entry;
  }

  async connect(name: string, _by: Actor): Promise<CommandResult> {
    const entry = this.#entries.get(name);
    entry?.machine?.link.retryNow();
    await this.reach(name);
    const shared = this.#entries.get(name)?.machine?.name;
    return done(
      `Connected to ${name}${shared === undefined || shared === name ? '' : `, the same machine as ${shared}`}.`,
    );
  }

  async disconnect(name: string, stopServers: boolean, by: Actor): Promise<CommandResult> {
    const entry = this.#entries.get(name);
    if (entry === undefined) {
      throw new ActFailed('no-host', `No host is called ${name}.`, 'The list of hosts shows what there is.');
    }
    const stopped = stopServers ? await this.#stopServers(entry, by) : null;
    if (stopped !== null && !stopped.ok) return stopped;
    await this.#letGo(entry);
    if (!entry.saved) this.#entries.delete(name);
    this.#parts.onChange();
    const what = stopped === null ? 'Its servers go on' : stopped.message;
    return done(`Disconnected from ${name}. ${what}${what.endsWith('.') ? '' : '.'}`);
  }

  /** @returns the failure of the first server that did not stop */
  async #stopServers({ name, machine }: Entry, by: Actor): Promise<CommandResult> {
    const supervisor = machine?.usable === true ? machine.supervisor : null;
    if (supervisor === null) {
      const message = `Nothing was stopped on ${name}, because there is no connection to it.`;
      throw new ActFailed('not-connected', message, 'Connect it first, or disconnect without stopping.');
    }
    const ours = supervisor.part.servers.filter(({ stop }) => stop.allowed !== 'no');
    const results = await Promise.all(
      ours.map(({ id }) => supervisor.run({ command: 'stop', server: id, force: true }, by)),
    );
    return results.find(({ ok }) => !ok) ?? done(`${plural(ours.length, 'server')} stopped.`);
  }

  /** The entry wants no connection any more; another host of the same machine keeps it, under its own name. */
  async #letGo(entry: Entry): Promise<void> {
    const { machine } = entry;
    entry.machine = null;
    entry.failure = null;
    if (machine === null) return;
    const others = [...this.#entries.values()].filter((other) => other.machine === machine);
    if (others.length > 0 && machine.name !== entry.name) return;
    for (const other of others) other.machine = null;
    await this.#end(machine);
    for (const { name } of others) void this.reach(name).catch(() => undefined);
  }

  async #end(machine: Machine): Promise<void> {
    this.#machines.delete(machine.link);
    const ended = machine.close();
    this.#ends.add(ended);
    try {
      await ended;
    } finally {
      this.#ends.delete(ended);
    }
  }

  async save({ name, alias, connect, was }: Extract<Command, { command: 'save-host' }>): Promise<CommandResult> {
    const { hosts } = this.#parts.settings.config;
    if (name === LOCAL_HOST || !isHostName(name) || whyRefused(alias) !== null) {
      const message = `${name} was not saved: a host is named as ssh names one.`;
      throw new ActFailed('no-alias', message, 'Use letters, digits, dots and dashes.');
    }
    if (name !== was && hosts[name] !== undefined) {
      throw new ActFailed('name-taken', `A host called ${name} is saved already.`, 'Choose another name.');
    }
    const before = was === null || was === name ? null : (this.#entries.get(was)?.machine ?? null);
    const saved = await this.#change(
      () => saveHost(this.#parts.configFile, name, { alias, connect }, was),
      `${name} was saved.`,
    );
    // Another name for what was connected: its state tells how it goes.
    if (saved.ok && before !== null) void this.reach(name).catch(() => undefined);
    return saved;
  }

  async remove(name: string, _by: Actor): Promise<CommandResult> {
    const entry = this.#entries.get(name);
    if (entry === undefined) throw new ActFailed('no-host', `No host is called ${name}.`, '');
    const what = `${name} was removed. Its servers and their records stay where they are.`;
    // Out of the file first: what cannot be taken out of it is not taken off the list either.
    if (entry.saved) return this.#change(() => removeHost(this.#parts.configFile, name), what);
    await this.#letGo(entry);
    this.#entries.delete(name);
    this.#parts.onChange();
    return done(`${name} was taken off the list.`);
  }

  async #change(change: () => Promise<void>, message: string): Promise<CommandResult> {
    try {
      await change();
      await this.#parts.settings.reload();
      return done(message);
    } catch (error) {
      return failed({ ...failureOf(error), code: 'not-saved' });
    }
  }

  answer(question: string, answer: string | null): boolean {
    return this.#parts.questions?.answer(question, answer) ?? false;
  }

  wake(): void {
    // A connection that does not answer is replaced; its state tells.
    this.#access?.then(({ transport }) => transport.wake()).catch(() => undefined);
  }

  async quit(stopServers: boolean, deadlineMs: number): Promise<QuitReport> {
    // A host that nothing is to be stopped on is not asked: it may not answer.
    const stopping = this.supervisors().filter(({ part }) =>
      part.servers.some(({ supervised }) => supervised?.keepRunning === false),
    );
    const reports = await Promise.all(stopping.map((each) => each.quit(stopServers, deadlineMs)));
    return {
      stopped: reports.reduce((sum, { stopped }) => sum + stopped, 0),
      leftRunning: reports.reduce((sum, { leftRunning }) => sum + leftRunning, 0),
      failed: reports.flatMap((report) => report.failed),
    };
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#parts.questions?.close();
    await Promise.all([...this.#machines.values()].map((machine) => machine.close()));
    // One that could not be opened has nothing to be closed.
    await (await this.#access?.catch(() => null))?.close();
  }
}
