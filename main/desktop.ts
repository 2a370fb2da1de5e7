/** Ties one core to the desktop: icon, window, notifications, requests, power and the ways out. */
import { homedir } from 'node:os';
import { join } from 'node:path';
import { app, dialog, ipcMain, powerMonitor, protocol, session } from 'electron';
import type { Paths } from '../app/config/paths.ts';
import { serveControl } from '../app/control/server.ts';
import type { Show } from '../app/roll/channels.ts';
import type { Command } from '../app/roll/commands.ts';
import { plural } from '../app/roll/words.ts';
import type { LocalCore } from '../app/supervisor/core.ts';
import { serveScheme, WINDOW_URL } from './app-scheme.ts';
import { comesFrom, registerRequests } from './ipc.ts';
import { Lifecycle, type QuitCause } from './lifecycle.ts';
import { reapNotice } from './notices.ts';
import { Notifications } from './notifications.ts';
import { copyServerUrl, openServerUrl } from './open.ts';
import { watchResume } from './power.ts';
import { quitAsks, quitPlan } from './quit-words.ts';
import { requestHandlers } from './requests.ts';
import { TrayFace } from './tray.ts';
import { watchTrayHost } from './tray-host.ts';
import { trayModel } from './tray-menu.ts';
import type { TrayAct } from './tray-model.ts';
import { confineContents, confineSession, RollWindow } from './window.ts';

export interface DesktopParts {
  readonly core: LocalCore;
  readonly paths: Paths;
  readonly version: string;
  /** Folder of the bundles: preload, renderer, icons. */
  readonly out: string;
  /** Open the window at once, whatever the tray. */
  readonly showWindow: boolean;
  /** How long news are gathered into one notification, in milliseconds. */
  readonly gatherMs?: number;
}

const report = (text: string): void => console.error(`rollcall: ${text}`);

function reportFailure(done: { readonly ok: boolean; readonly message?: string }): void {
  if (done.message !== undefined) report(done.message);
}

/** Resolves when icon or window is there. */
export async function openDesktop(parts: DesktopParts): Promise<void> {
  const { core, paths } = parts;
  serveScheme(protocol, join(parts.out, 'renderer'));
  confineContents(report);
  confineSession(session.defaultSession, report);

  let hasTray = false;
  const window = new RollWindow({
    preload: join(parts.out, 'preload.cjs'),
    boundsFile: join(paths.userData, 'window.json'),
    mayClose: () => {
      if (life.leaving || hasTray) return true;
      // Without an icon a closed window would leave an app that nobody can see.
      void life.quit('person');
      return false;
    },
    report,
  });
  const show = (place: Show | null): void => {
    if (!life.leaving) window.show(place);
  };
  const notifications = new Notifications(() => core.roll, show, parts.gatherMs);
  const tray = new TrayFace(join(parts.out, 'icons'), (act) => onTray(act));

  const runFromTray = async (command: Command): Promise<void> => {
    const result = await core.run(command, 'tray');
    if (command.command === 'reap') notifications.show(reapNotice(result));
    else if (!result.ok) {
      notifications.show({
        title: result.failure.message,
        body: result.failure.remedy,
        show: { view: 'servers', server: null, dialog: 'none', kind: null },
      });
    }
  };
  const onTray = (act: TrayAct): void => {
    switch (act.act) {
      case 'show':
        show(act.show);
        break;
      case 'run':
        void runFromTray(act.command);
        break;
      case 'open-url':
        void openServerUrl(core.roll, act.server).then(reportFailure);
        break;
      case 'copy-url':
        reportFailure(copyServerUrl(core.roll, act.server));
        break;
      case 'quit':
        void life.quit('person');
        break;
    }
  };

  const removeRequests = registerRequests(
    ipcMain,
    (event) => comesFrom(event, window.mainFrame, WINDOW_URL),
    requestHandlers({
      core,
      paths,
      version: parts.version,
      home: homedir(),
      hasTray: () => hasTray,
      chooseFolder: async (start) => {
        const options = { properties: ['openDirectory' as const], ...(start === null ? {} : { defaultPath: start }) };
        const parent = window.browserWindow;
        const chosen = await (parent === null
          ? dialog.showOpenDialog(options)
          : dialog.showOpenDialog(parent, options));
        return chosen.canceled ? null : (chosen.filePaths[0] ?? null);
      },
      quit: () => void life.quit('person'),
    }),
    report,
  );
  const control = await serveControl({ core, socketPath: paths.controlSocket, version: parts.version, onShow: show });

  const rollChanged = (): void => {
    tray.update(trayModel(core.roll));
    window.push('roll.changed', core.roll);
    notifications.rollChanged(core.roll);
  };
  const unsubscribe = core.subscribe(rollChanged);
  const stopResume = watchResume(powerMonitor, () => void core.run({ command: 'look' }, 'app'));

  const life: Lifecycle = new Lifecycle({
    mustAsk: () => quitAsks(core.roll),
    ask: async () => {
      const count = plural(quitPlan(core.roll).stopping.length, 'local server');
      const options = {
        type: 'question' as const,
        message: `Quit and stop ${count}?`,
        detail: 'One of them is busy: its sessions are interrupted, and their history is kept.',
        buttons: ['Cancel', `Quit and stop ${count}`],
        defaultId: 0,
        cancelId: 0,
        noLink: true,
      };
      const parent = window.browserWindow;
      const answer = await (parent === null ? dialog.showMessageBox(options) : dialog.showMessageBox(parent, options));
      return answer.response === 1;
    },
    leave: () => {
      unsubscribe();
      stopResume();
      removeRequests();
      trayHost.close();
      notifications.close();
      tray.close();
      window.destroy();
    },
    close: async (deadlineMs) => {
      await control.close();
      return core.close(core.roll.settings.stopLocalServers, deadlineMs);
    },
    exit: (code) => app.exit(code),
    say: (text) => process.stdout.write(`${text}\n`),
  });
  leaveBy((cause) => void life.quit(cause));

  const setTray = (present: boolean): void => {
    if (life.leaving) return;
    hasTray = present;
    if (present) tray.show();
    else {
      tray.hide();
      // Never invisible: what the icon was for is in the window.
      window.show(null);
    }
  };
  const trayHost = await watchTrayHost(setTray, report);
  tray.update(trayModel(core.roll));
  if (trayHost.present) setTray(true);
  if (!trayHost.present || parts.showWindow) window.show(null);
  notifications.rollChanged(core.roll);
}

/** Every way in which the system or a person can ask the app to go. */
function leaveBy(quit: (cause: QuitCause) => void): void {
  app.on('before-quit', (event) => {
    // The orderly quit is asynchronous, and ends in `app.exit`, which does not come by here.
    event.preventDefault();
    quit('person');
  });
  // Without a listener Electron quits with its last window; the icon stays.
  app.on('window-all-closed', () => undefined);
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => quit('system'));
  powerMonitor.on('shutdown', (event?: { preventDefault(): void }) => {
    // Asks the system for the moment that the orderly quit takes.
    event?.preventDefault();
    quit('system');
  });
}
