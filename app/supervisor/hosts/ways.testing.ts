/** Hosts over SSH without ssh: links whose states a test chooses, and settings that it changes. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { AuditInput } from '../../audit/audit.ts';
import { type Config, DEFAULTS, type HostSettings } from '../../config/schema.ts';
import { refOf } from '../../hosts/process-info.ts';
import type { ConnectionState } from '../../hosts/ssh/connection/connection-state.ts';
import type { ConnectOptions, SshConnection } from '../../hosts/ssh/connection/ssh-connection.ts';
import type { Transport } from '../../hosts/ssh/connection/transport.ts';
import type { ExecResult, RemoteExec } from '../../hosts/ssh/contract.ts';
import { LocalExec, SHELLS } from '../../hosts/ssh/testing/shells.ts';
import { SshFailed } from '../../hosts/ssh-failed.ts';
import type { SettingsSource } from '../settings.ts';
import { process } from '../testing/look.ts';
import type { MachineDeps } from './machine.ts';
import { type Access, SshHosts } from './ssh-hosts.ts';

/** Stands for a link; scripts run through `exec`. */
export class FakeLink implements RemoteExec {
  readonly alias: string;
  readonly target: string;
  /** How it was asked to connect, each time. */
  readonly asked: ConnectOptions[] = [];
  /** Scripts that were run over it. */
  ran = 0;
  state: ConnectionState = { status: 'disconnected' };
  run: (input: string | Buffer, deadlineMs: number) => Promise<ExecResult>;
  onChange: (link: SshConnection) => void = () => undefined;

  constructor(alias: string, run: FakeLink['run'] = noAnswer) {
    this.alias = alias;
    this.target = `me@${alias}`;
    this.run = run;
  }

  get asLink(): SshConnection {
    return this as unknown as SshConnection;
  }

  become(state: ConnectionState): void {
    this.state = state;
    this.onChange(this.asLink);
  }

  async connect(options: ConnectOptions = {}): Promise<void> {
    this.asked.push(options);
    if (this.state.status !== 'connected') this.become({ status: 'connected' });
  }

  async disconnect(): Promise<void> {
    if (this.state.status !== 'disconnected') this.become({ status: 'disconnected' });
  }

  retryNow(): void {
    // Nothing waits.
  }

  exec(input: string | Buffer, deadlineMs: number): Promise<ExecResult> {
    this.ran += 1;
    return this.run(input, deadlineMs);
  }

  socket(): Promise<never> {
    return Promise.reject(lost(this.alias));
  }

  port(): Promise<never> {
    return Promise.reject(lost(this.alias));
  }
}

export function lost(alias: string): SshFailed {
  return new SshFailed(alias, 'link', 'lost', `${alias} was lost.`, 'Wait.');
}

function noAnswer(): Promise<never> {
  return Promise.reject(lost('it'));
}

/** This machine as an account elsewhere. @param machineId what it says its machine id is */
export function accountHere(machineId: () => string | null = () => null): FakeLink['run'] {
  const home = mkdtempSync(join(tmpdir(), 'rollcall-account-'));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  const [shell] = SHELLS;
  if (shell === undefined) throw new Error('no shell to run scripts in');
  const account = new LocalExec(shell, { env: { HOME: home } });
  const own = readFileSync('/etc/machine-id', 'utf8').trim();
  return async (input, deadlineMs) => {
    const result = await account.exec(input, deadlineMs);
    const other = machineId();
    if (other === null || !result.stdout.includes(own)) return result;
    return { ...result, stdout: Buffer.from(result.stdout.toString('latin1').replaceAll(own, other), 'latin1') };
  };
}

export class FakeSettings implements SettingsSource {
  readonly problem = null;
  config: Config = DEFAULTS;
  readonly #listeners = new Set<() => void>();

  constructor(hosts: Readonly<Record<string, HostSettings>> = {}) {
    this.config = { ...DEFAULTS, hosts };
  }

  /** As if the person had edited the file. */
  become(hosts: Readonly<Record<string, HostSettings>>): void {
    this.config = { ...DEFAULTS, hosts };
    for (const listener of this.#listeners) listener();
  }

  kindOf(): null {
    return null;
  }

  async startable(): Promise<[]> {
    return [];
  }

  forHost(): Pick<SettingsSource, 'kindOf'> {
    return this;
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async reload(): Promise<void> {
    for (const listener of this.#listeners) listener();
  }

  async close(): Promise<void> {
    this.#listeners.clear();
  }
}

export function setting(connect: HostSettings['connect'], alias?: string): HostSettings {
  return { connect, start: {}, ...(alias === undefined ? {} : { alias }) };
}

export function machineDeps(settings: SettingsSource, notes: AuditInput[] = []): MachineDeps {
  return {
    mode: 'app',
    hears: false,
    keeping: null,
    settings,
    audit: { problem: null, recent: [], write: (line) => void notes.push(line), note: (line) => void notes.push(line) },
    writer: async () => refOf(process(2, 1)),
    localObserver: { hostId: 'the one that the tests run on', bootId: 'boot', pidNamespace: '1' },
    watched: () => true,
    onContact: () => undefined,
    onChange: () => undefined,
  };
}

/** The hosts of these settings, over these links by alias. Closed after the test. */
export function hostsOver(settings: SettingsSource, links: readonly FakeLink[]): SshHosts {
  const open = async (onLink: (link: SshConnection) => void): Promise<Access> => {
    for (const link of links) link.onChange = onLink;
    const transport = {
      link: async (alias: string) => {
        const link = links.find((each) => each.alias === alias);
        if (link === undefined) throw new SshFailed(alias, 'alias', 'no-alias', `${alias} leads nowhere.`, 'Fix it.');
        return link.asLink;
      },
      wake: async () => undefined,
    };
    return { transport: transport as unknown as Transport, close: async () => undefined };
  };
  const hosts = new SshHosts({
    ...machineDeps(settings),
    configFile: '/nowhere/config.json',
    openTransport: open,
    questions: null,
    offered: () => [],
  });
  onTestFinished(() => hosts.close());
  return hosts;
}
