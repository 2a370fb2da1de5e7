/** What a command may touch of its surroundings, so that tests can give it others. */
import type { Core } from '../supervisor/core.ts';

/** Exit codes, as documented in `rollcall --help`. */
export const DONE = 0;
export const FAILED = 1;
export const USAGE = 2;
export type ExitCode = typeof DONE | typeof FAILED | typeof USAGE;

export interface Io {
  /** Writes to standard output; resolves when it is written, or when nobody reads any more. */
  out(text: string): Promise<void>;
  /** Writes a line for the person to standard error. */
  say(line: string): void;
  readonly outIsTerminal: boolean;
  /** A person can be asked: both standard input and standard error are terminals. */
  readonly canAsk: boolean;
  /** Asks on standard error; true only for a plain yes. */
  ask(question: string): Promise<boolean>;
  /** Columns of the terminal; null where output is no terminal and nothing needs to be cut. */
  columns(): number | null;
  readonly colour: boolean;
  readonly home: string;
  readonly cwd: string;
  /** Aborted when nobody reads standard output any more, or on Ctrl-C once a command listens for it. */
  readonly ended: AbortSignal;
  /** From now on Ctrl-C, a hangup or SIGTERM aborts `ended` instead of ending the process; the second one ends it. */
  listenForInterrupt(): void;
}

/** A core to work with, wherever its supervisor lives. */
export interface CoreHandle {
  readonly core: Core;
  /** `app`: the running app's; it keeps its roll fresh by itself. `local`: in this process. */
  readonly origin: 'app' | 'local';
  /** Resolves when the app it talks to has gone; never for a local one. */
  readonly lost: Promise<Error>;
  /** Called before a server is bound to a process: a command that is killed from then on leaves somebody who watches. */
  watchOwners(): Promise<void>;
  close(): Promise<void>;
}

export interface OpenOptions {
  /** Every server is followed, and has told of its sessions where it answers; the app does so always. */
  readonly hears: boolean;
}

export interface Context {
  readonly io: Io;
  /** Opens a core: `read` changes nothing on disk and needs no lock; `act` holds the writer's lock. */
  open(mode: 'read' | 'act', options?: OpenOptions): Promise<CoreHandle>;
  readonly auditFile: string;
  readonly sessionsFile: string;
}

/** The words after a command, checked against its description. */
export interface Arguments {
  readonly positionals: readonly string[];
  /** Whether an option without a value was given. */
  has(option: string): boolean;
  /** The value of an option that takes one. */
  value(option: string): string | undefined;
}

export type CommandRun = (context: Context, args: Arguments) => Promise<ExitCode>;

/** The command line cannot be understood; `hint` says what would be. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
  readonly hint: string;
  constructor(message: string, hint: string) {
    super(message);
    this.hint = hint;
  }
}
