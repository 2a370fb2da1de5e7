/** A remote account without ssh: scripts run in a local shell, as its login shell would run `sh -s`. */
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SshFailed } from '../../ssh-failed.ts';
import type { ExecResult, RemoteExec } from '../contract.ts';

const BUSYBOX = existsSync('/bin/busybox') ? '/bin/busybox' : '/usr/bin/busybox';

export interface TestShell {
  readonly name: string;
  /** Why it cannot be tested here; null when it can. */
  readonly missing: string | null;
  readonly argv: readonly [string, ...string[]];
  /** BusyBox's applets are all there is. */
  readonly path: string | null;
}

/** What the smallest common builds have; a script that needs more fails here. */
const APPLETS = (
  'ash cat chmod cut date env false grep head id kill ls mkdir mktemp mv printf ps pwd readlink rm sed setsid ' +
  'sh sha256sum sleep sort stat sync tail tr true uname uptime wc'
).split(' ');

/** A folder with these names and nothing else; `of` gives what each leads to. */
function farm(of: (name: string) => string | null): string {
  const folder = mkdtempSync(join(tmpdir(), 'rollcall-path-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  for (const name of APPLETS) {
    const program = of(name);
    if (program !== null) symlinkSync(program, join(folder, name));
  }
  return folder;
}

function shellAt(name: string, argv: TestShell['argv'], path: string | null = null): TestShell {
  return { name, missing: existsSync(argv[0]) ? null : `${argv[0]} is not installed`, argv, path };
}

/** The shells that every script is tried under. */
export const SHELLS: readonly TestShell[] = [
  shellAt('dash', ['/bin/dash', '-s']),
  shellAt('bash', ['/bin/bash', '--posix', '-s']),
  shellAt('busybox ash', [BUSYBOX, 'ash', '-s'], existsSync(BUSYBOX) ? farm(() => BUSYBOX) : null),
];

/** The same, and GNU tools without a python3: how signals are sent depends on it. */
export const SIGNAL_SHELLS: readonly TestShell[] = [
  ...SHELLS,
  shellAt(
    'dash without python',
    ['/bin/dash', '-s'],
    farm((name) => [`/usr/bin/${name}`, `/bin/${name}`].find((path) => existsSync(path)) ?? null),
  ),
];

export interface Account {
  readonly env?: Readonly<Record<string, string>>;
  /** What a profile prints, before the script and after it. */
  readonly before?: string;
  readonly after?: string;
  readonly uid?: number;
}

/** So many times longer than a remote may a shell here take: a test machine may stand still for seconds. */
const PATIENCE = 10;

/** Runs scripts in a shell; `counted` is how many it has run. */
export class LocalExec implements RemoteExec {
  counted = 0;
  readonly #shell: TestShell;
  readonly #account: Account;

  constructor(shell: TestShell, account: Account = {}) {
    this.#shell = shell;
    this.#account = account;
  }

  exec(input: string | Buffer, deadlineMs: number): Promise<ExecResult> {
    this.counted += 1;
    const [program, ...args] = this.#shell.argv;
    const { env, before = '', after = '', uid } = this.#account;
    const path = this.#shell.path ?? '/usr/local/bin:/usr/bin:/bin';
    return new Promise((resolve, reject) => {
      const child = spawn(program, args, {
        env: { PATH: path, HOME: '/nonexistent', SHELL: program, ...env },
        stdio: ['pipe', 'pipe', 'pipe'],
        // As sshd does.
        detached: true,
        ...(uid === undefined ? {} : { uid, gid: uid }),
      });
      const out: Buffer[] = [Buffer.from(before)];
      let stderr = before;
      const timer = setTimeout(() => {
        child.kill('SIGKILL'); // a child of ours that is not collected yet
        reject(new SshFailed('test', 'link', 'deadline', 'The remote did not answer in time.', 'Try again.'));
      }, deadlineMs * PATIENCE);
      child.stdout.on('data', (chunk: Buffer) => out.push(chunk));
      child.stderr.on('data', (chunk: Buffer) => {
        stderr += chunk.toString();
      });
      child.on('error', reject);
      child.stdin.on('error', () => undefined);
      child.on('close', (code) => {
        clearTimeout(timer);
        resolve({ stdout: Buffer.concat([...out, Buffer.from(after)]), stderr: stderr + after, code });
      });
      child.stdin.end(input);
    });
  }
}
