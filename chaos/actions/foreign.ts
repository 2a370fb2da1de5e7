/** Servers that nobody here started: leaked ones, owned ones, and what servers leave behind. */
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { launchUnder } from '../../app/supervisor/testing/fake-opencode.ts';
import { type Action, type Chaos, SIGKILL } from '../chaos.ts';
import { MOODS } from '../moods.ts';
import { statOf } from '../proc.ts';

const MAX_FOREIGN = 4;

/** Starts a server under a launcher of its own; both are noted. @returns their PIDs */
async function launch(
  chaos: Chaos,
  mood: string,
): Promise<{ readonly launcher: number; readonly server: number } | null> {
  const folder = chaos.stage.moods.folders[mood];
  if (folder === undefined) return null;
  const child = launchUnder(chaos.stage.moods.real, folder, MOODS[mood]?.fake ?? {});
  if (child.stdout === null || child.pid === undefined) return null;
  const { pid: launcher } = child;
  for await (const line of createInterface({ input: child.stdout })) {
    child.stdout.resume();
    return { launcher, server: Number(line) };
  }
  return null;
}

export const foreignActions: readonly Action[] = [
  {
    name: 'a server leaks',
    weight: 3,
    run: async (chaos, random) => {
      if (chaos.ledger.living('leaked').length >= MAX_FOREIGN) return null;
      const mood = random.pick(['plain', 'tool', 'helper', 'swallow', 'stubborn', 'cut-off']) ?? 'plain';
      const made = await launch(chaos, mood);
      const server = made === null ? null : statOf(made.server);
      const launcher = made === null ? null : statOf(made.launcher);
      if (made === null || server === null || launcher === null) return null;
      chaos.ledger.register(made.server, server.ticks, 'leaked', `leaked ${mood}`);
      const being = chaos.ledger.register(made.launcher, launcher.ticks, 'harness', 'launcher');
      await chaos.strangers.strike(being, SIGKILL);
      return `${mood}, PID ${made.server}`;
    },
  },
  {
    name: 'somebody else starts a server',
    weight: 1,
    run: async (chaos, random) => {
      if (chaos.ledger.living('owned').length >= 2) return null;
      const mood = random.pick(['plain', 'busy']) ?? 'plain';
      const made = await launch(chaos, mood);
      const server = made === null ? null : statOf(made.server);
      const launcher = made === null ? null : statOf(made.launcher);
      if (made === null || server === null || launcher === null) return null;
      chaos.ledger.register(made.server, server.ticks, 'owned', `owned ${mood}`);
      chaos.ledger.register(made.launcher, launcher.ticks, 'harness', 'launcher');
      return `${mood}, PID ${made.server}`;
    },
  },
  {
    name: 'something wears a mark of a server that is not there',
    weight: 1,
    run: async (chaos, random) => {
      if (chaos.ledger.living('child').length > 20) return null;
      const dead = random.between(2, 1000);
      // A mark that names somebody who lives, and did when its bearer started, proves nothing.
      if (statOf(dead) !== null) return null;
      const child = spawn('/bin/bash', ['-c', 'setsid sleep 500 >/dev/null 2>&1 &'], {
        stdio: 'ignore',
        env: { PATH: '/usr/bin:/bin', OPENCODE_PID: String(dead) },
      });
      return `of ${dead}, through PID ${child.pid}`;
    },
  },
];
