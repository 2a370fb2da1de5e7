import { rmSync, writeFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import type { Resolved, SshProgram } from '../config/resolve.ts';
import { CONNECT_SECONDS } from './master-options.ts';

export interface JumpConfig {
  /** How ssh is called instead. */
  readonly ssh: SshProgram;
  /** Removes what was written. */
  remove(): void;
}

/**
 * The ssh that goes to a machine on the way (`ProxyJump`) is started by ssh with the same configuration file and without
 * our options. With `ControlMaster auto` in there it would hang on a stuck master of the person's, or leave one behind.
 * So it gets a file that turns masters off and includes the person's; the first value of an option counts.
 *
 * @param mayAsk false where no person can be asked
 * @param path where the file may stand
 */
export function withoutForeignMasters(resolved: Resolved, ssh: SshProgram, mayAsk: boolean, path: string): JumpConfig {
  if (resolved.proxyJump === null) return { ssh, remove: () => undefined };
  // ssh takes the home of the account's entry, not HOME. A file that is missing includes nothing.
  const usual = [join(userInfo().homedir, '.ssh', 'config'), resolved.systemConfig];
  const included = ssh.sshConfig === null ? usual.filter((file) => file !== null) : [ssh.sshConfig];
  const lines = [
    'ControlMaster no',
    'ControlPath none',
    'ControlPersist no',
    'VisualHostKey no',
    `ConnectTimeout ${CONNECT_SECONDS}`,
    ...(mayAsk ? [] : ['BatchMode yes']),
    ...included.map((file) => `Include ${quoted(file)}`),
  ];
  writeFileSync(path, `${lines.join('\n')}\n`, { mode: 0o600 });
  return { ssh: { ...ssh, sshConfig: path }, remove: () => rmSync(path, { force: true }) };
}

/** Include takes patterns; what would be one in a path stands for itself. */
function quoted(path: string): string {
  return `"${path.replace(/[*?[\]\\]/gu, '\\$&')}"`;
}
