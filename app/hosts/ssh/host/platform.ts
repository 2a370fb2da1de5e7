/** The first contact with a machine: what it is, who we are there, and what it has that later scripts may use. */
import { randomUUID } from 'node:crypto';
import type { Observer } from '../../../identity/identity.ts';
import { hashedHostId, namespaceId } from '../../local/process/observer.ts';
import { SshFailed } from '../../ssh-failed.ts';
import contactScript from '../remote/contact.sh';
import type { RemoteShell, ScriptAnswer } from './shell.ts';

const DEADLINE_MS = 20_000;

export interface RemotePlatform {
  readonly observer: Observer;
  /** It is the machine this program runs on, seen from the same PID namespace. */
  readonly isLocal: boolean;
  readonly system: string;
  readonly hostname: string;
  readonly uid: number;
  readonly home: string;
  readonly loginShell: string;
  /** As a command without a login finds programs. */
  readonly path: string;
  /** Rollcall's state folder there. */
  readonly stateDir: string;
  /** `all` processes are in its /proc, only our `own`, or it has none and `ps` tells. */
  readonly processes: 'all' | 'own' | 'ps';
  /** This connection's own line of processes: never targets, and their connections are never clients. */
  readonly selfAndAncestors: readonly number[];
  readonly tools: ReadonlySet<string>;
  /** A python3 with working pidfd calls; null where there is none. */
  readonly python: string | null;
}

function unsupported(host: string, code: string, why: string, remedy: string): SshFailed {
  return new SshFailed(host, 'shell', code, `${host} is not supported: ${why}.`, remedy);
}

/** Without these no process can be proved to be the recorded one. */
const NEEDED: readonly (readonly [string, string])[] = [
  ['grep-nul', 'its grep cuts lines at NUL bytes, so arguments cannot be read'],
  ['grep-z', 'its grep knows no -z, so what marks a process cannot be read'],
  ['ls', 'it has no ls'],
];

/**
 * @param local where this program itself stands; null where that is unknown
 * @throws SshFailed also for a machine that is not supported, in words
 */
export async function probePlatform(
  shell: RemoteShell,
  local: Observer | null,
  withoutProc = false,
): Promise<RemotePlatform> {
  const parameters = { fresh: randomUUID(), without: withoutProc ? 'proc' : '' };
  const answer = await shell.run(contactScript, parameters, DEADLINE_MS);
  return readPlatform(shell.host, answer, local);
}

/** Pure. @throws SshFailed */
export function readPlatform(host: string, answer: ScriptAnswer, local: Observer | null): RemotePlatform {
  const text = (name: string): string => answer.text(name) ?? '';
  const tools = new Set(text('tools').split('\n'));
  const system = text('system');
  const proc = text('proc');
  const linux = 'Use a Linux machine, or one that has ps and lsof such as macOS.';
  if (/^(?:MINGW|MSYS|CYGWIN|Windows)/u.test(system)) {
    throw unsupported(host, 'windows', 'it runs Windows', 'Use WSL there with its own sshd, or a Linux machine.');
  }
  if (proc === 'none' && !tools.has('ps')) {
    throw unsupported(
      host,
      'no-processes',
      `it runs ${system || 'an unknown system'} and has neither /proc nor ps`,
      linux,
    );
  }
  if (proc !== 'none') {
    const missing = NEEDED.find(([tool]) => !tools.has(tool));
    if (missing !== undefined) throw unsupported(host, 'tools', missing[1], 'Install BusyBox or the GNU tools there.');
  }
  const uid = Number(text('uid'));
  const home = text('home');
  const id = text('machine') || text('kept');
  const bootId = text('boot');
  if (!Number.isInteger(uid) || text('uid') === '' || !home.startsWith('/') || id === '' || bootId === '') {
    const what = id === '' ? 'machine' : bootId === '' ? 'boot' : home.startsWith('/') ? 'account' : 'home folder';
    throw unsupported(host, 'identity', `its ${what} cannot be told, so no process there can be identified`, linux);
  }
  const namespace = text('namespace');
  const observer: Observer = {
    hostId: hashedHostId(id),
    bootId,
    // Systems without /proc have one table of processes for all.
    pidNamespace: namespace === '' || proc === 'none' ? 'none' : namespaceId(namespace),
  };
  const isLocal =
    local !== null && local.bootId === bootId && local.pidNamespace === observer.pidNamespace && system === 'Linux';
  return {
    // A machine without an id of its own may keep one for us here and another there; its boot tells that it is one.
    observer: isLocal ? local : observer,
    isLocal,
    system,
    hostname: text('name'),
    uid,
    home,
    loginShell: text('shell'),
    path: text('path'),
    stateDir: text('state'),
    processes: proc === 'all' || proc === 'own' ? proc : 'ps',
    selfAndAncestors: text('line').split(/ +/u).filter(Boolean).map(Number),
    tools,
    python: text('python') || null,
  };
}
