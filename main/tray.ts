import { join } from 'node:path';
import { Menu, type MenuItemConstructorOptions, type NativeImage, nativeImage, nativeTheme, Tray } from 'electron';
import { type Throttled, throttle } from '../app/util/throttle.ts';
import type { TrayAct, TrayItem, TrayModel, TrayState } from './tray-model.ts';

const REBUILD_EVERY_MS = 1_000;
/** A menu that is said to be open longer than this was closed without a word. */
const OPEN_LIMIT_MS = 60_000;

/** Module-level: an icon whose object is collected vanishes from the panel. */
let icon: Tray | null = null;

function imageOf(folder: string, state: TrayState): NativeImage {
  const template = process.platform === 'darwin';
  // A Linux panel does not tell its colour; most are dark. macOS takes the shape only.
  const dark = process.platform === 'linux' || (!template && nativeTheme.shouldUseDarkColors);
  const [small, large] = process.platform === 'linux' ? [22, 44] : [16, 32];
  const file = (size: number): string => join(folder, `tray-${state}-${dark ? 'dark' : 'light'}-${size}.png`);
  const image = nativeImage.createFromPath(file(small));
  image.addRepresentation({ scaleFactor: 2, buffer: nativeImage.createFromPath(file(large)).toPNG() });
  if (template) image.setTemplateImage(true);
  return image;
}

/** The icon, its tooltip and its menu. */
export class TrayController {
  readonly #icons: string;
  readonly #onAct: (act: TrayAct) => void;
  readonly #rebuild: Throttled<TrayModel>;
  #model: TrayModel | null = null;
  /** The model the icon shows, as text; a new roll that changes nothing here rebuilds nothing. */
  #shown = '';
  #openSince: number | null = null;

  /** @param icons folder of the rendered icons */
  constructor(icons: string, onAct: (act: TrayAct) => void) {
    this.#icons = icons;
    this.#onAct = onAct;
    this.#rebuild = throttle((model) => this.#apply(model), REBUILD_EVERY_MS);
  }

  get visible(): boolean {
    return icon !== null;
  }

  /** Creates the icon, or a new one: an icon made before its host never registers with it. */
  show(): void {
    this.hide();
    icon = new Tray(imageOf(this.#icons, this.#model?.state ?? 'fine'));
    icon.on('click', () => {
      // Elsewhere the system itself opens the menu on a click.
      if (process.platform === 'win32') icon?.popUpContextMenu();
      else if (process.platform === 'linux')
        this.#onAct({ act: 'show', show: { view: 'servers', server: null, dialog: 'none', kind: null } });
    });
    this.#shown = '';
    if (this.#model !== null) this.#apply(this.#model);
  }

  hide(): void {
    icon?.destroy();
    icon = null;
    this.#openSince = null;
  }

  update(model: TrayModel): void {
    this.#model = model;
    this.#rebuild(model);
  }

  close(): void {
    this.#rebuild.stop();
    this.hide();
  }

  #apply(model: TrayModel): void {
    if (icon === null) return;
    const text = JSON.stringify(model);
    if (text === this.#shown) return;
    if (this.#openSince !== null && Date.now() - this.#openSince < OPEN_LIMIT_MS) {
      // Nothing moves under the hand: tried again in a second.
      this.#rebuild(model);
      return;
    }
    this.#shown = text;
    icon.setImage(imageOf(this.#icons, model.state));
    icon.setToolTip(model.tooltip);
    if (process.platform === 'darwin') icon.setTitle(model.leaked === 0 ? '' : String(model.leaked));
    const menu = Menu.buildFromTemplate(model.items.map((item) => this.#template(item)));
    menu.on('menu-will-show', () => {
      this.#openSince = Date.now();
    });
    menu.on('menu-will-close', () => {
      this.#openSince = null;
    });
    icon.setContextMenu(menu);
  }

  #template(item: TrayItem): MenuItemConstructorOptions {
    switch (item.type) {
      case 'separator':
        return { type: 'separator' };
      case 'text':
        return { label: item.label, enabled: false };
      case 'menu':
        return { label: item.label, submenu: item.items.map((inner) => this.#template(inner)) };
      case 'act':
        return { label: item.label, enabled: item.enabled, click: () => this.#onAct(item.on) };
    }
  }
}
