/** From the first line of the app to its desktop. */
import { mkdirSync } from 'node:fs';
import { homedir, hostname } from 'node:os';
import { app, Menu, nativeTheme, protocol } from 'electron';
import { type Paths, resolvePaths } from '../app/config/paths.ts';
import { claimWriter } from '../app/control/claim-writer.ts';
import type { LocalCore } from '../app/supervisor/core.ts';
import type { GuardPort } from '../app/supervisor/guard-port.ts';
import type { WriterLock } from '../app/writer/writer-lock.ts';
import { declareScheme } from './app-scheme.ts';
import { judgeChromiumLock } from './chromium-lock.ts';
import { openDesktop } from './desktop.ts';
import { QuitSignals } from './quit-signals.ts';

export interface AppDeps {
  /** Starts the guard of this process, which holds the writer's lock. */
  startGuard(context: { readonly paths: Paths; readonly version: string }): Promise<GuardPort>;
  /** Opens the supervisor of this process; it owns the lock from then on and releases it when it closes. */
  openCore(context: {
    readonly paths: Paths;
    readonly lock: WriterLock;
    readonly guard: GuardPort;
  }): Promise<LocalCore>;
  /** Folder of the bundles. */
  readonly out: string;
  /** See `DesktopParts`; for tests. */
  readonly gatherMs?: number;
}

const THEMES = ['light', 'dark', 'system'] as const;

/**
 * Starts the app. Everything up to the writer's lock happens before Electron is ready; a second launch never gets
 * further than showing the first one's window.
 *
 * @throws whatever keeps it from starting, one sentence for the person in `message`
 */
export async function runApp(parts: AppDeps): Promise<void> {
  const goodbyes = new QuitSignals();
  const paths = resolvePaths({
    env: process.env,
    platform: process.platform,
    uid: process.getuid?.() ?? null,
    home: homedir(),
  });
  mkdirSync(paths.userData, { recursive: true, mode: 0o700 });
  app.setPath('userData', paths.userData);
  app.setPath('sessionData', paths.userData);
  declareScheme(protocol);
  const theme = THEMES.find((one) => one === process.env['ROLLCALL_THEME']);
  if (theme !== undefined) nativeTheme.themeSource = theme;
  // The system's menu bar has nothing for this window; macOS needs one for copy and paste.
  if (process.platform !== 'darwin') Menu.setApplicationMenu(null);

  const version = app.getVersion();
  const claim = await claimWriter({ ...paths, version });
  if (!claim.first) {
    process.stdout.write(`${claim.message}\n`);
    app.exit(claim.exitCode);
    return;
  }
  goodbyes.defer();
  // The folder it was started in may go away, and without one no worker can be started.
  process.chdir('/');
  if (claim.lock.warning !== null) console.error(`rollcall: ${claim.lock.warning}`);
  const left = judgeChromiumLock(paths.userData, hostname());
  if (left !== null) console.error(`rollcall: ${left}`);

  // The guard before this one may have yielded just now. The desktop may take its time, or never come.
  const guard = await parts.startGuard({ paths, version });
  await app.whenReady();
  const core = await parts.openCore({ paths, lock: claim.lock, guard });
  const { out, gatherMs } = parts;
  const showWindow = process.argv.includes('--show');
  await openDesktop({ core, goodbyes, paths, version, out, showWindow, ...(gatherMs !== undefined && { gatherMs }) });
}
