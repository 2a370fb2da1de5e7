/**
 * Who a process is, and what a fresh look says of it.
 *
 * States of a look at a recorded identity (the verdicts):
 *
 *   same     the process at that PID is provably the recorded one; the only verdict that permits a signal
 *   gone     no process has that PID, or the machine has booted since
 *   zombie   it is the recorded one, it has exited, and its parent has not collected it yet
 *   reused   the PID belongs to another process now
 *   thread   the number is a thread of another process; a signal would hit that whole process
 *   foreign  recorded on another host or in another PID namespace; never touched from here
 *   unknown  it could not be told (no permission, a failing look, evidence that contradicts)
 *
 * This folder is a leaf: it imports nothing of ours and performs no input or output.
 */

/** Kernel-assigned start of a process, opaque and typed by its source; compared as text, never as a time. */
export type StartTime = `linux:${string}` | `darwin:${string}` | `win:${string}`;

/**
 * What makes a process that process. Command line, executable, nonce and ports are evidence, not identity.
 * `hostId` is a keyed hash of the machine id, `pidNamespace` is the observer's, `pidfdId` is the inode of
 * the process's pidfd where the kernel has pidfs (Linux 6.9), else absent.
 */
export interface ProcessIdentity {
  readonly hostId: string;
  readonly bootId: string;
  readonly pidNamespace: string;
  readonly pid: number;
  readonly startTime: StartTime;
  readonly pidfdId?: string;
}

/** An executable file, by device and inode; `path` is for people (it may end in " (deleted)"). */
export interface Executable {
  readonly path: string;
  readonly device: string;
  readonly inode: string;
}

/** What may confirm an identity where the kernel offers no pidfd inode. */
export interface Evidence {
  readonly executable: Executable | null;
  /** Hex sha256 of the raw argv bytes, NUL separated; null where it could not be read. */
  readonly argvHash: string | null;
  /** The nonce that its record gave it; present where the record is known, or where its environment was asked for it. */
  readonly nonce?: string;
}

/** A process as a person would name it. */
export interface ProcessName {
  readonly pid: number;
  readonly name: string;
  /** Milliseconds since the epoch; for people, never for identity. */
  readonly startedAt: number | null;
}

/** A recorded process: identity plus the evidence that was seen with it. */
export interface ProcessRef {
  readonly identity: ProcessIdentity;
  readonly evidence: Evidence;
}

/** What an observer found at a PID just now. */
export type Observation =
  | { readonly found: 'absent' }
  | { readonly found: 'denied'; readonly why: string }
  | { readonly found: 'failed'; readonly why: string }
  | { readonly found: 'thread'; readonly of: ProcessName }
  | {
      readonly found: 'process';
      readonly identity: ProcessIdentity;
      readonly evidence: Evidence;
      readonly name: ProcessName;
      /** State Z or X and no other thread: a live process whose main thread has exited is not finished. */
      readonly finished: boolean;
    };

/** Where the observer stands; an identity from elsewhere is `foreign`. */
export interface Observer {
  readonly hostId: string;
  readonly bootId: string;
  readonly pidNamespace: string;
}

export type Verdict =
  | { readonly verdict: 'same' }
  | { readonly verdict: 'gone'; readonly why: string }
  | { readonly verdict: 'zombie' }
  | { readonly verdict: 'reused'; readonly by: ProcessName }
  | { readonly verdict: 'thread'; readonly of: ProcessName }
  | { readonly verdict: 'foreign'; readonly why: string }
  | { readonly verdict: 'unknown'; readonly why: string };

export type VerdictWord = Verdict['verdict'];

/**
 * Whether two identities mean one process. A kernel handle that one side lacks is unknown, not different: one may have
 * been taken where the kernel or the bindings had none. Before a signal `judge` weighs the evidence as well.
 */
export function isSameProcess(a: ProcessIdentity, b: ProcessIdentity): boolean {
  if (a.pidfdId !== undefined && b.pidfdId !== undefined && a.pidfdId !== b.pidfdId) return false;
  return (
    a.pid === b.pid &&
    a.startTime === b.startTime &&
    a.bootId === b.bootId &&
    a.hostId === b.hostId &&
    a.pidNamespace === b.pidNamespace
  );
}

/** One canonical text per identity: the input of ids and of map keys. */
export function identityKey(identity: ProcessIdentity): string {
  const parts = [identity.hostId, identity.bootId, identity.pidNamespace, String(identity.pid), identity.startTime];
  if (identity.pidfdId !== undefined) parts.push(identity.pidfdId);
  return parts.join('/');
}
