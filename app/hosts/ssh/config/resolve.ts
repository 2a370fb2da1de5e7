import { createHash } from 'node:crypto';
import { SshFailed } from '../../ssh-failed.ts';
import { type Environment, sshEnvironment } from '../connection/environment.ts';
import { aliasProblem } from './alias.ts';
import { type Ran, RunFailed, runBounded } from './run-bounded.ts';

/** The person's ssh and how it is called. */
export interface SshProgram {
  /** `ssh` from the PATH unless a test has another. */
  readonly program: string;
  /** Absolute path of another configuration file (`-F`); null for the person's own. */
  readonly sshConfig: string | null;
  readonly env: Environment;
}

/** Where an alias leads, as `ssh -G` says. */
export interface Resolved {
  readonly alias: string;
  readonly hostname: string;
  readonly user: string;
  readonly port: number;
  readonly proxyJump: string | null;
  readonly proxyCommand: string | null;
  /** Equal for two aliases that lead to one account by one way, checked and logged in alike. Hex. */
  readonly key: string;
  /** The configuration for all users that ssh reads after the person's; null where it reads none. */
  readonly systemConfig: string | null;
  /** Names of the options this ssh knows, in lower case. */
  readonly knownOptions: ReadonlySet<string>;
}

/** `Match exec` and canonical names may wait for other machines. */
const RESOLVE_MS = 5000;
/**
 * Options that do not decide whether a connection of ours succeeds and where it leads: what is for the person's own
 * connections, and what we set ourselves. Everything else does, the checks of host keys and the ways to log in included:
 * an alias must not ride on a connection that was checked less than its own would be.
 */
const NOT_THE_WAY: ReadonlySet<string> = new Set([
  ...['host', 'loglevel', 'logverbose', 'batchmode', 'visualhostkey', 'escapechar', 'enableescapecommandline'],
  ...['controlmaster', 'controlpath', 'controlpersist', 'forkafterauthentication', 'stdinnull', 'sessiontype'],
  ...['requesttty', 'remotecommand', 'localcommand', 'permitlocalcommand', 'sendenv', 'setenv'],
  ...['localforward', 'remoteforward', 'dynamicforward', 'clearallforwardings', 'exitonforwardfailure'],
  ...['gatewayports', 'permitremoteopen', 'streamlocalbindmask', 'streamlocalbindunlink', 'tunnel', 'tunneldevice'],
  ...['forwardagent', 'forwardx11', 'forwardx11trusted', 'forwardx11timeout', 'xauthlocation'],
  ...['serveraliveinterval', 'serveralivecountmax', 'connecttimeout', 'connectionattempts', 'tcpkeepalive'],
]);

/** Options that choose the configuration, to be put before all others. */
export function configOptions({ sshConfig }: Pick<SshProgram, 'sshConfig'>): readonly string[] {
  return sshConfig === null ? [] : ['-F', sshConfig];
}

/**
 * Asks ssh where an alias leads, without connecting.
 *
 * @param deadlineMs after which ssh and everything it has started is ended
 * @throws SshFailed with step `alias` or `resolve`
 */
export async function resolveAlias(alias: string, ssh: SshProgram, deadlineMs = RESOLVE_MS): Promise<Resolved> {
  const problem = aliasProblem(alias);
  if (problem !== null) throw problem;
  const ran = await ask(alias, ssh, deadlineMs);
  if (ran.code !== 0) {
    throw new SshFailed(
      alias,
      'resolve',
      'bad-configuration',
      `ssh could not read the configuration for ${alias}.`,
      'Mend the line that ssh names, then try again.',
      said(ran.stderr),
    );
  }
  return parseResolved(alias, ran.stdout, ran.stderr);
}

async function ask(alias: string, ssh: SshProgram, deadlineMs: number): Promise<Ran> {
  try {
    const args = ['-G', '-v', ...configOptions(ssh), '--', alias];
    return await runBounded(ssh.program, args, sshEnvironment(ssh.env), deadlineMs);
  } catch (error) {
    if (!(error instanceof RunFailed)) throw error;
    if (error.reason === 'not-started') {
      throw new SshFailed(
        alias,
        'resolve',
        'no-ssh',
        'The program ssh could not be started on this machine.',
        'Install the OpenSSH client.',
        error.message,
        error,
      );
    }
    throw new SshFailed(
      alias,
      'resolve',
      'deadline',
      `ssh did not work out where ${alias} leads within ${deadlineMs / 1000} s.`,
      'Look at the Match exec lines of your SSH configuration: one of them does not end.',
      said(error.stderr),
      error,
    );
  }
}

/** What ssh has to say besides telling what it does. */
function said(stderr: string): string | null {
  const lines = stderr.split(/\r?\n/u).filter((line) => !/^(?:debug\d:|OpenSSH_)/u.test(line));
  return lines.join('\n').trim() || null;
}

/** The last file it reads; the others are the person's or included. */
function systemConfigIn(stderr: string): string | null {
  const read = stderr.matchAll(/^debug\d: Reading configuration data (?<path>.+\/ssh_config)\r?$/gmu);
  return [...read].at(-1)?.groups?.['path'] ?? null;
}

/** Reads what `ssh -G -v` prints. @throws SshFailed when it names no host */
function parseResolved(alias: string, text: string, stderr: string): Resolved {
  const values = new Map<string, string>();
  for (const line of text.split('\n')) {
    const blank = line.indexOf(' ');
    const name = (blank < 0 ? line : line.slice(0, blank)).toLowerCase();
    if (name !== '' && !values.has(name)) values.set(name, blank < 0 ? '' : line.slice(blank + 1).trim());
  }
  const value = (name: string): string | null => {
    const said = values.get(name);
    return said === undefined || said === '' || said === 'none' ? null : said;
  };
  const hostname = value('hostname')?.toLowerCase() ?? null;
  const user = value('user');
  const port = Number(value('port'));
  if (hostname === null || user === null || !Number.isInteger(port) || port < 1) {
    throw new SshFailed(
      alias,
      'resolve',
      'bad-configuration',
      `ssh did not say where ${alias} leads.`,
      'Check that the program ssh is the OpenSSH client.',
      text.slice(0, 2000) || null,
    );
  }
  const way = text
    .split('\n')
    .filter((line) => !NOT_THE_WAY.has(line.split(' ', 1)[0]?.toLowerCase() ?? ''))
    .sort();
  // What is told the alias (%n) may go another way for each.
  const named = way.some((line) => line.includes('%n')) ? alias : null;
  return {
    alias,
    hostname,
    user,
    port,
    proxyJump: value('proxyjump'),
    proxyCommand: value('proxycommand'),
    key: createHash('sha256')
      .update(JSON.stringify([hostname, user, port, way, named]))
      .digest('hex')
      .slice(0, 24),
    systemConfig: systemConfigIn(stderr),
    knownOptions: new Set(values.keys()),
  };
}
