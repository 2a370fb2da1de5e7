/** What the hostManager asks of the hosts that are reached over SSH, and the answers where there are none. */
import type { Command, CommandResult } from '../../roll/commands.ts';
import type { Offered, Question } from '../../roll/schema.ts';
import type { Actor, QuitReport } from '../core.ts';
import { ActFailed } from '../failure.ts';
import type { HostSnapshot } from '../snapshot.ts';
import type { HostSupervisor } from './host-supervisor.ts';

export interface RemoteHosts {
  /** Connects to what is to be connected at start, without waiting for it. */
  open(): void;
  /** One for each host that is shown: saved ones and those that somebody connected to; in the order of the list. */
  parts(): readonly HostSnapshot[];
  /** Those that there is a connection to now, each machine once. */
  supervisors(): readonly HostSupervisor[];
  /**
   * The supervisor of a host that is connected now.
   *
   * @throws ActFailed when it is not
   */
  connected(name: string): HostSupervisor;
  questions(): readonly Question[];
  offered(): readonly Offered[];
  watchedWhile(test: () => boolean): void;
  /**
   * The supervisor of a host, which is connected to first where it is not. A machine that several hosts are has one.
   *
   * @throws ActFailed with the step that failed
   */
  reach(name: string): Promise<HostSupervisor>;
  connect(name: string, by: Actor): Promise<CommandResult>;
  disconnect(name: string, stopServers: boolean, by: Actor): Promise<CommandResult>;
  save(command: Extract<Command, { command: 'save-host' }>): Promise<CommandResult>;
  remove(name: string, by: Actor): Promise<CommandResult>;
  /** @returns false when no such question is open any more */
  answer(question: string, answer: string | null): boolean;
  /** The machine was asleep, or its network has changed: every connection is checked now. */
  wake(): void;
  /** Stops the servers that do not stay, where there is a connection. */
  quit(stopServers: boolean, deadlineMs: number): Promise<QuitReport>;
  /** Ends every connection and forward. */
  close(): Promise<void>;
}

function noneHere(): never {
  throw new ActFailed('no-hosts', 'No other host can be reached from here: only the app connects.', 'Start Rollcall.');
}

async function none(): Promise<never> {
  return noneHere();
}

/** For the guard, which sees to this machine alone. */
export const NO_REMOTE_HOSTS: RemoteHosts = {
  open: () => undefined,
  parts: () => [],
  supervisors: () => [],
  connected: noneHere,
  questions: () => [],
  offered: () => [],
  watchedWhile: () => undefined,
  reach: none,
  connect: none,
  disconnect: none,
  save: none,
  remove: none,
  answer: () => false,
  wake: () => undefined,
  quit: async () => ({ stopped: 0, leftRunning: 0, failed: [] }),
  close: async () => undefined,
};
