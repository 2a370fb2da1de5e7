/** A private session bus for one test, and the little of D-Bus that the stand-ins below need. */
import { Message, type MessageBus, MessageType, sessionBus } from '@jellybrick/dbus-next';

export type { MessageBus } from '@jellybrick/dbus-next';
export { Message, MessageType, Variant } from '@jellybrick/dbus-next';

interface PrivateBus {
  readonly env: { readonly DBUS_SESSION_BUS_ADDRESS: string };
  end(): Promise<void>;
}

/** Starts `dbus-daemon` for this test alone. */
export async function startBus(): Promise<PrivateBus> {
  // The start scripts are plain JavaScript, so their types are told here.
  const desktop = (await import('../../build/desktop.mjs' as string)) as { startBus(): Promise<PrivateBus> };
  return desktop.startBus();
}

export async function connectBus(address: string): Promise<MessageBus> {
  const bus = sessionBus({ busAddress: address });
  await new Promise<void>((done, fail) => {
    bus.once('connect', done);
    (bus as unknown as NodeJS.EventEmitter).once('error', fail);
  });
  // A bus that ends with its test is no error.
  (bus as unknown as NodeJS.EventEmitter).on('error', () => undefined);
  return bus;
}

export interface Reply {
  readonly signature: string;
  readonly body: unknown[];
}

/** Answers the method calls that `answer` knows; null leaves a call to others. */
export function serve(bus: MessageBus, answer: (call: Message) => Reply | null): void {
  bus.addMethodHandler((call: Message) => {
    const reply = call.type === MessageType.METHOD_CALL ? answer(call) : null;
    if (reply === null) return false;
    bus.send(Message.newMethodReturn(call, reply.signature, reply.body));
    return true;
  });
}

export const NOTHING: Reply = { signature: '', body: [] };

/** The value inside a D-Bus variant. */
export function unwrap(value: unknown): unknown {
  return typeof value === 'object' && value !== null && 'value' in value ? value.value : value;
}
