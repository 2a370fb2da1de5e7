import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { app, BrowserWindow, nativeTheme, type Rectangle, type Session, screen, type WebFrameMain } from 'electron';
import { z } from 'zod';
import type { NavigationTarget, PushName, PushPayload } from '../app/roll/channels.ts';
import { messageOf } from '../app/util/errors.ts';
import { SCHEME, WINDOW_URL } from './app-scheme.ts';

const SIZE = { width: 1180, height: 760 };
const SMALLEST = { minWidth: 900, minHeight: 600 };
/** A renderer that ends again and again is not loaded more often than this, in milliseconds. */
const RELOAD_AFTER_MS = 1_000;
/** `--main` of the design's tokens, so that nothing flashes before the page has painted. */
const BACKGROUND = { light: '#ffffff', dark: '#141719' };

const boundsSchema = z.strictObject({ x: z.int(), y: z.int(), width: z.int().min(1), height: z.int().min(1) });

export interface WindowDeps {
  /** Absolute path of the bundled preload. */
  readonly preload: string;
  /** File that remembers where the window stood. */
  readonly boundsFile: string;
  /** Called when the person closes the window; true lets it close. */
  mayClose(): boolean;
  /** Called each time the page has loaded and takes pushes. */
  loaded(): void;
  report(text: string): void;
}

/** The one window. Exists while it is shown; closing it frees its renderer. */
export class RollWindow {
  readonly #parts: WindowDeps;
  #window: BrowserWindow | null = null;
  #loaded = false;
  /** The place to show once the page is there. */
  #pending: NavigationTarget | null = null;

  constructor(parts: WindowDeps) {
    this.#parts = parts;
  }

  get open(): boolean {
    return this.#window !== null;
  }

  /** There is a page that takes pushes. */
  get loaded(): boolean {
    return this.#window !== null && this.#loaded;
  }

  /** A person can see it, unless another window is in front. */
  get visible(): boolean {
    const window = this.#window;
    return window?.isVisible() === true && !window.isMinimized();
  }

  /** The frame whose requests are answered. */
  get mainFrame(): WebFrameMain | null {
    return this.#window?.webContents.mainFrame ?? null;
  }

  get browserWindow(): BrowserWindow | null {
    return this.#window;
  }

  /** Brings the window up, at a place or where it was. */
  show(place: NavigationTarget | null): void {
    if (place !== null) this.#pending = place;
    if (this.#window === null) {
      this.#create();
      return;
    }
    if (this.#window.isMinimized()) this.#window.restore();
    this.#window.show();
    this.#window.focus();
    this.#sendPending();
  }

  /** Sends a push, if there is a page to take it. */
  push<N extends PushName>(name: N, payload: PushPayload<N>): void {
    if (this.#loaded) this.#window?.webContents.send(name, payload);
  }

  /** Closes without asking `mayClose`. */
  destroy(): void {
    this.#window?.destroy();
  }

  #sendPending(): void {
    if (this.#pending === null || !this.#loaded) return;
    this.push('show', this.#pending);
    this.#pending = null;
  }

  #create(): void {
    const window = new BrowserWindow({
      ...SIZE,
      ...SMALLEST,
      ...readBounds(this.#parts.boundsFile),
      show: false,
      title: 'Rollcall',
      backgroundColor: nativeTheme.shouldUseDarkColors ? BACKGROUND.dark : BACKGROUND.light,
      autoHideMenuBar: true,
      webPreferences: {
        preload: this.#parts.preload,
        sandbox: true,
        contextIsolation: true,
        nodeIntegration: false,
        webviewTag: false,
        spellcheck: false,
        devTools: !app.isPackaged,
      },
    });
    this.#window = window;
    this.#loaded = false;
    window.once('ready-to-show', () => window.show());
    window.webContents.on('did-finish-load', () => {
      this.#loaded = true;
      this.#parts.loaded();
      this.#sendPending();
    });
    window.on('close', (event) => {
      writeBounds(this.#parts.boundsFile, window.getNormalBounds());
      if (!this.#parts.mayClose()) event.preventDefault();
    });
    window.on('closed', () => {
      this.#window = null;
      this.#loaded = false;
    });
    window.webContents.on('render-process-gone', (_event, details) => {
      this.#loaded = false;
      this.#parts.report(`the window's renderer is gone (${details.reason}); it is loaded again`);
      if (details.reason === 'clean-exit') return;
      setTimeout(() => {
        if (!window.isDestroyed()) window.webContents.reload();
      }, RELOAD_AFTER_MS);
    });
    window.webContents.on('preload-error', (_event, _path, error) => {
      this.#parts.report(`the preload failed: ${error.stack ?? error.message}`);
    });
    window.loadURL(WINDOW_URL).catch((error: unknown) => {
      this.#parts.report(`the window did not load: ${messageOf(error)}`);
    });
  }
}

/** Every web contents of this app: no navigation, no new window, no embedded page. */
export function confineContents(report: (text: string) => void): void {
  app.on('web-contents-created', (_event, contents) => {
    contents.setWindowOpenHandler(({ url }) => {
      report(`a window for ${url} was denied`);
      return { action: 'deny' };
    });
    const refuse = (event: { preventDefault(): void }, url: string): void => {
      event.preventDefault();
      report(`navigation to ${url} was denied`);
    };
    contents.on('will-frame-navigate', (event) => refuse(event, event.url));
    contents.on('will-redirect', (event) => refuse(event, event.url));
    contents.on('will-attach-webview', (event) => event.preventDefault());
  });
}

/** The window's session: no permission, no device, no download, no network. */
export function confineSession(session: Session, report: (text: string) => void): void {
  session.setPermissionRequestHandler((_contents, permission, answer) => {
    report(`the permission ${permission} was denied`);
    answer(false);
  });
  session.setPermissionCheckHandler(() => false);
  session.setDevicePermissionHandler(() => false);
  session.on('will-download', (event) => event.preventDefault());
  session.setSpellCheckerEnabled(false);
  const allowed = new Set([`${SCHEME}:`, 'devtools:', 'chrome-extension:']);
  session.webRequest.onBeforeRequest((details, answer) => {
    const cancel = !allowed.has(new URL(details.url).protocol);
    if (cancel) report(`a request for ${details.url} was denied`);
    answer({ cancel });
  });
}

/** Where the window last stood, if a screen still shows that place. */
function readBounds(file: string): Partial<Rectangle> {
  try {
    const bounds = boundsSchema.parse(JSON.parse(readFileSync(file, 'utf8')));
    const area = screen.getDisplayMatching(bounds).workArea;
    const seen =
      bounds.x < area.x + area.width - 100 &&
      bounds.x + bounds.width > area.x + 100 &&
      bounds.y >= area.y - 10 &&
      bounds.y < area.y + area.height - 100;
    return seen ? bounds : { width: bounds.width, height: bounds.height };
  } catch {
    // Absent on the first run; a damaged file is worth no more than the default place.
    return {};
  }
}

function writeBounds(file: string, bounds: Rectangle): void {
  try {
    writeFileSync(`${file}.new`, JSON.stringify(bounds), { mode: 0o600 });
    renameSync(`${file}.new`, file);
  } catch {
    // A full or read-only disk costs the window its place, nothing else.
  }
}
