/**
 * Whether this desktop shows tray icons. On Linux an icon is seen only where a StatusNotifierWatcher with a host is on
 * the session bus; both come and go with the panel. (org.kde.StatusNotifierWatcher, freedesktop's StatusNotifierItem.)
 */

import { Message, type MessageBus, MessageType, sessionBus } from '@jellybrick/dbus-next';
import { messageOf } from '../app/util/errors.ts';

const WATCHER = 'org.kde.StatusNotifierWatcher';
const WATCHER_PATH = '/StatusNotifierWatcher';
const BUS = 'org.freedesktop.DBus';
const ANSWER_LIMIT_MS = 3_000;
const PULSE_MS = 30_000;

const MATCHES = [
  `type='signal',sender='${BUS}',interface='${BUS}',member='NameOwnerChanged',arg0='${WATCHER}'`,
  `type='signal',interface='${WATCHER}',path='${WATCHER_PATH}'`,
];

export interface TrayHostWatch {
  /** A tray icon created now would be seen. */
  readonly present: boolean;
  close(): void;
}

const ALWAYS: TrayHostWatch = { present: true, close: () => undefined };
const NEVER: TrayHostWatch = { present: false, close: () => undefined };

function call(bus: MessageBus, destination: string, path: string, member: string, at: string, body: readonly string[]) {
  const reply = bus.call(
    new Message({ destination, path, interface: at, member, signature: 's'.repeat(body.length), body: [...body] }),
  );
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, fail) => {
    timer = setTimeout(() => fail(new Error(`${destination} did not answer ${member}`)), ANSWER_LIMIT_MS);
  });
  return Promise.race([reply, late]).finally(() => clearTimeout(timer));
}

/** The bus emits `error`, although its types do not say so; unheard it would end the process. */
function onError(bus: MessageBus, listener: (error: Error) => void): void {
  (bus as unknown as NodeJS.EventEmitter).on('error', listener);
}

/** Asks the bus, then the watcher. A watcher that does not answer shows nothing. */
async function ask(bus: MessageBus): Promise<boolean> {
  const owned = await call(bus, BUS, '/org/freedesktop/DBus', 'NameHasOwner', BUS, [WATCHER]);
  if (owned?.body[0] !== true) return false;
  try {
    const properties = 'org.freedesktop.DBus.Properties';
    const reply = await call(bus, WATCHER, WATCHER_PATH, 'Get', properties, [
      WATCHER,
      'IsStatusNotifierHostRegistered',
    ]);
    const value = reply?.body[0];
    return typeof value === 'object' && value !== null && 'value' in value && value.value === true;
  } catch {
    // It went away between the two questions, or hangs: its icon would not be seen.
    return false;
  }
}

/**
 * Watches for a tray host. Resolves once the first answer is known; calls back on each change after that.
 * Without a session bus there is none and none will come, since Electron itself connects only once.
 *
 * @param report is told in one line why there can be no tray
 */
export async function watchTrayHost(
  onChange: (present: boolean) => void,
  report: (text: string) => void,
  platform: NodeJS.Platform = process.platform,
): Promise<TrayHostWatch> {
  if (platform !== 'linux') return ALWAYS;
  const bus = await connect().catch((error: unknown) => {
    report(`no session bus, so no tray icon: ${messageOf(error)}`);
    return null;
  });
  if (bus === null) return NEVER;

  const state = { present: false, closed: false };
  let asking = 0;
  const learn = (present: boolean): void => {
    if (state.closed || present === state.present) return;
    state.present = present;
    onChange(present);
  };
  const refresh = async (): Promise<void> => {
    asking += 1;
    const mine = asking;
    const present = await ask(bus).catch(() => false);
    // A newer question was put meanwhile; its answer counts.
    if (mine === asking) learn(present);
  };
  bus.on('message', (message) => {
    if (message.type !== MessageType.SIGNAL) return;
    const aboutWatcher = message.member === 'NameOwnerChanged' && message.body[0] === WATCHER;
    if (aboutWatcher || (message.interface === WATCHER && message.path === WATCHER_PATH)) void refresh();
  });
  onError(bus, () => learn(false));
  // A bus that ends tells nobody; asking now and then also makes good for a signal that was missed.
  const pulse = setInterval(() => void refresh(), PULSE_MS);
  pulse.unref();
  try {
    for (const match of MATCHES) await call(bus, BUS, '/org/freedesktop/DBus', 'AddMatch', BUS, [match]);
  } catch (error) {
    // Without its news the pulse still asks; a bus that answers nothing at all has no icon to show.
    report(`the session bus does not tell of tray icons: ${messageOf(error)}`);
  }
  state.present = await ask(bus).catch(() => false);
  return {
    get present() {
      return state.present;
    },
    close() {
      state.closed = true;
      clearInterval(pulse);
      bus.disconnect();
    },
  };
}

function connect(): Promise<MessageBus> {
  return new Promise((done, fail) => {
    const bus = sessionBus();
    const timer = setTimeout(() => {
      bus.disconnect();
      fail(new Error('the bus did not answer'));
    }, ANSWER_LIMIT_MS);
    bus.once('connect', () => {
      clearTimeout(timer);
      done(bus);
    });
    onError(bus, (error) => {
      clearTimeout(timer);
      fail(error);
    });
  });
}
