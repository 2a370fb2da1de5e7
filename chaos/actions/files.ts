/** What happens to the state folder and to the clock. */
import { type Action, pause } from '../chaos.ts';
import { PLAGUES } from '../harm.ts';

const JUMPS_MS = [1000, 300_000, 86_400_000, -1000, -3_600_000, -86_400_000 * 400, 0];

export const fileActions: readonly Action[] = [
  {
    name: 'harm a record',
    weight: 4,
    run: async ({ harm }, random) => harm.wound(random),
  },
  {
    name: 'plague the state folder',
    weight: 2,
    run: async (chaos, random) => {
      const plague = random.pick(PLAGUES);
      if (plague === undefined || !chaos.harm.begin(plague)) return null;
      const ms = random.between(300, 4000);
      chaos.later(pause(ms).then(() => chaos.harm.end(plague)));
      return `${plague} for ${ms} ms`;
    },
  },
  {
    name: 'jump the clock',
    weight: 2,
    run: async ({ stage }, random) => {
      const ms = random.pick(JUMPS_MS) ?? 0;
      stage.jumpClock(ms);
      return `to ${ms} ms from the real one`;
    },
  },
];
