import { type ChildProcess, spawn } from 'node:child_process';
import { homedir } from 'node:os';
import { signalChild } from '../../../util/own-child.ts';
import type { SshProgram } from '../config/resolve.ts';
import { sshEnvironment } from './environment.ts';

/** Of standard output; a command of ours that says more has gone wrong. */
export const MAX_STDOUT = 64 * 1024 * 1024;
const MAX_STDERR = 64 * 1024;

/**
 * A client of the master. It reads no configuration and has no way of its own to the machine: where the master takes no
 * session, ssh would silently open a connection for it, and here the proxy command makes that fail at once.
 */
export function spawnClient(alias: string, ssh: SshProgram, controlPath: string, logFile: string): ChildProcess {
  const options = [
    'ControlMaster=no',
    'ProxyCommand=false',
    'BatchMode=yes',
    'IdentityFile=none',
    'IdentityAgent=none',
    'LogLevel=DEBUG2',
  ];
  const args = [
    ...['-F', 'none', '-S', controlPath.replaceAll('%', '%%'), '-T', '-E', logFile],
    ...options.flatMap((option) => ['-o', option]),
    ...['--', alias, 'sh -s'],
  ];
  return spawn(ssh.program, args, {
    cwd: homedir(),
    // A group of its own, so that a terminal's Ctrl-C leaves it to us.
    detached: true,
    env: { ...sshEnvironment(ssh.env), SHELL: '/bin/sh' },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
}

interface ClientEnd {
  /** Null when a signal ended it. */
  readonly code: number | null;
  readonly stdout: Buffer;
  readonly stderr: string;
}

/** One run of a client, to its end or ours. */
export class SshClient {
  readonly ended: Promise<ClientEnd>;
  endedBy: 'deadline' | 'too-much' | null = null;
  readonly #child: ChildProcess;
  readonly #stdout: Buffer[] = [];
  #stdoutBytes = 0;
  #settle: () => void = () => undefined;
  #stderr = Buffer.alloc(0);

  constructor(child: ChildProcess, input: string | Buffer) {
    this.#child = child;
    const { stdin, stdout, stderr } = child;
    // A command that ends before it has read everything closes the pipe.
    stdin?.on('error', () => undefined);
    stdin?.end(input);
    stdout?.on('data', (chunk: Buffer) => {
      this.#stdoutBytes += chunk.length;
      if (this.#stdoutBytes > MAX_STDOUT) this.end('too-much');
      else this.#stdout.push(chunk);
    });
    stderr?.on('data', (chunk: Buffer) => {
      this.#stderr = Buffer.concat([this.#stderr, chunk]).subarray(-MAX_STDERR);
    });
    this.ended = new Promise((resolve) => {
      let exitCode: number | null = null;
      const settle = (): void => {
        stdin?.destroy();
        stdout?.destroy();
        stderr?.destroy();
        resolve({ code: exitCode, stdout: Buffer.concat(this.#stdout), stderr: this.#stderr.toString('utf8') });
      };
      this.#settle = settle;
      child.once('error', () => {
        if (child.pid !== undefined) return;
        exitCode = 255;
        settle();
      });
      child.once('exit', (code) => {
        exitCode = code;
        // Else its last words may not have been read yet.
        if (this.endedBy !== null) settle();
      });
      child.once('close', settle);
    });
  }

  /** Ends it, also when it has ended already and its streams have not: a stopped master holds copies of them. */
  end(why: 'deadline' | 'too-much'): void {
    this.endedBy ??= why;
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) this.#settle();
    else signalChild(this.#child, 'SIGKILL');
  }
}
