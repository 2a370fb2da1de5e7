import { whyRefused } from '../../../config/alias.ts';
import { SshFailed } from '../../ssh-failed.ts';

/**
 * Why an alias is not handed to ssh, or null when it may be. ssh would take one that begins with `-` for options, and
 * with them run any program.
 */
export function aliasProblem(alias: string): SshFailed | null {
  const why = whyRefused(alias);
  if (why === null) return null;
  return new SshFailed(
    alias,
    'alias',
    'alias-refused',
    `“${printable(alias)}” cannot be the name of an SSH host: ${why}.`,
    'Use the name of a Host line in your SSH configuration, a host name, or user@host.',
  );
}

function printable(alias: string): string {
  const shown = alias.slice(0, 60).replace(/[\p{C}\u2028\u2029]/gu, '\ufffd');
  return alias.length > 60 ? `${shown}…` : shown;
}
