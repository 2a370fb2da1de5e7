import { afterEach, beforeEach, expect, test } from 'vitest';
import { startBus } from '../e2e/support/dbus.ts';
import { eventually } from '../e2e/support/processes.ts';
import { startTrayHost } from '../e2e/support/tray-host.ts';
import { type TrayHostWatch, watchTrayHost } from './tray-host.ts';

let bus: Awaited<ReturnType<typeof startBus>>;
let watch: TrayHostWatch | null = null;
const before = process.env['DBUS_SESSION_BUS_ADDRESS'];
const reported: string[] = [];

beforeEach(async () => {
  bus = await startBus();
  process.env['DBUS_SESSION_BUS_ADDRESS'] = bus.env.DBUS_SESSION_BUS_ADDRESS;
  reported.length = 0;
});
afterEach(async () => {
  watch?.close();
  watch = null;
  await bus.end();
  if (before === undefined) delete process.env['DBUS_SESSION_BUS_ADDRESS'];
  else process.env['DBUS_SESSION_BUS_ADDRESS'] = before;
});

async function follow(): Promise<boolean[]> {
  const changes: boolean[] = [];
  watch = await watchTrayHost(
    (present) => changes.push(present),
    (text) => reported.push(text),
    'linux',
  );
  return changes;
}

test('E1 a host is seen at the start, when it comes and when it goes', async () => {
  const changes = await follow();
  expect(watch?.present).toBe(false);
  const host = await startTrayHost(bus.env.DBUS_SESSION_BUS_ADDRESS);
  await eventually(() => expect(changes).toEqual([true]));
  await host.leave();
  await eventually(() => expect(changes).toEqual([true, false]));
  await startTrayHost(bus.env.DBUS_SESSION_BUS_ADDRESS);
  await eventually(() => expect(changes).toEqual([true, false, true]));
  watch?.close();
  await follow();
  expect(watch?.present).toBe(true);
});

test('E1 a watcher that has no host shows nothing', async () => {
  await startTrayHost(bus.env.DBUS_SESSION_BUS_ADDRESS, false);
  await follow();
  expect(watch?.present).toBe(false);
});

test('E1 without a bus there is no tray, and one line says so', async () => {
  process.env['DBUS_SESSION_BUS_ADDRESS'] = 'unix:path=/nonexistent/bus';
  await follow();
  expect(watch?.present).toBe(false);
  expect(reported).toHaveLength(1);
});

test('elsewhere than on Linux the tray is always there', async () => {
  watch = await watchTrayHost(
    () => undefined,
    () => undefined,
    'darwin',
  );
  expect(watch.present).toBe(true);
});
