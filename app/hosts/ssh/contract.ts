/**
 * What lies between the transport (the person's own `ssh`) and everything that runs over it. The transport knows
 * nothing of servers; what runs over it knows nothing of masters, control sockets and reconnecting.
 */

import type { DialAddress } from '../../servers/kind.ts';

/** What one run on the remote account came to. */
export interface ExecResult {
  readonly stdout: Buffer;
  /** Its end, at most 64 KiB. */
  readonly stderr: string;
  /** Exit code of the remote shell; null when a signal ended it. */
  readonly code: number | null;
}

/** Runs commands on one remote account. */
export interface RemoteExec {
  /**
   * Runs `sh -s` under the account's login shell, with `input` on its standard input.
   *
   * @param deadlineMs from the call to the last byte, the wait for a free session included, in milliseconds
   * @throws SshFailed when the link is lost or the deadline passes; never for an exit code of the remote shell
   */
  exec(input: string | Buffer, deadlineMs: number): Promise<ExecResult>;
}

export type { DialAddress as At };

export interface Forward {
  readonly at: DialAddress;
  /** Takes it away again; a no-op when the link is lost, since it went with it. Never rejects. */
  close(): Promise<void>;
}

/** Forwards over the same connection. They end with the link; whoever wants them again proves the listener first. */
export interface Forwards {
  /** A private Unix socket that leads to a listener on the remote loopback. @throws SshFailed */
  socket(remote: { readonly address: string; readonly port: number }): Promise<Forward>;
  /**
   * A port on this machine's 127.0.0.1 that leads to a listener on the remote loopback.
   *
   * @param preferred taken if it is free, else another
   * @throws SshFailed
   */
  port(
    remote: { readonly address: string; readonly port: number },
    preferred: number | null,
  ): Promise<Forward & { readonly at: { readonly type: 'tcp'; readonly address: '127.0.0.1'; readonly port: number } }>;
}
