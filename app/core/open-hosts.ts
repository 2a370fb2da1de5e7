/** Wires the hosts that are reached over SSH: the person's own ssh, its questions, and what it knows of hosts. */
import { homedir } from 'node:os';
import { isAbsolute, join, resolve } from 'node:path';
import type { Audit } from '../audit/audit.ts';
import type { Paths } from '../config/paths.ts';
import type { Host } from '../hosts/host.ts';
import { refOf } from '../hosts/process-info.ts';
import { startAskpass } from '../hosts/ssh/askpass/server.ts';
import { hostsOnDisk } from '../hosts/ssh/config/offered-files.ts';
import type { SshConnection } from '../hosts/ssh/connection/ssh-connection.ts';
import { Transport } from '../hosts/ssh/connection/transport.ts';
import type { Observer, ProcessRef } from '../identity/identity.ts';
import type { Offered } from '../roll/schema.ts';
import type { SessionStore } from '../sessions/session-tracker.ts';
import type { Mode } from '../supervisor/core.ts';
import type { GuardPort } from '../supervisor/guard-port.ts';
import { PendingQuestions } from '../supervisor/hosts/pending-questions.ts';
import type { RemoteHosts } from '../supervisor/hosts/remote-hosts.ts';
import { type Access, SshHosts } from '../supervisor/hosts/ssh-hosts.ts';
import type { SettingsSource } from '../supervisor/settings.ts';
import { loadLibc } from '../util/libc.ts';

/** Names another configuration file of ssh, for tests. */
export const SSH_CONFIG_VARIABLE = 'ROLLCALL_SSH_CONFIG';

export interface OpenHosts {
  readonly mode: Mode;
  /** Every server is followed by a command that is about sessions. */
  readonly hears: boolean;
  readonly paths: Paths;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly settings: SettingsSource;
  readonly audit: Audit;
  readonly host: Host;
  readonly localObserver: Observer;
  readonly writer: () => Promise<ProcessRef>;
  readonly guard: GuardPort | null;
  /** Folder of the bundles where a person can be asked, else null: then what ssh would ask fails. */
  readonly asksFrom: string | null;
  /** Where lives of sessions are written down; null where nothing is written. */
  readonly keeping: SessionStore | null;
  readonly onChange: () => void;
}

export function openHosts(parts: OpenHosts): RemoteHosts {
  const { paths, env, host, guard, asksFrom, onChange } = parts;
  const named = env[SSH_CONFIG_VARIABLE];
  const sshConfig = named === undefined || named === '' ? null : resolve(named);
  // Filled in below: the questions need the names of the hosts, and the hosts the questions.
  let nameOf = (alias: string): string => alias;
  const questions = asksFrom === null ? null : new PendingQuestions((alias) => nameOf(alias), onChange);

  const openTransport = async (onLink: (link: SshConnection) => void): Promise<Access> => {
    const libc = await loadLibc();
    const askpass =
      questions === null || asksFrom === null
        ? null
        : await startAskpass({
            runtimeDir: paths.runtimeDir,
            script: join(unpacked(asksFrom), 'askpass.sh'),
            runtime: process.execPath,
            ask: (question, signal) => questions.ask(question, signal),
            libc: libc.loaded ? libc.libc : null,
          });
    const opening = Transport.open({
      runtimeDir: paths.runtimeDir,
      sshConfig,
      env,
      capture: async (pid) => {
        const info = await host.inspect(pid);
        return info === null ? null : refOf(info);
      },
      questioner: askpass,
      onChange: (link) => {
        guard?.updateSsh(transport.processes);
        onLink(link);
      },
    });
    const transport = await opening.catch(async (error: unknown) => {
      await askpass?.close();
      throw error;
    });
    return {
      transport,
      close: async () => {
        await transport.close();
        await askpass?.close();
        guard?.updateSsh([]);
      },
    };
  };
  const hosts = new SshHosts({
    ...parts,
    configFile: paths.configFile,
    openTransport,
    questions,
    offered: () => offeredHere(env, sshConfig),
  });
  nameOf = (alias) => hosts.nameOf(alias);
  return hosts;
}

/** A script in an archive could not be run by ssh. */
function unpacked(out: string): string {
  return out.replace(/([\\/])app\.asar(?=[\\/])/u, '$1app.asar.unpacked');
}

function offeredHere(env: OpenHosts['env'], sshConfig: string | null): readonly Offered[] {
  const home = env['HOME'] !== undefined && isAbsolute(env['HOME']) ? env['HOME'] : homedir();
  const found = hostsOnDisk(home, sshConfig);
  return found.map(({ alias, from }) => ({ alias, from: from === 'config' ? 'config' : 'known-hosts' }));
}
