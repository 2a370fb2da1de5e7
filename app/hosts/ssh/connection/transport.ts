/** The connections of this process to SSH hosts. The only part of the transport that others construct. */
import { randomBytes } from 'node:crypto';
import { lstatSync, readdirSync, unlinkSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import type { ProcessRef } from '../../../identity/identity.ts';
import { ensureRuntimeFolder } from '../../../util/folders.ts';
import { Semaphore } from '../../../util/semaphore.ts';
import { SshFailed } from '../../ssh-failed.ts';
import type { PromptBroker } from '../askpass/questions.ts';
import { type Resolved, resolveAlias, type SshProgram } from '../config/resolve.ts';
import { watchClocks } from './clock-watch.ts';
import type { Environment } from './environment.ts';
import { type Capture, MASTER_TIMING, MAX_CONTROL_PATH, type MasterTiming } from './master-options.ts';
import { SshConnection } from './ssh-connection.ts';

export interface TransportOptions {
  /** The app's runtime folder; sockets go to `ssh` below it. */
  readonly runtimeDir: string;
  /** Absolute path of another ssh configuration (`ROLLCALL_SSH_CONFIG`); null for the person's own. */
  readonly sshConfig: string | null;
  readonly env: Environment;
  /** As for `spawnDetached`. */
  readonly capture: Capture;
  /** Null where no person can be asked: everything that would ask fails instead. */
  readonly questioner: PromptBroker | null;
  /** A link's state has changed, or the set of `processes` has. */
  readonly onChange: (link: SshConnection) => void;
  readonly program?: string;
  readonly timing?: Partial<MasterTiming>;
}

const CONNECTING_AT_ONCE = 6;
const RESOLVING_AT_ONCE = 4;
/** Logs of sessions that a killed app left; none of a living one is as old. */
const OLD_MS = 24 * 3_600_000;

export class Transport {
  readonly #options: TransportOptions;
  readonly #ssh: SshProgram;
  readonly #folder: string;
  readonly #links = new Map<string, SshConnection>();
  readonly #prefix = `${randomBytes(3).toString('hex')}-`;
  readonly #turns = new Semaphore(CONNECTING_AT_ONCE);
  /** Each has a deadline, which fifty at once would not meet. */
  readonly #resolving = new Semaphore(RESOLVING_AT_ONCE);
  readonly #quit = new AbortController();
  readonly #stopWatch: () => void;
  #closed: Promise<void> | null = null;

  private constructor(options: TransportOptions, folder: string) {
    this.#options = options;
    this.#folder = folder;
    const { program = 'ssh', sshConfig, env } = options;
    this.#ssh = { program, sshConfig, env };
    this.#stopWatch = watchClocks(() => void this.wake());
  }

  /**
   * Prepares the folder of the sockets (0700) and takes away what earlier ones left there and nobody uses.
   *
   * @throws UnsafeFolder, FolderFailed
   */
  static async open(options: TransportOptions): Promise<Transport> {
    ensureRuntimeFolder(options.runtimeDir);
    const folder = join(options.runtimeDir, 'ssh');
    ensureRuntimeFolder(folder);
    await sweep(folder);
    return new Transport(options, folder);
  }

  /** Every link that was ever asked for. */
  get links(): readonly SshConnection[] {
    return [...this.#links.values()];
  }

  /** The ssh processes that run for us, for the guard. */
  get processes(): readonly ProcessRef[] {
    return this.links.flatMap(({ processRef }) => processRef ?? []);
  }

  /** Where an alias leads. @throws SshFailed */
  async resolve(alias: string): Promise<Resolved> {
    const endTurn = await this.#resolving.take(this.#quit.signal);
    if (endTurn === null) throw closed(alias);
    try {
      return await resolveAlias(alias, this.#ssh);
    } finally {
      endTurn();
    }
  }

  /**
   * The link for an alias, not yet connected. Aliases that lead to one account by one way share one.
   *
   * @throws SshFailed with step `alias`, `resolve` or `link`
   */
  async link(alias: string): Promise<SshConnection> {
    if (process.platform === 'win32') throw noMasters(alias);
    const resolved = await this.resolve(alias);
    if (this.#closed !== null) throw closed(alias);
    const known = this.#links.get(resolved.key);
    if (known !== undefined) return known;
    const { capture, questioner, onChange, timing } = this.#options;
    const prefix = `${this.#prefix}${resolved.key.slice(0, 8)}-`;
    const longest = Buffer.byteLength(join(this.#folder, `${prefix}m0000`));
    if (longest > MAX_CONTROL_PATH) throw pathTooLong(alias, this.#folder, longest);
    const link = new SshConnection({
      master: { resolved, ssh: this.#ssh, capture, questioner, timing: { ...MASTER_TIMING, ...timing } },
      folder: this.#folder,
      prefix,
      turns: this.#turns,
      onChange,
    });
    this.#links.set(resolved.key, link);
    return link;
  }

  /** After a suspend or a change of network. Resolves when every connection is known to work or is being replaced. */
  async wake(): Promise<void> {
    await Promise.all(this.links.map((link) => link.wake()));
  }

  /** Disconnects everything, bounded. Idempotent, never rejects. */
  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    this.#stopWatch();
    this.#quit.abort();
    await Promise.all(this.links.map((link) => link.close()));
  }
}

/** Removes sockets that nobody listens on, and old logs. Sockets of masters that live on are the guard's to end. */
async function sweep(folder: string): Promise<void> {
  await Promise.all(
    readdirSync(folder).map(async (name) => {
      const path = join(folder, name);
      const stats = lstatSync(path, { throwIfNoEntry: false });
      if (stats === undefined) return;
      const dead = stats.isSocket() ? !(await isListenedOn(path)) : Date.now() - stats.mtimeMs > OLD_MS;
      if (dead && !stats.isDirectory()) unlinkSync(path);
    }),
  );
}

function isListenedOn(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path);
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    // A full backlog (EAGAIN) is a living listener that is slow or stopped.
    socket.once('error', (error) => resolve(!('code' in error) || error.code !== 'ECONNREFUSED'));
  });
}

function pathTooLong(alias: string, folder: string, bytes: number): SshFailed {
  return new SshFailed(
    alias,
    'link',
    'path-too-long',
    `${alias} cannot be connected: the folder ${folder} makes the path of ssh's socket ${bytes} bytes long, and ` +
      `${MAX_CONTROL_PATH} is the most that ssh takes.`,
    'Set XDG_RUNTIME_DIR to a shorter folder.',
  );
}

function noMasters(alias: string): SshFailed {
  return new SshFailed(
    alias,
    'link',
    'no-masters',
    `${alias} cannot be connected from Windows: its ssh cannot share one connection among commands.`,
    'Run Rollcall inside WSL to use SSH hosts.',
  );
}

function closed(alias: string): SshFailed {
  return new SshFailed(
    alias,
    'link',
    'disconnected',
    `${alias} is not connected: Rollcall is quitting.`,
    'Start it again.',
  );
}
