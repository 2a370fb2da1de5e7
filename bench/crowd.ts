/** A crowd of sleeping processes, each ended by its own number. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';

export interface Crowd {
  end(): Promise<void>;
}

/**
 * Starts them in a session of their own under one shell. The shell alone ends them, by the numbers of its own
 * children that it has not collected, when its standard input closes: also when the benchmark dies.
 */
export async function startCrowd(count: number): Promise<Crowd> {
  const script = `
pids=
trap 'kill $pids 2>/dev/null; wait' EXIT
i=0
while [ $i -lt ${count} ]; do sleep 600 >/dev/null & pids="$pids $!"; i=$((i+1)); done
echo ready
read -r line`;
  const shell = spawn('/bin/sh', ['-c', script], { stdio: ['pipe', 'pipe', 'ignore'], detached: true });
  const exited = once(shell, 'exit');
  for await (const line of createInterface({ input: shell.stdout })) if (line === 'ready') break;
  return {
    async end() {
      shell.stdin.end();
      await exited;
    },
  };
}
