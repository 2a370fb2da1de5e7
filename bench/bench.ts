/** All benchmarks in one run. Linux only: elsewhere there is no procfs to look at. */
import { loadavg } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { startCrowd } from './crowd.ts';
import { benchExits } from './exits.ts';
import { benchLooks } from './looks.ts';
import { benchRoll } from './roll.ts';
import { benchSessions } from './sessions.ts';
import { benchSsh } from './ssh.ts';
import { benchSteady } from './steady.ts';
import { type Row, table } from './table.ts';

const CROWD = 2000;
/** Processes are read at every look while they are young; a crowd of them is not what is to be measured. */
const GROW_OLD_MS = 11_000;

/**
 * Prints a table. A target that is missed is said, never an error.
 *
 * @param only `ssh` for the hosts over SSH alone, `roll` for sessions and the way into the window; null for everything
 */
export async function bench(workerUrl: URL, only: string | null = null): Promise<void> {
  const rows: Row[] = [];
  try {
    if (only === 'ssh') rows.push(...(await benchSsh(workerUrl)));
    else if (only === 'roll') rows.push(...benchRoll(), ...benchSessions());
    else await measure(workerUrl, rows);
  } finally {
    // Also when a later part fails: what was measured was measured.
    console.log(
      `\n${table(rows)}\n\nLooks with ${CROWD} extra processes; load at the end ${loadavg()[0]?.toFixed(1)}.`,
    );
  }
}

async function measure(workerUrl: URL, rows: Row[]): Promise<void> {
  console.log(`bench: starting ${CROWD} sleeping processes (load ${loadavg()[0]?.toFixed(1)})`);
  const crowd = await startCrowd(CROWD);
  try {
    await delay(GROW_OLD_MS);
    console.log('bench: looking');
    rows.push(...(await benchLooks(workerUrl)));
  } finally {
    await crowd.end();
  }
  rows.push(...benchRoll(), ...benchSessions());
  console.log('bench: exits');
  rows.push(...(await benchExits(workerUrl)));
  console.log('bench: steady state, 35 s');
  rows.push(...(await benchSteady(workerUrl)));
  console.log('bench: hosts over SSH');
  rows.push(...(await benchSsh(workerUrl)));
}
