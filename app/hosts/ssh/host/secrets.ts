/** Named variables of a process's environment on a remote machine. */
import type { ProcessIdentity } from '../../../identity/identity.ts';
import { pickVariables } from '../../local/procfs/argv.ts';
import { parseStat } from '../../local/procfs/stat.ts';
import secretsScript from '../remote/secrets.sh';
import type { RemoteShell } from './shell.ts';

const DEADLINE_MS = 15_000;

/**
 * Null where the process is not there any more, is another one by now, or keeps its environment to itself.
 *
 * @param names of variables: letters, digits and underscores
 * @throws SshFailed
 */
export async function readSecrets(
  shell: RemoteShell,
  { pid, startTime }: ProcessIdentity,
  names: readonly string[],
): Promise<Readonly<Partial<Record<string, string>>> | null> {
  const plain = names.filter((name) => /^\w+$/u.test(name));
  const answer = await shell.run(secretsScript, { pid, names: plain.join('|') }, DEADLINE_MS);
  const values = answer.bytes('values');
  const after = parseStat(answer.bytes('after') ?? Buffer.alloc(0));
  // What was read before the same start time was seen again is of that process.
  if (values === null || after === null || `linux:${after.startTicks}` !== startTime) return null;
  return pickVariables(values, plain);
}
