import { existsSync } from 'node:fs';

/** util-linux; on every Debian. */
const SETPRIV = '/usr/bin/setpriv';

/**
 * A command that the kernel ends with SIGTERM when this process dies in whatever way, where the system has the means. It
 * replaces itself by the program, so that is still our direct child. What hangs, or a system without it, is the guard's.
 */
export function boundToParent(program: string, args: readonly string[]): readonly [string, ...string[]] {
  if (process.platform !== 'linux' || !existsSync(SETPRIV)) return [program, ...args];
  return [SETPRIV, '--pdeathsig', 'TERM', '--', program, ...args];
}
