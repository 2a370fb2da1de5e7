/** What the supervisor of the app costs while nothing happens and no window is open. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { resolvePaths } from '../app/config/paths.ts';
import { openLocalCore } from '../app/core/local-core.ts';
import { workerLooker } from '../app/hosts/local/look/look-client.ts';
import { installFake } from '../app/supervisor/testing/fake-opencode.ts';
import { Started } from '../app/supervisor/testing/processes.ts';
import { childFaults } from './children.ts';
import { type Row, within } from './table.ts';

const SERVERS = 20;
/** Health checks, streams and young processes have settled by then. */
const SETTLE_MS = 15_000;
const MEASURE_MS = 20_000;

export async function benchSteady(workerUrl: URL): Promise<Row[]> {
  const root = mkdtempSync(join(tmpdir(), 'rollcall-bench-'));
  const started = new Started();
  try {
    const program = installFake(join(root, 'bin'));
    const paths = resolvePaths({
      env: {
        ROLLCALL_CONFIG_DIR: join(root, 'config'),
        ROLLCALL_STATE_DIR: join(root, 'state'),
        XDG_RUNTIME_DIR: join(root, 'run'),
      },
      platform: process.platform,
      uid: process.getuid?.() ?? null,
      home: root,
    });
    mkdirSync(paths.configDir, { recursive: true, mode: 0o700 });
    writeFileSync(paths.configFile, '{}', { mode: 0o600 });
    for (let server = 0; server < SERVERS; server += 1) {
      started.spawn(program, ['serve', '--port', '0'], { cwd: join(root, 'bin'), detached: true });
    }
    const core = await openLocalCore({ paths, lock: null, mode: 'app', looker: workerLooker({ workerUrl }) });
    core.watchedWhile(() => false);
    try {
      await delay(SETTLE_MS);
      const seen = core.roll.servers.filter(({ pids }) => pids.some((pid) => started.has(pid))).length;
      if (seen !== SERVERS) throw new Error(`${seen} of ${SERVERS} servers are in the roll`);
      const faults = childFaults();
      const before = process.cpuUsage();
      await delay(MEASURE_MS);
      const used = process.cpuUsage(before);
      const percent = (used.user + used.system) / 10 / MEASURE_MS;
      return [
        within(`steady state, ${SERVERS} servers, no window: CPU of a core`, percent, '%', 1),
        within('child processes meanwhile (page faults of collected children)', childFaults() - faults, '', 0),
      ];
    } finally {
      await core.close(false, 5000);
    }
  } finally {
    await started.endAll();
    rmSync(root, { recursive: true, force: true });
  }
}
