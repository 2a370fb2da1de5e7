/** The app without its desktop and without a guard, in plain Node. Each line it prints is JSON. */
import { homedir } from 'node:os';
import { resolvePaths } from '../app/config/paths.ts';
import { serveControl } from '../app/control/server.ts';
import { acquireWriter } from '../app/control/writer-lock.ts';
import { openLocalCore } from '../app/supervisor/local-core.ts';

const VERSION = '0.0.0-test';
const tell = (words: unknown): void => void process.stdout.write(`${JSON.stringify(words)}\n`);
const paths = resolvePaths({
  env: process.env,
  platform: process.platform,
  uid: process.getuid?.() ?? null,
  home: homedir(),
});
let lock: Awaited<ReturnType<typeof acquireWriter>>;
try {
  lock = await acquireWriter(paths.writerLock, {
    holder: 'app',
    version: VERSION,
    fallbackFolder: paths.runtimeDir,
    socketPath: paths.controlSocket,
  });
} catch (error) {
  tell({ refused: String(error) });
  process.exit(1);
}
const core = await openLocalCore({ paths, lock });
const control = await serveControl({
  core,
  socketPath: paths.controlSocket,
  version: VERSION,
  onShow: () => undefined,
});
let leaving = false;
const quit = async (): Promise<void> => {
  if (leaving) return;
  leaving = true;
  const closed = control.close();
  const report = await core.close(core.roll.settings.stopLocalServers, 10_000);
  await closed;
  tell({ quit: report });
  process.exit(0);
};
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => void quit());
tell({ ready: { pid: process.pid, guard: null, why: null } });
