import type { ServerRecord } from '../records/schema.ts';
import type { Command, CommandResult, Plan } from '../roll/commands.ts';
import type { Leftover, Roll, Server } from '../roll/schema.ts';

/** Who gave a command; written into the audit. */
export type Actor = 'tray' | 'window' | 'cli' | 'app' | 'guard';

/** What `explain` tells of a PID or id. */
export interface Explanation {
  readonly server: Server | null;
  readonly leftover: Leftover | null;
  /** One sentence for a PID that is no recognised server or leftover; empty otherwise. */
  readonly text: string;
}

export interface LogText {
  readonly path: string | null;
  readonly text: string;
  /** Only the end of the log is in `text`. */
  readonly truncated: boolean;
}

/** A server of ours as its record names it, verified by the latest look, or one that is only being started. */
export interface Supervised {
  readonly record: ServerRecord;
  readonly path: string;
  readonly busy: Server['busy'];
  /** As rows name it. */
  readonly label: string;
  /** Its row; null while it is being started. */
  readonly id: string | null;
}

/** What happened to the servers when the app quit. */
export interface QuitReport {
  readonly stopped: number;
  readonly leftRunning: number;
  /** Servers that could not be stopped in time, by label, with the reason. */
  readonly failed: readonly string[];
  /** Why the guard does not see to what is left, as a sentence; absent when it does or nothing is left. */
  readonly unwatched?: string;
}

/**
 * What tray, window and CLI see of the supervisor. The one in this process implements it, and so does the client
 * that talks to the supervisor of the running app over its socket.
 */
export interface Core {
  /** The latest snapshot. */
  readonly roll: Roll;
  /** Calls back on every new snapshot; returns the unsubscription. */
  subscribe(listener: (roll: Roll) => void): () => void;
  /** Never rejects for a refusal or a failed act: those are answers. */
  run(command: Command, by: Actor): Promise<CommandResult>;
  /** Looks, then lists what a reap would signal. Changes nothing. */
  plan(targets: 'leaked' | readonly string[]): Promise<Plan>;
  /** `target` is a PID in digits of that host (this machine when none is named) or a row's id (or an unambiguous prefix of at least 4 digits of one). */
  explain(target: string, host?: string | null): Promise<Explanation>;
  /** @param server id of a supervised server, or nonce of one that ended */
  readLog(server: string): Promise<LogText>;
}

/** The supervisor that lives in this process. */
export interface LocalCore extends Core {
  /**
   * Tells how to find out whether somebody looks at the roll. While nobody does, looks are rarer: what is known and ends
   * comes by event in any case, only what is new waits for the next look.
   */
  watchedWhile(test: () => boolean): void;
  /** Answers a question of ssh; null takes it back. @returns false when it is not open any more */
  answer(question: string, answer: string | null): boolean;
  /** The machine was asleep, or its network has changed: every connection is checked now. */
  wake(): void;
  /** How many session-end hooks are still to be run, or run now. */
  readonly hooksDue: number;
  /** Every local server that Rollcall supervises, with its record. */
  supervised(): readonly Supervised[];
  /**
   * Ends what is not kept running (bounded), then releases the writer's lock, watches and workers.
   *
   * @param stopServers false leaves every server running
   * @param deadlineMs how long servers may take to stop, in milliseconds
   */
  close(stopServers: boolean, deadlineMs: number): Promise<QuitReport>;
}

/** How a supervisor is used. */
export type Mode =
  /** The app: looks all the time, watches owners, keeps a memory of them. */
  | 'app'
  /** The guard after the app has gone: looks and watches owners as the app does; ends and restarts nothing by itself. */
  | 'guard'
  /** One command that acts, under the writer's lock. */
  | 'act'
  /** One command that only shows. Changes nothing on disk. */
  | 'read';
