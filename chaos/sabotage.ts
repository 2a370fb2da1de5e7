/** Commits the faults that a run must notice, in the place of a product that had them. */
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { unlinkSync } from 'node:fs';
import { join } from 'node:path';
import { askServer } from './actions/servers.ts';
import { type Chaos, pause, SIGKILL } from './chaos.ts';
import type { Sabotage } from './options.ts';
import type { Watch } from './watch.ts';

const SIGUSR1 = 10;

export async function commit(sabotage: Sabotage, chaos: Chaos, watch: Watch): Promise<void> {
  switch (sabotage) {
    case 'stranger':
      return signalStranger(chaos);
    case 'owner':
      return startUnrecorded();
    case 'record':
      return loseRecord(chaos, watch);
  }
}

/** Something that does not end it, and that nobody would see in the process table. */
function signalStranger({ strangers }: Chaos): void {
  const [stranger] = strangers.living;
  if (stranger === undefined) throw new Error('there is no stranger');
  process.kill(stranger.pid, SIGUSR1);
}

/** Something that was started for a server of ours, and that no row shows. */
function startUnrecorded(): void {
  const env = { PATH: '/usr/bin:/bin', ROLLCALL_NONCE: randomUUID() };
  spawn('sleep', ['600'], { env, detached: true, stdio: 'ignore' });
}

/** A record goes while nobody is there who could have told of it. */
async function loseRecord(chaos: Chaos, watch: Watch): Promise<void> {
  const directory = chaos.stage.moods.folders['plain'] ?? '/';
  await askServer(chaos, {
    command: 'start',
    kind: 'opencode',
    directory,
    port: null,
    forPid: null,
    keepRunning: true,
  });
  watch.poll();
  const [record] = watch.records.read();
  if (record === undefined) throw new Error('the server that was to lose its record did not start');
  for (const being of chaos.ledger.living('app', 'guard', 'server')) await chaos.strangers.strike(being, SIGKILL);
  unlinkSync(join(chaos.stage.paths.recordsDir, `${record.nonce}.json`));
  await pause(500);
}
