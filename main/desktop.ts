/** Ties one core to the desktop: icon, window, notifications, requests, power and the ways out. */

import { homedir } from 'node:os';
import { join } from 'node:path';
import { app, dialog, ipcMain, powerMonitor, protocol, session } from 'electron';
import type { Paths } from '../app/config/paths.ts';
import { serveControl } from '../app/control/server.ts';
import { ControlUnavailable } from '../app/ipc/socket-path.ts';
import { RollSender } from '../app/roll/change.ts';
import type { NavigationTarget } from '../app/roll/channels.ts';
import type { Command } from '../app/roll/commands.ts';
import type { LocalCore } from '../app/supervisor/core.ts';
import { hostNamed } from '../app/text/host-words.ts';
import { messageOf } from '../app/util/errors.ts';
import { serveScheme, WINDOW_URL } from './app-scheme.ts';
import { AskedHosts } from './asked-hosts.ts';
import { comesFrom, registerRequests } from './ipc.ts';
import { Lifecycle } from './lifecycle.ts';
import { reapNotice } from './notices.ts';
import { Notifications } from './notifications.ts';
import { copyServerUrl, openServerUrl } from './open.ts';
import { watchNetwork, watchResume } from './power.ts';
import type { QuitSignals } from './quit-signals.ts';
import { quitAsks, quitQuestion } from './quit-words.ts';
import { requestHandlers } from './requests.ts';
import { TrayController } from './tray.ts';
import { type TrayHostWatch, watchTrayHost } from './tray-host.ts';
import { trayModel } from './tray-menu.ts';
import type { TrayAct } from './tray-model.ts';
import { confineContents, confineSession, RollWindow } from './window.ts';

export interface DesktopDeps {
  readonly core: LocalCore;
  readonly paths: Paths;
  readonly version: string;
  /** Folder of the bundles: preload, renderer, icons. */
  readonly out: string;
  /** Whatever asked the app to go since its first line. */
  readonly goodbyes: QuitSignals;
  /** Open the window at once, whatever the tray. */
  readonly showWindow: boolean;
  /** How long news are gathered into one notification, in milliseconds. */
  readonly gatherMs?: number;
}

const report = (text: string): void => console.error(`rollcall: ${text}`);

