import type { Executable, Observer, ProcessIdentity, ProcessRef, StartTime, Verdict } from '../identity/identity.ts';
import type { CustomKind, DialAddress, Recognition } from '../servers/kind.ts';

/** Environment variables that are read from a process, and no others: the rest of an environment is secret. */
export const MARK_NAMES = [
  'OPENCODE_PID',
  'KILO_PID',
  'ROLLCALL_NONCE',
  'ROLLCALL_KIND',
  'npm_lifecycle_event',
  'SSH_CONNECTION',
  // The command a shell started: `/usr/bin/nohup` for what somebody meant to stay.
  '_',
] as const;
export type MarkName = (typeof MARK_NAMES)[number];
export type Marks = Readonly<Partial<Record<MarkName, string>>>;

/** One process as a look saw it. Bytes are bytes, times are milliseconds since the epoch (for people only). */
export interface ProcessInfo {
  readonly identity: ProcessIdentity;
  readonly pid: number;
  readonly ppid: number;
  readonly pgrp: number;
  readonly session: number;
  /** Device number of the controlling terminal; 0 for none. */
  readonly tty: number;
  /** Foreground group of that terminal; -1 when its master has closed. */
  readonly tpgid: number;
  /** One letter from the kernel: R S D T t Z X I. */
  readonly state: string;
  readonly threads: number;
  readonly startTime: StartTime;
  readonly startedAt: number;
  /** Age in milliseconds by the kernel's own clock, which no setting of the time changes. */
  readonly ageMs: number;
  readonly comm: string;
  /** Decoded for people; never blank-split. Empty for a kernel thread, a zombie or an unreadable one. */
  readonly argv: readonly string[];
  /** Hex sha256 of the raw argv bytes; null where unreadable. */
  readonly argvHash: string | null;
  readonly executable: Executable | null;
  readonly cwd: string | null;
  /** Real uid; null where unreadable. */
  readonly uid: number | null;
  readonly rssBytes: number;
  /** Proportional set size; read for servers and their trees only. */
  readonly pssBytes: number | null;
  /** Percent of one core since the look before; null on the first. */
  readonly cpuPercent: number | null;
  /** SIGHUP is ignored (nohup): somebody meant this process to stay. */
  readonly ignoresHangup: boolean | null;
  /** Leaf cgroup path, the unified or the systemd hierarchy; null where unreadable. */
  readonly cgroup: string | null;
  /** PID namespace the process itself lives in; null where unreadable. */
  readonly ownPidNamespace: string | null;
  /** Null where its environment could not be read, or is another user's: then it may carry any mark. */
  readonly marks: Marks | null;
}

export interface Listening {
  readonly pid: number;
  readonly address: string;
  readonly port: number;
}

/** An established connection to a port that a process of interest listens on. */
export interface Client {
  /** Port of the server it is connected to. */
  readonly port: number;
  readonly serverPid: number;
  /** The process at the other end where it is on this machine and readable. */
  readonly peerPid: number | null;
  readonly peerAddress: string;
}

/** A Unix socket that a process of interest listens on. */
export interface UnixListening {
  readonly pid: number;
  readonly path: string;
  /** Connections to it; the processes at their other ends cannot be told. */
  readonly connections: number;
}

/** An established connection that a server itself opened, a model request for example. */
export interface Outgoing {
  readonly pid: number;
  readonly address: string;
  readonly port: number;
}

/** A process that a kind recognised. */
export interface Candidate {
  readonly pid: number;
  readonly recognition: Recognition;
}

/** A process whose arguments are a server's and whose program cannot be read: no server, until it can be. */
export interface UnprovedProcess {
  readonly pid: number;
  /** Name of the kind that its arguments claim. */
  readonly kind: string;
  /** What kept its program from being read. */
  readonly why: 'denied' | 'no-lsof' | 'no-stat';
}

/** What could not be read, said instead of left out. */
export interface Gap {
  readonly pid: number;
  readonly why: string;
}

/**
 * One look at a host: every recognised process, its ancestors, its descendants, every process that carries a
 * server's mark, and every process named in the request. Processes nobody asked about stay out.
 */
