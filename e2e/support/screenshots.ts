import { mkdirSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import type { ElectronApplication, Page } from '@playwright/test';
import type { Roll } from '../../app/roll/schema.ts';
import { endedRoll, GIVEN_UP, MEANT, STARTING, WAITING } from '../../renderer/preview/ended.ts';
import { emptyRoll, TAKEN_AT } from '../../renderer/preview/rolls.ts';
import type { Fixture } from './fixture-core.ts';
import { repacked } from './png.ts';
import { ended } from './processes.ts';
import { atHome, picturePlan, pictureRoll, reapingRoll } from './screenshot-roll.ts';
import { expect, setRoll, test, windowOf } from './test.ts';

type Theme = 'light' | 'dark';
type Size = 'wide' | 'narrow';

const SIZES: Readonly<Record<Size, { width: number; height: number }>> = {
  wide: { width: 1180, height: 760 },
  narrow: { width: 900, height: 600 },
};

interface Scene {
  readonly roll: Roll;
  readonly act: (page: Page, app: ElectronApplication) => Promise<void>;
}

const press =
  (...keys: string[]) =>
  async (page: Page): Promise<void> => {
    for (const key of keys) await page.keyboard.press(key);
  };
const row =
  (text: string) =>
  (page: Page): Promise<void> =>
    page.getByRole('row').filter({ hasText: text }).first().click();
const click =
  (name: string | RegExp) =>
  (page: Page): Promise<void> =>
    page.getByRole('button', { name }).click();

const SCENES: Readonly<Record<string, Scene>> = {
  window: { roll: pictureRoll(), act: row(':34801') },
  supervised: { roll: pictureRoll(), act: row(':4096') },
  suspect: { roll: pictureRoll(), act: row(':14200') },
  plan: { roll: pictureRoll(), act: click('Review…') },
  reaping: {
    roll: pictureRoll(),
    act: async (page, app) => {
      await row(':34801')(page);
      await setRoll(app, reapingRoll());
      await click('Show progress')(page);
    },
  },
  strip: {
    roll: pictureRoll(),
    act: async (page, app) => {
      await row(':34801')(page);
      await setRoll(app, reapingRoll());
    },
  },
  failed: {
    roll: pictureRoll(),
    act: async (_page, app) => {
      const roll = pictureRoll();
      const hosts = roll.hosts.map((host) => ({
        ...host,
        state: 'failed' as const,
        detail: 'The look ended without a result.',
      }));
      await setRoll(app, { ...roll, hosts });
    },
  },
  start: { roll: pictureRoll(), act: click('Start server…') },
  stop: {
    roll: pictureRoll(),
    act: async (page) => {
      await row(':4096')(page);
      await press('Delete')(page);
    },
  },
  records: {
    roll: pictureRoll(),
    act: async (page) => {
      await press('Control+3')(page);
      await row('service.json')(page);
    },
  },
  timeline: {
    roll: pictureRoll(),
    act: async (page) => {
      await press('Control+4')(page);
      await row('Reaped opencode')(page);
    },
  },
  sessions: {
    roll: pictureRoll(),
    act: async (page) => {
      await press('Control+2')(page);
      await row('Move invoices')(page);
    },
  },
  settings: { roll: pictureRoll(), act: press('Control+,') },
  ended: { roll: atHome(endedRoll(WAITING)), act: row(':3773') },
  'given-up': { roll: atHome(endedRoll(GIVEN_UP)), act: row(':4096') },
  'ended-many': {
    roll: atHome(endedRoll(WAITING, GIVEN_UP, MEANT, STARTING)),
    act: click('Show all 4'),
  },
  'ended-log': { roll: atHome(endedRoll(GIVEN_UP)), act: click('Show log') },
  empty: { roll: emptyRoll(), act: async () => undefined },
};

/** Scene, theme, size and name of the documentation's own pictures. */
const PICTURES: readonly (readonly [scene: string, theme: Theme, size: Size, name: string])[] = [
  ['window', 'light', 'wide', 'window-light'],
  ['window', 'dark', 'wide', 'window-dark'],
  ['plan', 'light', 'wide', 'plan-light'],
  ['reaping', 'dark', 'wide', 'reaping-dark'],
  ['window', 'light', 'narrow', 'narrow-light'],
  ['ended', 'light', 'wide', 'ended-light'],
  ['sessions', 'light', 'wide', 'sessions-light'],
  ['timeline', 'dark', 'wide', 'timeline-dark'],
];

const everything = process.env['ALL'];
const folder = everything ?? resolve(import.meta.dirname, '../../docs/screenshots');
const wanted =
  everything === undefined
    ? PICTURES
    : Object.keys(SCENES).flatMap((scene) =>
        (['light', 'dark'] as const).flatMap((theme) =>
          (['wide', 'narrow'] as const).map((size) => [scene, theme, size, `${scene}-${theme}-${size}`] as const),
        ),
      );

for (const [name, theme, size, file] of wanted) {
  test(file, async ({ launch }) => {
    const scene = SCENES[name];
    if (scene === undefined) throw new Error(`there is no scene ${name}`);
    mkdirSync(folder, { recursive: true });
    // Without a panel the window opens by itself.
    const app = await launch({ roll: scene.roll, bus: null, env: { ROLLCALL_THEME: theme, HOME: homedir() } });
    try {
      // The fixture is there once the window is.
      const page = await windowOf(app);
      await app.evaluate((_electron, plan) => {
        Object.assign((globalThis as unknown as { fixture: Fixture }).fixture, { plan });
      }, picturePlan());
      await app.evaluate(
        ({ BrowserWindow }, { width, height }) => BrowserWindow.getAllWindows()[0]?.setContentSize(width, height),
        SIZES[size],
      );
      // A second after the roll, whatever the time of day.
      await page.clock.setFixedTime(new Date(TAKEN_AT.getTime() + 1_000));
      await page.locator('.window').waitFor();
      await setRoll(app, scene.roll);
      await scene.act(page, app);
      await page.mouse.move(5, 5);
      // What moves has come to rest, and is drawn. A spinner never rests.
      await page.evaluate(async () => {
        const ends = document.getAnimations().filter(({ effect }) => effect?.getComputedTiming().endTime !== Infinity);
        await Promise.allSettled(ends.map(({ finished }) => finished));
        for (let frame = 0; frame < 2; frame += 1) await new Promise((done) => requestAnimationFrame(done));
      });
      expect(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth)).toBe(true);
      writeFileSync(join(folder, `${file}.png`), repacked(await page.screenshot()));
    } finally {
      // Closing would ask, as a server of the picture is busy; the system does not.
      const exit = ended(app.process());
      app.process().kill('SIGTERM');
      await exit;
    }
  });
}
