/** Looks of this machine against its own `ps` and against systeminformation, in a crowd. */
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay, performance } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import systeminformation from 'systeminformation';
import type { Host } from '../app/hosts/host.ts';
import { createLocalHost } from '../app/hosts/local/local-host.ts';
import { workerLooker } from '../app/hosts/local/look/look-client.ts';
import { childFaults } from './children.ts';
import { against, median, type Row, within } from './table.ts';

const run = promisify(execFile);
const ROUNDS = 5;
/** systeminformation answers calls within half a second from memory. */
const SPACING_MS = 700;
const NOTHING = { customKinds: [], include: [], ownPids: [] };

async function timed(work: () => Promise<unknown>): Promise<number> {
  const begun = performance.now();
  await work();
  return performance.now() - begun;
}

/** Begins to watch the event loop; the function returned ends that and tells the longest block in milliseconds. */
function longestBlock(): () => number {
  const delays = monitorEventLoopDelay({ resolution: 1 });
  delays.enable();
  return () => {
    delays.disable();
    // A timer of one millisecond is never early, and it is what is measured with.
    return Math.max(0, delays.max / 1e6 - 1);
  };
}

/** A host whose thread has started, and has read one process only. */
async function freshHost(workerUrl: URL, stateDir: string): Promise<Host> {
  const host = await createLocalHost({ looker: workerLooker({ workerUrl, deadlineMs: 20_000 }), stateDir });
  await host.inspect(process.pid);
  return host;
}

export async function benchLooks(workerUrl: URL): Promise<Row[]> {
  const stateDir = mkdtempSync(join(tmpdir(), 'rollcall-bench-'));
  try {
    const ps: number[] = [];
    const first: number[] = [];
    const later: number[] = [];
    const si: number[] = [];
    const blocks: number[] = [];
    const idle: number[] = [];
    let faults = 0;
    // Turn by turn, so that what else the machine does meets all of them alike.
    for (let round = 0; round < ROUNDS; round += 1) {
      ps.push(await timed(() => run('ps', ['-eo', 'pid,ppid,lstart,args'], { maxBuffer: 1 << 28 })));
      const host = await freshHost(workerUrl, stateDir);
      const before = childFaults();
      const block = longestBlock();
      first.push(await timed(() => host.look(NOTHING)));
      // The looks right after the first still catch up on environments.
      for (let look = 0; look < 8; look += 1) await host.look(NOTHING);
      for (let look = 0; look < 12; look += 1) {
        await delay(50);
        later.push(await timed(() => host.look(NOTHING)));
      }
      blocks.push(block());
      faults += childFaults() - before;
      await host.close();
      const nothing = longestBlock();
      await delay(SPACING_MS);
      idle.push(nothing());
      si.push(await timed(() => systeminformation.processes()));
    }
    return [
      against('first look', median(first), 'ps', median(ps), 0.5),
      against('first look', median(first), 'systeminformation', median(si), 0.2),
      against('later look', median(later), 'ps', median(ps), 0.1),
      against('later look', median(later), 'systeminformation', median(si), 0.1),
      {
        ...within('longest block of the main thread while looking (median of rounds)', median(blocks), 'ms', 5),
        peer: `doing nothing ${median(idle).toFixed(2)} ms`,
      },
      within('child processes of the looks (page faults of collected children)', faults, '', 0),
    ];
  } finally {
    rmSync(stateDir, { recursive: true, force: true });
  }
}
