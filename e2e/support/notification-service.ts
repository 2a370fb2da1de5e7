/** A notification service for tests: org.freedesktop.Notifications, which remembers and can be clicked. */
import { connectBus, Message, NOTHING, serve } from './dbus.ts';
import { eventually } from './processes.ts';

const NAME = 'org.freedesktop.Notifications';
const PATH = '/org/freedesktop/Notifications';

export interface ShownNotification {
  readonly id: number;
  readonly title: string;
  readonly body: string;
}

export interface NotificationService {
  readonly shown: readonly ShownNotification[];
  /** Waits for one whose title matches. */
  find(title: RegExp, timeoutMs?: number): Promise<ShownNotification>;
  click(shown: ShownNotification): void;
  leave(): void;
}

/** Must be on the bus before the app's first notification. */
export async function startNotificationService(busAddress: string): Promise<NotificationService> {
  const bus = await connectBus(busAddress);
  const shown: ShownNotification[] = [];
  serve(bus, (call) => {
    if (call.interface !== NAME) return null;
    switch (call.member) {
      case 'Notify': {
        const [, replaces, , title, body] = call.body as [string, number, string, string, string];
        const id = replaces === 0 ? shown.length + 1 : replaces;
        shown.push({ id, title, body });
        return { signature: 'u', body: [id] };
      }
      case 'GetCapabilities':
        return { signature: 'as', body: [['body', 'body-markup', 'actions']] };
      case 'GetServerInformation':
        return { signature: 'ssss', body: ['stand-in', 'rollcall', '1', '1.2'] };
      case 'CloseNotification':
        bus.send(Message.newSignal(PATH, NAME, 'NotificationClosed', 'uu', [call.body[0], 3]));
        return NOTHING;
      default:
        return null;
    }
  });
  await bus.requestName(NAME, 0);
  return {
    shown,
    find: (title, timeoutMs = 60_000) =>
      eventually(() => {
        const found = shown.find((one) => title.test(one.title));
        if (found === undefined)
          throw new Error(`none matches ${title} of ${shown.map((one) => one.title).join(' | ')}`);
        return found;
      }, timeoutMs),
    click(one) {
      bus.send(Message.newSignal(PATH, NAME, 'ActionInvoked', 'us', [one.id, 'default']));
    },
    leave: () => bus.disconnect(),
  };
}
