/**
 * Real sshds on 127.0.0.1 for tests. Nothing of this machine is used or changed: host key, client key, accounts, homes,
 * known_hosts and client configuration are the fixture's own, and accounts are bind mounts in a namespace of its own.
 *
 *   const trouble = sshdTrouble();                            // why not here (not root, no sshd); skip with it
 *   const box = await testSshd({ machine: true });            // closed with the test; startSshd() leaves that to you
 *   const config = sshConfig({ box: [box], jump: [box, 'ServerAliveInterval 1'] });
 *   execFileSync('ssh', ['-F', config, '--', 'box', 'true']);
 *
 * `machine: true` makes it another machine for us: own PIDs, host name, machine id and (after each `up`) boot id and
 * time of boot. Without it, it is this very machine and namespace; what its sessions leave behind is found by a mark and ended by `close`.
 */
import { type ChildProcess, execFile, execFileSync, spawn } from 'node:child_process';
import { randomBytes, randomUUID } from 'node:crypto';
import {
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { connect, createServer } from 'node:net';
import { tmpdir, uptime } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { onTestFinished } from 'vitest';
import { until } from '../../local/testing/processes.ts';
import { type Found, markedWith, signalFound, treeOf } from './sshd-processes.ts';

const SCRIPT = fileURLToPath(new URL('sshd.sh', import.meta.url));
const MARK = 'ROLLCALL_TEST_SSHD';
/** Names of sshd's processes; since OpenSSH 9.8 those of a connection are programs of their own. */
const SSHD = /^sshd(?:-session|-auth)?$/u;
const run = promisify(execFile);

export interface Account {
  readonly name: string;
  /** 0 when left out. */
  readonly uid?: number;
  /** A path; `/bin/sh` when left out, or BusyBox's. */
  readonly shell?: string;
  /** A folder of the fixture when left out; two sshds with one home share it. It must exist otherwise. */
  readonly home?: string;
  /** Accepted by password authentication, which needs `PasswordAuthentication yes` in `config`. */
  readonly password?: string;
}

export interface SshdOptions {
  readonly machine?: boolean;
  /** Host name of a machine of its own. */
  readonly hostname?: string;
  /** `root` with a home of its own when left out. The first is the one that aliases log in to. */
  readonly accounts?: readonly Account[];
  /** Lines of sshd_config that come before ours, so that they win: `MaxSessions 2`, `ForceCommand …`. */
  readonly config?: readonly string[];
  /** Sessions find BusyBox and nothing else: it is their shell, and its applets are their PATH. */
  readonly busybox?: boolean;
  /** Environment of every session, `PATH` for example. */
  readonly env?: Readonly<Record<string, string>>;
  /** Text that takes the place of a file of the machine, by its path, which must exist: `/etc/pam.d/sshd`. */
  readonly files?: Readonly<Record<string, string>>;
}

export interface TestSshd {
  readonly port: number;
  /** Everything of the fixture; removed by `close`. */
  readonly folder: string;
  /** Home of the first account. */
  readonly home: string;
  readonly user: string;
  /** Private key that every account accepts. */
  readonly key: string;
  /** Holds the host key as of now. */
  readonly knownHosts: string;
  /** Fingerprint of the host key, `SHA256:…`. */
  readonly fingerprint: string;
  /** The lines of a client's `Host` block that lead here. */
  readonly options: readonly string[];
  /** Text of its log. */
  log(): string;
  /** The sshd processes of open connections, as PIDs of our namespace. */
  connections(): readonly number[];
  /** `SIGSTOP` makes every connection half-open, `SIGCONT` lets them go on, `SIGKILL` drops them. */
  signalConnections(signal: 'SIGSTOP' | 'SIGCONT' | 'SIGKILL'): void;
  /** Ends the machine: sshd, its connections and everything that was started through them. */
  down(): Promise<void>;
  /** Starts it again on the same port, with a new boot id where it is a machine of its own. */
  up(): Promise<void>;
  /** `down`, then removes the folder. A second call does nothing. */
  close(): Promise<void>;
}

/** Why no sshd can be had here; null when it can. */
export function sshdProblem(): string | null {
  if (process.platform !== 'linux') return 'test sshds need Linux namespaces';
  if (process.getuid?.() !== 0) return 'test sshds need root, for accounts of their own';
  if (!existsSync('/usr/sbin/sshd')) return 'openssh-server is not installed';
  try {
    execFileSync('unshare', ['--mount', '--uts', '--time', 'true'], { stdio: 'ignore' });
    return null;
  } catch {
    return 'this machine gives no mount and time namespaces';
  }
}

/** An sshd that is closed when the test is over. */
export async function testSshd(options: SshdOptions = {}): Promise<TestSshd> {
  const sshd = await startSshd(options);
  onTestFinished(() => sshd.close());
  return sshd;
}

/**
 * A client configuration with one block for each alias.
 *
 * @param aliases for each the sshd it leads to and lines that come before the sshd's own, so that they win
 * @param top lines before all blocks
 * @returns path of the file, in the folder of the first sshd
 */
export function sshConfig(
  aliases: Readonly<Record<string, readonly [TestSshd, ...string[]]>>,
  top: readonly string[] = [],
): string {
  const [first] = Object.values(aliases);
  if (first === undefined) throw new Error('a configuration without aliases leads nowhere');
  const path = join(first[0].folder, `ssh_config-${randomUUID()}`);
  const blocks = Object.entries(aliases).map(([alias, [sshd, ...lines]]) =>
    [`Host ${alias}`, ...[...lines, ...sshd.options].map((line) => `  ${line}`)].join('\n'),
  );
  writeFileSync(path, `${[...top, ...blocks].join('\n\n')}\n`, { mode: 0o600 });
  return path;
}

/** Starts an sshd and waits until it greets. The caller closes it. */
export async function startSshd(options: SshdOptions = {}): Promise<TestSshd> {
  const folder = mkdtempSync(join(tmpdir(), 'rollcall-sshd-'));
  try {
    const sshd = new Sshd(folder, options);
    await sshd.prepare();
    await sshd.up();
    return sshd;
  } catch (error) {
    rmSync(folder, { recursive: true, force: true });
    throw error;
  }
}

class Sshd implements TestSshd {
  readonly folder: string;
  readonly home: string;
  readonly user: string;
  readonly key: string;
  readonly knownHosts: string;
  fingerprint = '';
  port = 0;
  readonly #options: SshdOptions;
  readonly #accounts: readonly Required<Omit<Account, 'password'>>[];
  readonly #mark = randomUUID();
  /** One link for each applet of BusyBox. */
  readonly #applets: string | null;
  #unshare: ChildProcess | null = null;
  #closed = false;

  constructor(folder: string, options: SshdOptions) {
    this.folder = folder;
    this.#options = options;
    const accounts = options.accounts ?? [{ name: 'root' }];
    this.#applets = options.busybox === true ? join(folder, 'busybox') : null;
    const usual = this.#applets === null ? '/bin/sh' : join(this.#applets, 'sh');
    this.#accounts = accounts.map(({ name, uid = 0, shell = usual, home }) => ({
      name,
      uid,
      shell,
      home: home ?? join(folder, `home-${name}`),
    }));
    const [first] = this.#accounts;
    if (first === undefined) throw new Error('an sshd without accounts lets nobody in');
    this.user = first.name;
    this.home = first.home;
    this.key = join(folder, 'key');
    this.knownHosts = join(folder, 'known_hosts');
  }

  get options(): readonly string[] {
    return [
      'HostName 127.0.0.1',
      `Port ${this.port}`,
      `User ${this.user}`,
      `IdentityFile ${this.key}`,
      'IdentitiesOnly yes',
      'IdentityAgent none',
      `UserKnownHostsFile ${this.knownHosts}`,
      'GlobalKnownHostsFile /dev/null',
    ];
  }

  /** Writes everything but what depends on the port. */
  async prepare(): Promise<void> {
    const { folder } = this;
    // Accounts other than root reach their homes through it.
    execFileSync('chmod', ['0711', folder]);
    const make = (name: string) =>
      run('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', name, '-f', join(folder, name)]);
    await Promise.all([make('host_key'), make('key')]);
    const { stdout } = await run('ssh-keygen', ['-l', '-f', join(folder, 'host_key.pub')]);
    this.fingerprint = stdout.split(' ')[1] ?? '';
    for (const { home, uid } of this.#accounts) {
      if (existsSync(home)) continue;
      mkdirSync(home, { mode: 0o700 });
      execFileSync('chown', [`${uid}:${uid}`, home]);
    }
    const names = new Set(this.#accounts.map(({ name }) => name));
    const others = (path: string): string =>
      readFileSync(path, 'utf8')
        .split('\n')
        .filter((line) => line !== '' && !names.has(line.split(':')[0] ?? ''))
        .join('\n');
    const passwd = this.#accounts.map(({ name, uid, home, shell }) => `${name}:x:${uid}:${uid}::${home}:${shell}`);
    const secrets = new Map((this.#options.accounts ?? []).map(({ name, password }) => [name, password]));
    const shadow = [...names].map((name) => `${name}:${hashOf(secrets.get(name))}:19000:0:99999:7:::`);
    // The first of two accounts with one uid gives that uid its name.
    this.#over('/etc/passwd', `${passwd.join('\n')}\n${others('/etc/passwd')}\n`);
    this.#over('/etc/shadow', `${shadow.join('\n')}\n${others('/etc/shadow')}\n`);
    if (this.#options.machine === true) this.#over('/etc/machine-id', `${randomBytes(16).toString('hex')}\n`);
    for (const [path, text] of Object.entries(this.#options.files ?? {})) this.#over(path, text);
    if (this.#applets !== null) {
      mkdirSync(this.#applets);
      const applets = execFileSync('/bin/busybox', ['--list'], { encoding: 'utf8' }).trim().split('\n');
      for (const applet of applets) symlinkSync('/bin/busybox', join(this.#applets, applet));
    }
    const publicKey = readFileSync(join(folder, 'key.pub'), 'utf8');
    writeFileSync(join(folder, 'authorized_keys'), publicKey, { mode: 0o644 });
  }

  #over(path: string, text: string): void {
    const at = join(this.folder, `over${path}`);
    mkdirSync(dirname(at), { recursive: true });
    writeFileSync(at, text, { mode: path === '/etc/shadow' ? 0o600 : 0o644 });
  }

  async up(): Promise<void> {
    if (this.#options.machine === true) this.#over('/proc/sys/kernel/random/boot_id', `${randomUUID()}\n`);
    for (let attempt = 1; ; attempt += 1) {
      const port = this.port === 0 ? await freePort() : this.port;
      this.#configure(port);
      if (await this.#start(port)) {
        this.port = port;
        return;
      }
      await this.down();
      // Somebody else took the port in the meantime.
      if (attempt === 5) throw new Error(`sshd did not start: ${this.log()}`);
    }
  }

  #configure(port: number): void {
    const { folder } = this;
    const run = process.env['ROLLCALL_TEST_RUN'];
    const env = {
      [MARK]: this.#mark,
      ...(run === undefined ? {} : { ROLLCALL_TEST_RUN: run }),
      ...(this.#applets === null ? {} : { PATH: this.#applets }),
      ...this.#options.env,
    };
    const lines = [
      ...(this.#options.config ?? []),
      `SetEnv ${Object.entries(env)
        .map(([name, value]) => `"${name}=${value}"`)
        .join(' ')}`,
      `Port ${port}`,
      'ListenAddress 127.0.0.1',
      `HostKey ${folder}/host_key`,
      `AuthorizedKeysFile ${folder}/authorized_keys`,
      'PidFile none',
      'StrictModes no',
      'UsePAM no',
      'UseDNS no',
      'PermitRootLogin yes',
      'PasswordAuthentication no',
      'KbdInteractiveAuthentication no',
      'MaxStartups 200:30:300',
    ];
    writeFileSync(join(folder, 'sshd_config'), `${lines.join('\n')}\n`);
    const hostKey = readFileSync(join(folder, 'host_key.pub'), 'utf8').split(' ').slice(0, 2).join(' ');
    writeFileSync(this.knownHosts, `[127.0.0.1]:${port} ${hostKey}\n`, { mode: 0o600 });
  }

  /** False when it ended without a greeting. */
  async #start(port: number): Promise<boolean> {
    const machine = this.#options.machine === true;
    const flags = machine
      ? [
          ...['--mount', '--uts', '--pid', '--fork', '--mount-proc', '--kill-child'],
          ...['--time', '--boottime', String(-Math.floor(uptime()))],
        ]
      : ['--mount', '--propagation', 'private'];
    const name = machine ? (this.#options.hostname ?? `box-${this.#mark.slice(0, 8)}`) : '-';
    const log = openSync(join(this.folder, 'sshd.log'), 'a');
    const child = spawn('unshare', [...flags, SCRIPT, this.folder, name], {
      env: { ...process.env, [MARK]: this.#mark },
      stdio: ['ignore', 'ignore', log],
    });
    closeSync(log);
    this.#unshare = child;
    const ended = (): boolean => child.exitCode !== null || child.signalCode !== null;
    let greeted = false;
    const settled = async (): Promise<boolean> => {
      greeted = await greets(port);
      return greeted || ended();
    };
    await until('sshd greets', settled, 15_000);
    return greeted && !ended();
  }

  log(): string {
    const path = join(this.folder, 'sshd.log');
    return existsSync(path) ? readFileSync(path, 'utf8') : '';
  }

  connections(): readonly number[] {
    return this.#connections().map(({ pid }) => pid);
  }

  #connections(): readonly Found[] {
    const root = this.#unshare?.pid;
    if (root === undefined) return [];
    // The first sshd is the one that listens; the tree lists parents before children.
    return treeOf(root)
      .filter(({ comm }) => SSHD.test(comm))
      .slice(1);
  }

  signalConnections(signal: 'SIGSTOP' | 'SIGCONT' | 'SIGKILL'): void {
    for (const found of this.#connections()) signalFound(found, signal);
  }

  async down(): Promise<void> {
    const child = this.#unshare;
    if (child?.pid === undefined) return;
    const all = treeOf(child.pid);
    // Where it is the parent of a PID namespace, everything in there goes with it.
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL');
    for (const found of all) if (found.pid !== child.pid) signalFound(found, 'SIGKILL');
    await until('everything of sshd is gone', () => {
      const left = [...markedWith(MARK, this.#mark), ...all.filter((found) => stillThere(found))];
      for (const found of left) signalFound(found, 'SIGKILL');
      return left.length === 0;
    });
    this.#unshare = null;
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await this.down();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

function stillThere({ pid, startTicks }: Found): boolean {
  return treeOf(pid)[0]?.startTicks === startTicks;
}

/** `*` lets nobody in by password; `!` would lock the account for keys, too. */
function hashOf(password: string | undefined): string {
  if (password === undefined) return '*';
  return execFileSync('openssl', ['passwd', '-6', '-stdin'], { input: password, encoding: 'utf8' }).trim();
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0));
    });
  });
}

function greets(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.setTimeout(2000, () => socket.destroy());
    socket.once('data', (chunk: Buffer) => {
      resolve(chunk.toString('latin1').startsWith('SSH-'));
      socket.destroy();
    });
    socket.once('error', () => resolve(false));
    socket.once('close', () => resolve(false));
  });
}