/** Resolves when icon or window is there. */
export async function openDesktop(parts: DesktopDeps): Promise<void> {
  const { core, paths } = parts;
  serveScheme(protocol, join(parts.out, 'renderer'));
  confineContents(report);
  confineSession(session.defaultSession, report);

  let hasTray = false;
  let trayHost: TrayHostWatch | null = null;
  const sender = new RollSender();
  const pushRoll = (): void => window.push('roll.changed', sender.changeTo(core.roll));
  const window: RollWindow = new RollWindow({
    preload: join(parts.out, 'preload.cjs'),
    boundsFile: join(paths.userData, 'window.json'),
    mayClose: () => {
      if (life.leaving || hasTray) return true;
      // Without an icon a closed window would leave an app that nobody can see.
      void life.quit('person');
      return false;
    },
    // A roll that came while the page was loading was pushed to nobody.
    loaded: () => {
      sender.forget();
      pushRoll();
      // Looks are rarer while no window is open, so the first one the person sees is taken now.
      void core.run({ command: 'look' }, 'app');
    },
    report,
  });
  core.watchedWhile(() => window.open);
  const show = (place: NavigationTarget | null): void => {
    if (!life.leaving) window.show(place);
  };
  const asked = new AskedHosts();
  const notifications = new Notifications(() => core.roll, show, parts.gatherMs);
  const tray = new TrayController(join(parts.out, 'icons'), (act) => onTray(act));

  /** A click in the tray has no window to complain in. */
  const showError = (title: string, body: string, server: string | null = null): void => {
    report(`${title} ${body}`.trim());
    notifications.show({ title, body, show: { view: 'servers', server, dialog: 'none', kind: null } });
  };
  /** A host that was connected before and could not be brought back is news of its own. */
  const toldAsLost = (command: Command): boolean =>
    command.command === 'connect' && hostNamed(core.roll, command.host)?.lookedAt != null;
  const runFromTray = async (command: Command): Promise<void> => {
    asked.noteCommand(command);
    try {
      const result = await core.run(command, 'tray');
      if (command.command === 'reap') notifications.show(reapNotice(result));
      else if (!result.ok && !toldAsLost(command)) showError(result.failure.message, result.failure.remedy);
    } catch (error) {
      showError(
        `${command.command} did not end in order.`,
        `${messageOf(error)} Look at the timeline for what was done.`,
      );
    }
  };
  const openFromTray = async (server: string): Promise<void> => {
    const done = await openServerUrl(core.roll, server);
    if (!done.ok) showError('Nothing was opened.', done.message, server);
  };
  const copyFromTray = (server: string): void => {
    const done = copyServerUrl(core.roll, server);
    if (!done.ok) showError('Nothing was copied.', done.message, server);
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
        void openFromTray(act.server);
        break;
      case 'copy-url':
        copyFromTray(act.server);
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
      chooseFile: async (name) => {
        const options = {
          defaultPath: join(app.getPath('documents'), name),
          filters: [{ name: 'JSON', extensions: ['json'] }],
        };
        const parent = window.browserWindow;
        const chosen = await (parent === null
          ? dialog.showSaveDialog(options)
          : dialog.showSaveDialog(parent, options));
        return chosen.canceled || chosen.filePath === '' ? null : chosen.filePath;
      },
      quit: () => void life.quit('person'),
    }),
    report,
  );
  // Without it commands look by themselves and cannot act; the app itself works anyway.
  const control = await serveControl({
    core: asked.over(core),
    socketPath: paths.controlSocket,
    version: parts.version,
    onShow: show,
    onLost: (why) => showError('No rollcall command can reach the app.', why),
  }).catch((error: unknown) => {
    if (!(error instanceof ControlUnavailable)) throw error;
    showError('No rollcall command can reach the app.', error.message);
    return null;
  });

  /** A question that somebody waits for, or that nothing else could tell of, brings the window up. */
  const askedFor = (): void => {
    const wanted = asked.take(core.roll, !notifications.supported);
    if (wanted === null || window.visible) return;
    show({ view: 'servers', server: null, dialog: 'none', kind: null, host: wanted });
  };
  const rollChanged = (): void => {
    tray.update(trayModel(core.roll));
    if (window.loaded) pushRoll();
    askedFor();
    notifications.rollChanged(core.roll, window.visible);
  };
  const unsubscribe = core.subscribe(rollChanged);
  const stopNetwork = watchNetwork(() => core.wake());
  const stopResume = watchResume(powerMonitor, () => {
    core.wake();
    core.run({ command: 'look' }, 'app').catch((error: unknown) => report(`no look after waking: ${messageOf(error)}`));
  });

  const life: Lifecycle = new Lifecycle({
    mustAsk: () => quitAsks(core.roll),
    ask: async () => {
      const question = quitQuestion(core.roll);
      const options = {
        type: 'question' as const,
        message: question.message,
        detail: question.detail,
        buttons: ['Cancel', question.button],
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
      stopNetwork();
      stopResume();
      removeRequests();
      // A signal may come before the first answer about it.
      trayHost?.close();
      notifications.close();
      tray.close();
      window.destroy();
    },
    close: async (deadlineMs) => {
      // It stops listening at once; a client that hangs on must not eat the time that the servers have.
      const controlClosed = control?.close().catch((error: unknown) => report(`control socket: ${messageOf(error)}`));
      const done = await core.close(core.roll.settings.stopLocalServers, deadlineMs);
      await controlClosed;
      return done;
    },
    exit: (code) => app.exit(code),
    say: (text) => process.stdout.write(`${text}\n`),
  });
  parts.goodbyes.attach((cause) => void life.quit(cause));

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
  trayHost = await watchTrayHost(setTray, report);
  if (life.leaving) {
    trayHost.close();
    return;
  }
  tray.update(trayModel(core.roll));
  if (trayHost.present) setTray(true);
  if (!trayHost.present || parts.showWindow) window.show(null);
  askedFor();
  notifications.rollChanged(core.roll, window.visible);
}
