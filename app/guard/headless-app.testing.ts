/**
 * The app without its desktop, as a program of its own in plain Node: the lock, the supervisor, the guard and the
 * control socket, wired as in the desktop. For tests that kill it, and for the chaos run. Each line it prints is JSON.
 */
import { homedir } from 'node:os';
import { resolvePaths } from '../config/paths.ts';
import { claimWriter } from '../control/claim-writer.ts';
import { serveControl } from '../control/server.ts';
import { openLocalCore } from '../core/local-core.ts';
import { createGuardClient } from './create-guard-client.ts';
import type { Budgets } from './guard-client.ts';

const VERSION = '0.0.0-test';
const QUIT_MS = 10_000;

const tell = (words: unknown): void => void process.stdout.write(`${JSON.stringify(words)}\n`);

const paths = resolvePaths({
  env: process.env,
  platform: process.platform,
  uid: process.getuid?.() ?? null,
  home: homedir(),
});
const claim = await claimWriter({ ...paths, version: VERSION });
if (!claim.first) {
  tell({ refused: claim.message });
  process.exit(claim.exitCode);
}
const budgets = JSON.parse(process.env['ROLLCALL_TEST_BUDGETS'] ?? '{}') as Partial<Budgets>;
const keeper = await createGuardClient({
  paths,
  out: import.meta.dirname,
  version: VERSION,
  env: process.env,
  budgets,
});
keeper.begin();
if (process.env['ROLLCALL_TEST_STALL'] !== undefined) {
  // As an app that waits for its desktop, which may never come.
  tell({ stalled: { pid: process.pid, guard: keeper.pid } });
  await new Promise<never>(() => setInterval(() => undefined, 60_000));
}
const core = await openLocalCore({ paths, lock: claim.lock, guard: keeper });
const control = await serveControl({
  core,
  socketPath: paths.controlSocket,
  version: VERSION,
  onShow: () => tell({ shown: true }),
});

let leaving = false;
const quit = async (): Promise<void> => {
  if (leaving) return;
  leaving = true;
  const closed = control.close();
  const report = await core.close(core.roll.settings.stopLocalServers, QUIT_MS);
  await closed;
  tell({ quit: report });
  process.exit(0);
};
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => void quit());

// Whoever waits for this line may rely on the guard.
const why = await keeper.startNow();
tell({ ready: { pid: process.pid, guard: keeper.pid, why } });
