import type { ProcessRef } from '../../../identity/identity.ts';
import type { PromptBroker, SshQuestion } from '../askpass/questions.ts';
import { configOptions, type Resolved, type SshProgram } from '../config/resolve.ts';
import type { Progress } from '../diagnostics/ssh-log.ts';

/** Reads the identity of a child of ours; called before the child can be collected. */
export type Capture = (pid: number) => ProcessRef | null | Promise<ProcessRef | null>;

export interface MasterOptions {
  readonly resolved: Resolved;
  readonly ssh: SshProgram;
  /** Of at most 90 bytes; nothing stands there. */
  readonly socketPath: string;
  readonly capture: Capture;
  /** Null without a person: then ssh asks nothing and fails instead. */
  readonly questioner: PromptBroker | null;
  readonly timing: MasterTiming;
  readonly onProgress: (progress: Progress) => void;
  readonly onQuestion: (question: SshQuestion | null) => void;
  /** It runs, or (null) it does no more. */
  readonly onProcess: (ref: ProcessRef | null) => void;
  readonly signal: AbortSignal;
}

export interface MasterTiming {
  /** A silent machine is asked for a sign of life this often, in seconds, and given up after `aliveCount` without one. */
  readonly aliveSeconds: number;
  readonly aliveCount: number;
  /** From the start of ssh to a usable connection, without the time a person is asked, in milliseconds. */
  readonly budgetMs: number;
}

/** Notices a dead line after 30 to 40 s. */
export const MASTER_TIMING: MasterTiming = { aliveSeconds: 10, aliveCount: 3, budgetMs: 30_000 };

/**
 * ssh puts 17 characters behind it while it makes the socket. The name of a socket may have 107 on Linux and 103 on macOS
 * and the BSDs.
 */
export const MAX_CONTROL_PATH = process.platform === 'linux' ? 90 : 86;
/** For the TCP connection and the greeting, of the machine itself and of each on the way. */
export const CONNECT_SECONDS = 15;
/**
 * The options of a master. It is a process of its own for us alone: what the configuration says of masters, forwards,
 * terminals, commands and backgrounds is for the person's own connections.
 */
export function masterArguments({ resolved, ssh, socketPath, questioner, timing }: MasterOptions): readonly string[] {
  const options = [
    'ControlPersist=no',
    'ClearAllForwardings=yes',
    'ExitOnForwardFailure=no',
    'GatewayPorts=no',
    'Tunnel=no',
    'PermitLocalCommand=no',
    'RemoteCommand=none',
    'StreamLocalBindMask=0177',
    'StreamLocalBindUnlink=no',
    'VisualHostKey=no',
    'ConnectionAttempts=1',
    `ConnectTimeout=${CONNECT_SECONDS}`,
    `ServerAliveInterval=${timing.aliveSeconds}`,
    `ServerAliveCountMax=${timing.aliveCount}`,
    ...(questioner === null ? ['BatchMode=yes'] : ['BatchMode=no']),
    // Since OpenSSH 8.7; an older one would stop at the unknown name. `-n`, `-N` are the others of its kind.
    ...(resolved.knownOptions.has('forkafterauthentication') ? ['ForkAfterAuthentication=no'] : []),
  ];
  return [
    ...configOptions(ssh),
    // No agent, no X11, no terminal, no input, no command; its steps are read from -v.
    ...['-M', '-N', '-n', '-T', '-a', '-x', '-v'],
    // ssh expands percent signs in it.
    ...['-S', socketPath.replaceAll('%', '%%')],
    ...options.flatMap((option) => ['-o', option]),
    '--',
    resolved.alias,
  ];
}
