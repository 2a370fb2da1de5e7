/** The test function of this folder: a private bus, folders and a mark, and everything ended and removed after. */
import { test as base, type ElectronApplication, type Page } from '@playwright/test';
import type { CommandResult } from '../../app/roll/commands.ts';
import type { Roll } from '../../app/roll/schema.ts';
import { Folders, type LaunchOptions, launchApp } from './app.ts';
import { startBus } from './dbus.ts';
import type { Fixture } from './fixture-core.ts';
import { endMarked, eventually, newMark } from './processes.ts';
import { startTrayHost, type TrayHost } from './tray-host.ts';

interface Surroundings {
  readonly mark: string;
  readonly folders: Folders;
  /** Address of this test's session bus. */
  readonly bus: string;
  /** Puts a panel onto the bus. Without a call there is none. */
  readonly panel: () => Promise<TrayHost>;
  /** Launches the app; closed and ended after the test. */
  readonly launch: (options?: Partial<LaunchOptions>) => Promise<ElectronApplication>;
}

// Playwright reads the names of a fixture's needs from its parameter, so those without needs have an empty pattern.
export const test = base.extend<Surroundings>({
  // biome-ignore lint/correctness/noEmptyPattern: see above
  mark: async ({}, use) => {
    const mark = newMark();
    await use(mark);
    await endMarked(mark);
  },
  // biome-ignore lint/correctness/noEmptyPattern: see above
  folders: async ({}, use) => {
    const folders = new Folders();
    await use(folders);
    folders.remove();
  },
  // biome-ignore lint/correctness/noEmptyPattern: see above
  bus: async ({}, use) => {
    const bus = await startBus();
    await use(bus.env.DBUS_SESSION_BUS_ADDRESS);
    await bus.end();
  },
  panel: async ({ bus }, use) => {
    const panels: TrayHost[] = [];
    await use(async () => {
      const panel = await startTrayHost(bus);
      panels.push(panel);
      return panel;
    });
  },
  launch: async ({ folders, mark, bus }, use) => {
    await use((options = {}) => launchApp({ folders, mark, bus, ...options }));
  },
});

export { expect } from '@playwright/test';

/** The app's window, once there is one; unlike `waitForEvent` also when it came before the call. */
export function windowOf(app: ElectronApplication): Promise<Page> {
  return eventually(async () => {
    const page = app.windows()[0];
    if (page === undefined) throw new Error('no window has opened');
    await page.waitForLoadState();
    return page;
  });
}

/** Gives the fixture core of a running app a new roll. */
export function setRoll(app: ElectronApplication, roll: Roll): Promise<void> {
  return app.evaluate((_electron, next) => {
    (globalThis as unknown as { fixture: Fixture }).fixture.setRoll(next);
  }, roll);
}

/** What the fixture core answers to a command from now on; null leaves it open. */
export function answerTo(app: ElectronApplication, command: string, result: CommandResult | null): Promise<void> {
  return app.evaluate(
    (_electron, [name, given]) => {
      (globalThis as unknown as { fixture: Fixture }).fixture.results[name] = given;
    },
    [command, result] as const,
  );
}

/** What was answered to questions of ssh. */
export function answersOf(app: ElectronApplication): Promise<Fixture['answers']> {
  return app.evaluate(() => (globalThis as unknown as { fixture: Fixture }).fixture.answers);
}

/** What the fixture core was asked to do. */
export function commandsOf(app: ElectronApplication): Promise<Fixture['commands']> {
  return app.evaluate(() => (globalThis as unknown as { fixture: Fixture }).fixture.commands);
}
