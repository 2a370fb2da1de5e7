/** From a process's end to the callback. */
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLocalHost } from '../app/hosts/local/local-host.ts';
import { workerLooker } from '../app/hosts/local/look/look-client.ts';
import { type Row, within } from './table.ts';

const ROUNDS = 20;

export async function benchExits(workerUrl: URL): Promise<Row[]> {
  const stateDir = mkdtempSync(join(tmpdir(), 'rollcall-bench-'));
  const host = await createLocalHost({ looker: workerLooker({ workerUrl }), stateDir });
  try {
    let longest = 0;
    for (let round = 0; round < ROUNDS; round += 1) {
      const child = spawn('sleep', ['60'], { stdio: 'ignore' });
      const info = child.pid === undefined ? null : await host.inspect(child.pid);
      if (info === null) throw new Error('sleep could not be started');
      const ref = { identity: info.identity, evidence: { executable: info.executable, argvHash: info.argvHash } };
      const told = new Promise<number>((resolve) => host.watchExit(ref, () => resolve(performance.now())));
      const ended = performance.now();
      child.kill('SIGKILL'); // a child of ours that is not collected yet
      longest = Math.max(longest, (await told) - ended);
    }
    return [within(`process ended → told (longest of ${ROUNDS})`, longest, 'ms', 50)];
  } finally {
    await host.close();
    rmSync(stateDir, { recursive: true, force: true });
  }
}
