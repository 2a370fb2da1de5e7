/** What a person asks of hosts: to add, connect, leave and remove them, and to hand an answer to ssh. */
import type { Command, CommandResult, Failure } from '../../app/roll/commands.ts';
import type { HostEntry } from '../../app/roll/schema.ts';
import { hostNamed, stoppedByDisconnect } from '../../app/text/host-words.ts';
import type { HostAct } from '../view/hostActs.ts';
import type { Dialog, HostForm, HostSteps, WindowStore } from './store.ts';

export interface HostActions {
  /** Connects now; a pending retry is not waited for. */
  connectHost(name: string): void;
  /** Leaves a host, or stops trying to reach it. Its servers go on. */
  disconnectHost(name: string): void;
  openHost(host: HostEntry, act: HostAct): void;
  /** Connects with every step shown, and saves the host once that went well. */
  addHost(form: HostForm): void;
  /** Connects with every step shown; whether to save is asked afterwards. */
  testHost(form: HostForm): void;
  /** Shows the steps of the attempt that is under way or was the last one. */
  showSteps(host: string): void;
  /** One that was to be connected is connected again under its new name or alias. */
  saveHost(form: HostForm): Promise<CommandResult>;
  /** Saves several hosts under their own names and connects to each. */
  addHosts(aliases: readonly string[]): void;
  /** Tries the attempt of a dialog once more. */
  tryAgain(steps: HostSteps): void;
}

interface Parts {
  readonly store: WindowStore;
  run(command: Command): Promise<CommandResult>;
  ask(dialog: Dialog): void;
  showError(failure: Failure | null): void;
  copy(text: string): void;
}

export function hostActions({ store, run, ask, showError, copy }: Parts): HostActions {
  /** What went wrong on the way to a host stands in its strip; anything else has nowhere to be told. */
  const connectHost = async (name: string): Promise<void> => {
    showError(null);
    const result = await run({ command: 'connect', host: name });
    const { roll } = store.getState();
    const host = roll === null ? null : hostNamed(roll, name);
    const told =
      host !== null && (host.state === 'failed' || host.state === 'unsupported') && host.ssh?.failure != null;
    if (!result.ok && !told && host?.state !== 'disconnected') showError(result.failure);
  };
  const fromWindow = async (command: Command): Promise<void> => {
    showError(null);
    const result = await run(command);
    if (!result.ok) showError(result.failure);
  };
  const saveHost = ({ name, alias, connect, was }: HostForm): Promise<CommandResult> =>
    run({ command: 'save-host', name, alias, connect, was });
  /** One that keeps its alias as its name is saved only once it is connected; another must be saved to have that name. */
  const connectAndSave = async (form: HostForm): Promise<CommandResult> => {
    if (form.name !== form.alias) {
      const saved = await saveHost(form);
      return saved.ok ? run({ command: 'connect', host: form.name }) : saved;
    }
    const connected = await run({ command: 'connect', host: form.alias });
    return connected.ok ? saveHost(form) : connected;
  };
  const attempt = (steps: Pick<HostSteps, 'host' | 'form' | 'purpose'>): void => {
    const { form } = steps;
    const answer =
      steps.purpose === 'add' && form !== null ? connectAndSave(form) : run({ command: 'connect', host: steps.host });
    ask({ type: 'host-steps', ...steps, answer });
  };
  const showSteps = (host: string): void =>
    ask({ type: 'host-steps', host, answer: null, form: null, purpose: 'show' });
  const addOne = async (alias: string): Promise<void> => {
    const saved = await saveHost({ name: alias, alias, connect: 'at-start', was: null });
    if (saved.ok) await connectHost(alias);
    else showError(saved.failure);
  };

  return {
    connectHost: (name) => void connectHost(name),
    disconnectHost: (name) => void fromWindow({ command: 'disconnect', host: name, stopServers: false }),
    addHost: (form) => attempt({ host: form.name, form, purpose: 'add' }),
    testHost(form) {
      const { was } = form;
      const before = store.getState().roll?.hosts.find(({ name }) => name === was);
      attempt({ host: before?.ssh?.alias === form.alias ? before.name : form.alias, form, purpose: 'test' });
    },
    tryAgain: ({ host, form, purpose }) => attempt({ host, form, purpose }),
    showSteps,
    async saveHost(form) {
      const before = store.getState().roll?.hosts.find(({ name }) => name === form.was);
      const saved = await saveHost(form);
      const moved = before !== undefined && (before.name !== form.name || before.ssh?.alias !== form.alias);
      if (saved.ok && moved && before.state !== 'disconnected') void connectHost(form.name);
      return saved;
    },
    addHosts(aliases) {
      for (const alias of aliases) void addOne(alias);
    },
    openHost(host, act) {
      const { ssh, name } = host;
      if (ssh === null) return;
      switch (act) {
        case 'connect':
        case 'retry':
          return void connectHost(name);
        case 'steps':
          return showSteps(name);
        case 'save':
          return ask({ type: 'host-form', form: { name, alias: ssh.alias, connect: 'at-start', was: null } });
        case 'edit':
          return ask({ type: 'host-form', form: { name, alias: ssh.alias, connect: ssh.connect, was: name } });
        case 'disconnect':
          return void fromWindow({ command: 'disconnect', host: name, stopServers: false });
        case 'disconnect-stop': {
          const { roll } = store.getState();
          return ask({ type: 'disconnect', host: name, servers: roll === null ? [] : stoppedByDisconnect(roll, name) });
        }
        case 'remove': {
          const servers = store.getState().roll?.servers.filter((server) => server.host === name) ?? [];
          return ask({ type: 'remove-host', host, servers });
        }
        case 'copy-alias':
          return copy(ssh.alias);
      }
    },
  };
}
