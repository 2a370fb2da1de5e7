import { createHash } from 'node:crypto';
import { posix, win32 } from 'node:path';

/** Every place where Rollcall keeps something. Absolute paths; nothing here has been created or checked yet. */
export interface Paths {
  readonly configDir: string;
  readonly configFile: string;
  readonly stateDir: string;
  readonly recordsDir: string;
  readonly auditFile: string;
  /** Append-only output of servers we started. */
  readonly logsDir: string;
  /** What the guard has to say; bounded. */
  readonly guardLog: string;
  /** What must be done once per run, and which run is the latest (app/guard/idempotency-store.ts). */
  readonly onceDir: string;
  /** Records that were moved out of the way, recoverable. */
  readonly setAsideDir: string;
  /** Owners seen while they lived, so that a restart still knows who they were. */
  readonly seenFile: string;
  /** Which sessions live, how they ended, and which hooks are still due (app/sessions/store/ledger.ts). */
  readonly sessionsFile: string;
  /** What session-end hooks are given and what came of them; a file is there only while its hook is due. */
  readonly hooksDir: string;
  /** The kernel's lock on this file is the writer's lock of the state folder. */
  readonly writerLock: string;
  readonly runtimeDir: string;
  /** Unix socket, or named pipe on Windows, of the process that writes to this state folder. */
  readonly controlSocket: string;
  /** Electron's own data. */
  readonly userData: string;
}

/** What the paths depend on, passed in so that they can be told for any machine. */
export interface PathInput {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly platform: NodeJS.Platform;
  /** Real uid; null on Windows, which has none. */
  readonly uid: number | null;
  readonly home: string;
}

/** The longest name a Unix socket may have is 108 bytes on Linux and 104 on macOS, with its NUL; some air is left. */
const SOCKET_NAME_MAX = 100;

/** An absolute folder from the environment. The XDG rules say that relative ones must be ignored. */
function folder(value: string | undefined, isAbsolute: (path: string) => boolean): string | null {
  return value !== undefined && value !== '' && isAbsolute(value) ? value : null;
}

/**
 * Works out all paths. `ROLLCALL_CONFIG_DIR` and `ROLLCALL_STATE_DIR` come first (a relative one counts from the current
 * folder), then XDG on Linux and its kin, and the platform's own folders on macOS and Windows.
 *
 * The socket's name carries a hash of the state folder: one writer per state folder, so two of them never meet.
 */
export function resolvePaths(input: PathInput): Paths {
  const { env, platform } = input;
  const path = platform === 'win32' ? win32 : posix;
  const own = (name: string): string | null => {
    const value = env[name];
    return value === undefined || value === '' ? null : path.resolve(value);
  };
  const defaults = defaultFolders(input);
  const configDir = own('ROLLCALL_CONFIG_DIR') ?? defaults.config;
  const stateDir = own('ROLLCALL_STATE_DIR') ?? defaults.state;
  const tag = createHash('sha256').update(stateDir).digest('hex').slice(0, 16);
  const shared = `/tmp/rollcall-${input.uid ?? 0}`;
  const session = folder(env['XDG_RUNTIME_DIR'], path.isAbsolute);
  let runtimeDir = session === null ? shared : path.join(session, 'rollcall');
  let controlSocket = path.join(runtimeDir, `control-${tag}.sock`);
  if (Buffer.byteLength(controlSocket) > SOCKET_NAME_MAX) {
    runtimeDir = shared;
    controlSocket = path.join(runtimeDir, `control-${tag}.sock`);
  }
  if (platform === 'win32') {
    runtimeDir = path.join(stateDir, 'runtime');
    controlSocket = `\\\\.\\pipe\\rollcall-${tag}`;
  }
  return {
    configDir,
    configFile: path.join(configDir, 'config.json'),
    stateDir,
    recordsDir: path.join(stateDir, 'records'),
    auditFile: path.join(stateDir, 'audit.jsonl'),
    logsDir: path.join(stateDir, 'logs'),
    guardLog: path.join(stateDir, 'logs', 'guard.log'),
    onceDir: path.join(stateDir, 'once'),
    setAsideDir: path.join(stateDir, 'set-aside'),
    seenFile: path.join(stateDir, 'seen.json'),
    sessionsFile: path.join(stateDir, 'sessions.jsonl'),
    hooksDir: path.join(stateDir, 'hooks'),
    writerLock: path.join(stateDir, 'writer.lock'),
    runtimeDir,
    controlSocket,
    userData: path.join(stateDir, 'electron'),
  };
}

function defaultFolders({ env, platform, home }: PathInput): { config: string; state: string } {
  if (platform === 'win32') {
    const roaming = folder(env['APPDATA'], win32.isAbsolute) ?? win32.join(home, 'AppData', 'Roaming');
    const local = folder(env['LOCALAPPDATA'], win32.isAbsolute) ?? win32.join(home, 'AppData', 'Local');
    return { config: win32.join(roaming, 'Rollcall'), state: win32.join(local, 'Rollcall') };
  }
  if (platform === 'darwin') {
    const support = posix.join(home, 'Library', 'Application Support', 'Rollcall');
    return { config: support, state: posix.join(support, 'state') };
  }
  const config = folder(env['XDG_CONFIG_HOME'], posix.isAbsolute) ?? posix.join(home, '.config');
  const state = folder(env['XDG_STATE_HOME'], posix.isAbsolute) ?? posix.join(home, '.local', 'state');
  return { config: posix.join(config, 'rollcall'), state: posix.join(state, 'rollcall') };
}
