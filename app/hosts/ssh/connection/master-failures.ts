/** What is said when a master does not come about, besides what ssh itself says. */
import { SshFailed } from '../../ssh-failed.ts';
import type { SshLog } from '../diagnostics/ssh-log.ts';

export function notStarted(alias: string, error: Error): SshFailed {
  return new SshFailed(
    alias,
    'resolve',
    'no-ssh',
    'The program ssh could not be started on this machine.',
    'Install the OpenSSH client.',
    error.message,
    error,
  );
}

export function unidentified(alias: string): SshFailed {
  return new SshFailed(
    alias,
    'link',
    'not-identified',
    `The ssh for ${alias} was started, but could not be identified, and was ended again.`,
    'Try again.',
  );
}

export function disconnected(alias: string): SshFailed {
  return new SshFailed(alias, 'link', 'disconnected', `${alias} was disconnected.`, 'Connect it again to use it.');
}

export function unanswered(alias: string, givenUp: 'cancelled' | 'timeout', log: SshLog): SshFailed {
  const hostKey = log.step === 'host-key';
  return new SshFailed(
    alias,
    hostKey ? 'host-key' : 'authentication',
    givenUp,
    givenUp === 'timeout'
      ? `Nobody answered what ssh asked for ${alias}, so it was not connected.`
      : `Connecting ${alias} was given up at a question.`,
    'Connect again when you can answer it.',
    log.text || null,
  );
}