export interface Look {
  readonly observer: Observer;
  /** Milliseconds since the epoch. */
  readonly takenAt: number;
  /** How long it took, in milliseconds. */
  readonly tookMs: number;
  /** How many processes the host has. */
  readonly counted: number;
  readonly processes: ReadonlyMap<number, ProcessInfo>;
  /**
   * Each is what its arguments and its program, as `processes` has them, say: recognised anew in every look. One of
   * another user whose program may not be read is here by its arguments alone; nothing is ever done to it.
   */
  readonly candidates: readonly Candidate[];
  /** Those of our own user that would be candidates if their programs could be read. */
  readonly unproved: readonly UnprovedProcess[];
  readonly listening: readonly Listening[];
  readonly clients: readonly Client[];
  readonly outgoing: readonly Outgoing[];
  /** Null where the table of Unix sockets could not be read, or the platform has none to read. */
  readonly unixSockets: readonly UnixListening[] | null;
  /** Sockets could not be read at all: "no client" is then unknown, not proved. */
  readonly socketsReadable: boolean;
  /** The observer itself runs in a container, so a container cgroup says nothing about others. */
  readonly ownCgroupIsContainer: boolean;
  /** Our own processes on this host: never part of anything that ends, and no clients. */
  readonly ownPids: readonly number[];
  /** PIDs that are or act as a reaper of orphans (PID 1 and known subreapers such as `systemd --user`). */
  readonly reapers: readonly number[];
  readonly gaps: readonly Gap[];
}

export interface LookRequest {
  readonly customKinds: readonly CustomKind[];
  /** PIDs to include whatever they are (recorded processes, owners to watch). */
  readonly include: readonly number[];
  /** PIDs to include with everything that descends from them. */
  readonly trees?: readonly number[];
  /** Our own sockets' processes: their connections are never clients. */
  readonly ownPids: readonly number[];
}

/** CPU, memory and load of a host, for its line in the window. */
export interface MachineLine {
  readonly hostname: string;
  readonly cpuPercent: number | null;
  readonly memoryTotalBytes: number;
  readonly memoryUsedBytes: number;
  readonly load1: number | null;
  readonly cores: number;
}

export type Signal = 'SIGTERM' | 'SIGKILL' | 'SIGCONT' | 'SIGINT' | 'SIGHUP';

export type SignalOutcome =
  | { readonly sent: true }
  /** The fresh verdict was not `same`, so nothing was sent. */
  | { readonly sent: false; readonly verdict: Verdict };

/**
 * A grip on one recorded process. On Linux it holds a pidfd from the first verification until `release`, so no
 * signal through it can reach any other process; elsewhere each signal is preceded by a fresh verification.
 */
export interface ProcessHandle {
  readonly ref: ProcessRef;
  /** A fresh look at the identity. */
  verify(): Promise<Verdict>;
  /** Verifies, then signals; never throws for a process that is gone. */
  signal(signal: Signal): Promise<SignalOutcome>;
  /** Resolves true when the process has exited, false after `timeoutMs`. */
  exited(timeoutMs: number): Promise<boolean>;
  release(): void;
}

export interface SpawnRequest {
  readonly argv: readonly [string, ...string[]];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** Append-only file for both streams; created 0600. */
  readonly logPath: string;
}

/** How a process ended: `code` or `signal` is set. */
export interface ExitStatus {
  readonly code: number | null;
  /** Name of the signal, `SIGKILL` for example. */
  readonly signal: string | null;
}

export interface Spawned {
  readonly ref: ProcessRef;
  /** Resolves when the direct child has exited. Never rejects. */
  readonly exit: Promise<ExitStatus>;
}

/** A process that listens on a port of its host, as a look proved it. */
export interface Listener {
  readonly identity: ProcessIdentity;
  /** As the process bound it: a literal address. */
  readonly address: string;
  readonly port: number;
}

/** A folder by its canonical path, or why there is none. */
export type Folder =
  | { readonly found: true; readonly path: string }
  | { readonly found: false; readonly why: 'absent' | 'no-folder' | 'unreadable' };

/** The files of a host that starting and watching servers there takes. */
export interface HostFiles {
  /** The folder itself, whatever links lead to it. */
  folder(path: string): Promise<Folder>;
  /** A regular file is there, and is no link. */
  isFile(path: string): Promise<boolean>;
  /** The end of a text file, cut at a line; an absent one is empty. */
  tail(path: string, limitBytes: number): Promise<{ readonly text: string; readonly truncated: boolean }>;
  isProgram(path: string): Promise<boolean>;
  /** First program of that name on the PATH of this account without a login. */
  findProgram(name: string): Promise<string | null>;
}

