import lingerScript from '../remote/linger.sh';
import type { RemoteShell } from './shell.ts';

const DEADLINE_MS = 10_000;

/**
 * Why a server may go as soon as the last login of its account ends (D19), with the remedy; null where nothing says so.
 *
 * @throws SshFailed
 */
export async function lingerProblem(shell: RemoteShell): Promise<string | null> {
  const answer = await shell.run(lingerScript, {}, DEADLINE_MS);
  const lingers = /^Linger=(\w+)$/mu.exec(answer.text('linger') ?? '')?.[1];
  const [last] = [...(answer.text('kill') ?? '').matchAll(/KillUserProcesses *= *(\w+)/giu)].slice(-1);
  const kills = /^(?:yes|true|on|1)$/iu.test(last?.[1] ?? 'no');
  if (!kills || lingers !== 'no') return null;
  return (
    `${shell.host} ends what an account started when its last login ends (KillUserProcesses of systemd-logind). ` +
    'Run `loginctl enable-linger` there once, then start it again.'
  );
}
