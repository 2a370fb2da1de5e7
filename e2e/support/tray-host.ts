/** A desktop panel for tests: org.kde.StatusNotifierWatcher with a host, and a hand that uses the icon's real menu. */
import { connectBus, Message, type MessageBus, NOTHING, serve, unwrap, Variant } from './dbus.ts';
import { eventually } from './processes.ts';

const WATCHER = 'org.kde.StatusNotifierWatcher';
const ITEM = 'org.kde.StatusNotifierItem';
const MENU = 'com.canonical.dbusmenu';
const PROPERTIES = 'org.freedesktop.DBus.Properties';

/** One line of a tray menu as the panel gets it. */
export interface MenuLine {
  readonly id: number;
  /** As a person reads it: mnemonic underscores resolved. */
  readonly label: string;
  readonly separator: boolean;
  readonly enabled: boolean;
  readonly visible: boolean;
  readonly children: readonly MenuLine[];
}

interface ItemAddress {
  readonly bus: string;
  readonly path: string;
}

function lineOf(raw: unknown): MenuLine {
  const [id, properties, children] = unwrap(raw) as [number, Record<string, unknown>, unknown[]];
  const property = (name: string): unknown => unwrap(properties[name]);
  return {
    id,
    label: String(property('label') ?? '').replace(/__|_/gu, (mark) => (mark === '__' ? '_' : '')),
    separator: property('type') === 'separator',
    enabled: property('enabled') !== false,
    visible: property('visible') !== false,
    children: children.map(lineOf),
  };
}

/** A tray icon as a panel sees and uses it. */
export class TrayIcon {
  readonly #bus: MessageBus;
  readonly #item: ItemAddress;

  constructor(bus: MessageBus, item: ItemAddress) {
    this.#bus = bus;
    this.#item = item;
  }

  async #call(path: string, on: string, member: string, signature: string, body: unknown[]): Promise<unknown[]> {
    const reply = await this.#bus.call(
      new Message({ destination: this.#item.bus, path, interface: on, member, signature, body }),
    );
    return reply?.body ?? [];
  }

  async #property(name: string): Promise<unknown> {
    const [value] = await this.#call(this.#item.path, PROPERTIES, 'Get', 'ss', [ITEM, name]);
    return unwrap(value);
  }

  /** The tooltip's title, which is also the accessible name. */
  async tooltip(): Promise<string> {
    const [, , title] = (await this.#property('ToolTip')) as [string, unknown[], string, string];
    return title;
  }

  /** Width and ARGB bytes of the icon's largest picture. */
  async picture(): Promise<{ readonly width: number; readonly bytes: Buffer }> {
    const pictures = (await this.#property('IconPixmap')) as [number, number, Uint8Array][];
    const [width, , bytes] = pictures.at(-1) ?? [0, 0, new Uint8Array()];
    return { width, bytes: Buffer.from(bytes) };
  }

  /** A plain click on the icon. */
  async click(): Promise<void> {
    await this.#call(this.#item.path, ITEM, 'Activate', 'ii', [0, 0]);
  }

  /** The whole menu, as it is now. */
  async menu(): Promise<MenuLine> {
    const path = String(await this.#property('Menu'));
    const [, root] = await this.#call(path, MENU, 'GetLayout', 'iias', [0, -1, []]);
    return lineOf(root);
  }

  /** Labels of the top level; a separator is `─`. */
  async labels(): Promise<string[]> {
    return (await this.menu()).children.map((line) => (line.separator ? '─' : line.label));
  }

  /**
   * Clicks the line with these labels from the top level down. Ids change with every rebuild, so the menu is read
   * anew; waits for the line to be there and enabled.
   */
  async choose(...labels: readonly (string | RegExp)[]): Promise<void> {
    const path = String(await this.#property('Menu'));
    const line = await eventually(async () => {
      let at: MenuLine | undefined = await this.menu();
      for (const label of labels) {
        at = at.children.find((one) => (typeof label === 'string' ? one.label === label : label.test(one.label)));
        if (at === undefined) throw new Error(`no ${String(label)} in ${(await this.labels()).join(' | ')}`);
      }
      if (!at.enabled) throw new Error(`${at.label} is disabled`);
      return at;
    });
    try {
      await this.#call(path, MENU, 'Event', 'isvu', [line.id, 'clicked', new Variant('s', ''), 0]);
    } catch (error) {
      // An app that quits on this very click takes its icon away before it has answered.
      if (!(error instanceof Error) || !/without replying/u.test(error.message)) throw error;
    }
  }
}

export interface TrayHost {
  /** Waits for an icon, the one registered last. */
  icon(timeoutMs?: number): Promise<TrayIcon>;
  /** How many icons have registered so far. */
  readonly registered: number;
  /** Takes the panel off the bus. */
  leave(): Promise<void>;
}

/**
 * Puts a panel onto the bus.
 *
 * @param withHost false for a watcher that has nobody to show icons to
 */
export async function startTrayHost(busAddress: string, withHost = true): Promise<TrayHost> {
  const bus = await connectBus(busAddress);
  const items: ItemAddress[] = [];
  const property = (name: string): Variant | null => {
    switch (name) {
      case 'IsStatusNotifierHostRegistered':
        return new Variant('b', withHost);
      case 'ProtocolVersion':
        return new Variant('i', 0);
      case 'RegisteredStatusNotifierItems':
        return new Variant(
          'as',
          items.map((item) => item.bus + item.path),
        );
      default:
        return null;
    }
  };
  serve(bus, (call) => {
    if (call.interface === PROPERTIES && call.member === 'Get' && call.body[0] === WATCHER) {
      const value = property(String(call.body[1]));
      return value === null ? null : { signature: 'v', body: [value] };
    }
    if (call.interface !== WATCHER) return null;
    if (call.member === 'RegisterStatusNotifierItem') {
      const service = String(call.body[0]);
      const item = service.startsWith('/')
        ? { bus: call.sender, path: service }
        : { bus: service, path: '/StatusNotifierItem' };
      items.push(item);
      bus.send(
        Message.newSignal('/StatusNotifierWatcher', WATCHER, 'StatusNotifierItemRegistered', 's', [
          item.bus + item.path,
        ]),
      );
      return NOTHING;
    }
    return call.member === 'RegisterStatusNotifierHost' ? NOTHING : null;
  });
  await bus.requestName(WATCHER, 0);
  return {
    get registered() {
      return items.length;
    },
    icon: (timeoutMs = 60_000) =>
      eventually(() => {
        const item = items.at(-1);
        if (item === undefined) throw new Error('no tray icon has registered');
        return new TrayIcon(bus, item);
      }, timeoutMs),
    async leave() {
      await bus.releaseName(WATCHER);
      bus.disconnect();
    },
  };
}