/** Where a process lives. Everything above this interface is written once for every host. */
export interface Host extends HostFiles {
  /** Name of the host in the roll: `local`, or a saved SSH host's name. */
  readonly name: string;
  /** The account that looks and signals here; null where there are no uids. Other uids are never signalled. */
  readonly uid: number | null;
  /** Our own processes here, for looks. */
  readonly ownPids: readonly number[];
  /** How signals are sent here, said to the person (`pidfd`, or what stands in for it and why). */
  readonly signalling: { readonly method: 'pidfd' | 'verify-then-kill'; readonly note: string };
  observer(): Promise<Observer>;
  /** Rejects with `LookFailed` when the processes cannot be listed at all. */
  look(request: LookRequest): Promise<Look>;
  machine(): Promise<MachineLine>;
  /** Reads one process now, whatever it is; null when no process has that PID. Throws `ReadFailed` when it cannot tell. */
  inspect(pid: number): Promise<ProcessInfo | null>;
  /**
   * Who listens on a TCP port of this host, whatever it is: null for nobody, `unreadable` when somebody does whose
   * process cannot be told (another user's).
   */
  portHolder(port: number): Promise<ProcessInfo | 'unreadable' | null>;
  /** A fresh verdict on a recorded identity. Never throws: a failing look is `unknown`. */
  verify(ref: ProcessRef): Promise<Verdict>;
  /**
   * Named variables of the environment of a process that runs as this account, and nothing else of it. Null where it is not
   * provably the recorded one, or its environment cannot be read. What it answers is secret: never logged, never in a roll.
   */
  secrets(ref: ProcessRef, names: readonly string[]): Promise<Readonly<Partial<Record<string, string>>> | null>;
  hold(ref: ProcessRef): Promise<ProcessHandle>;
  /**
   * Calls back once, by event where the platform has one, when the process is gone, with how it ended; null where that
   * cannot be known. Returns the cancellation.
   */
  watchExit(ref: ProcessRef, onExit: (status: ExitStatus | null) => void): () => void;
  spawn(request: SpawnRequest): Promise<Spawned>;
  /**
   * The way to a listener from this process; null while there is none. On another host it stands only as long as looks
   * prove that this very process listens there.
   */
  at(listener: Listener): DialAddress | null;
  /** Where a browser on this machine finds a listener; null while it cannot. */
  page(listener: Listener): { readonly address: string; readonly port: number } | null;
  /** Keeps a page open to these listeners and to no others. Does not wait; `page` tells when it stands. */
  keepPages(listeners: readonly Listener[]): void;
  /**
   * One start at a time per account and machine, whoever else asks. Resolves with the release; a lock that cannot be
   * made for any other reason than that somebody holds it is done without.
   *
   * @throws StartHeld when somebody else has it for longer than a start takes, and the reason of `abort` once that fires
   */
  startLock(nonce: string, abort?: AbortSignal): Promise<() => Promise<void>>;
  close(): Promise<void>;
}

/** Somebody else is starting a server on that host, and does not come to an end. */
export class StartHeld extends Error {
  override readonly name = 'StartHeld';
  readonly host: string;
  constructor(host: string) {
    super(`Another Rollcall is starting a server on ${host}. Try again in a moment.`);
    this.host = host;
  }
}

/** A process could not be read although it may exist. */
export class ReadFailed extends Error {
  override readonly name = 'ReadFailed';
  readonly pid: number;
  readonly why: string;
  constructor(pid: number, why: string) {
    super(`PID ${pid} could not be read: ${why}`);
    this.pid = pid;
    this.why = why;
  }
}

/** The look as a whole failed; what it would have shown is unknown, not absent. */
export class LookFailed extends Error {
  override readonly name = 'LookFailed';
  readonly why: string;
  constructor(why: string, cause?: unknown, whose = 'This machine') {
    super(
      `${whose}'s processes could not be listed: ${why.replace(/\.$/u, '')}. Nothing was changed; the next look tries again.`,
      {
        cause,
      },
    );
    this.why = why;
  }
}

/** The program could not be started; nothing of it runs. */
export class SpawnFailed extends Error {
  override readonly name = 'SpawnFailed';
  readonly program: string;
  /** `ENOENT`, `EACCES`, …; null when the system gave none. */
  readonly code: string | null;
  /** Last lines that it, or the shell, wrote to its log; null when there are none. */
  readonly output: string | null;
  constructor(program: string, code: string | null, message: string, output: string | null = null) {
    super(message);
    this.program = program;
    this.code = code;
    this.output = output;
  }
}
