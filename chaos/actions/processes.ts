/** What happens to processes: they are killed, stopped, and their PIDs come to mean others. */
import {
  type Action,
  type Chaos,
  MAX_STRANGERS,
  named,
  pause,
  SIGCONT,
  SIGHUP,
  SIGKILL,
  SIGSTOP,
  SIGTERM,
  successor,
} from '../chaos.ts';
import type { Being, Role } from '../ledger.ts';
import type { Random } from '../random.ts';

/** Share of the apps that run under strace, with their guards. */
const TRACED = 0.5;

async function end(
  chaos: Chaos,
  random: Random,
  target: Being | undefined,
  signals: readonly number[],
): Promise<string | null> {
  const signal = random.pick(signals);
  if (target === undefined || signal === undefined) return null;
  if (random.chance(0.15)) {
    // One of a stranger's threads gets the number: it exists for kill(2), and no process has it.
    const thread = chaos.strangers.thread(target.pid);
    await chaos.strangers.strike(target, signal);
    chaos.later(thread);
    return `${named(target)} by ${signal}, its PID becomes a thread's`;
  }
  const then = signal === SIGKILL ? successor(chaos, random) : undefined;
  chaos.later(chaos.strangers.strike(target, signal, then));
  return `${named(target)} by ${signal}${then === undefined ? '' : `, its PID goes to: ${then.label}`}`;
}

/** Stops a process for a while; it goes on also when it is not there any more to be told. */
async function hold(chaos: Chaos, target: Being | undefined, ms: number): Promise<string | null> {
  if (target === undefined) return null;
  if (!(await chaos.strangers.strike(target, SIGSTOP))) return null;
  chaos.later(pause(ms).then(() => chaos.strangers.strike(target, SIGCONT)));
  return `${named(target)} for ${ms} ms`;
}

const one = (chaos: Chaos, random: Random, ...roles: Role[]): Being | undefined =>
  random.pick(chaos.ledger.living(...roles));

function startApp(chaos: Chaos, random: Random): string {
  const app = chaos.stage.startApp(random.chance(TRACED));
  chaos.later(app.ready);
  return `PID ${app.pid}${app.traced ? ', traced' : ''}`;
}

export const processActions: readonly Action[] = [
  {
    name: 'kill a server or wrapper',
    weight: 6,
    run: async (chaos, random) => end(chaos, random, one(chaos, random, 'server'), [SIGKILL, SIGKILL, SIGTERM]),
  },
  {
    name: 'kill a child',
    weight: 4,
    run: async (chaos, random) => end(chaos, random, one(chaos, random, 'child'), [SIGKILL]),
  },
  {
    name: 'hold a server',
    weight: 2,
    run: async (chaos, random) => hold(chaos, one(chaos, random, 'server', 'child'), random.between(200, 4000)),
  },
  {
    name: 'hold an app, guard or command',
    weight: 2,
    run: async (chaos, random) => hold(chaos, one(chaos, random, 'app', 'guard', 'cli'), random.between(200, 3500)),
  },
  {
    name: 'kill the app',
    weight: 1.2,
    run: async (chaos, random) => end(chaos, random, one(chaos, random, 'app'), [SIGKILL]),
  },
  {
    name: 'quit the app',
    weight: 0.8,
    run: async (chaos, random) => {
      const target = one(chaos, random, 'app');
      const signal = random.chance(0.7) ? SIGTERM : SIGHUP;
      if (target === undefined || !(await chaos.strangers.strike(target, signal))) return null;
      return named(target);
    },
  },
  {
    name: 'kill the guard',
    weight: 2,
    run: async (chaos, random) => end(chaos, random, one(chaos, random, 'guard'), [SIGKILL, SIGTERM]),
  },
  {
    name: 'kill app and guard',
    weight: 0.5,
    run: async (chaos) => {
      const both = chaos.ledger.living('app', 'guard');
      for (const being of both) chaos.later(chaos.strangers.strike(being, SIGKILL, { label: 'took a PID' }));
      return both.length === 0 ? null : both.map(named).join(', ');
    },
  },
  {
    name: 'start an app where none is',
    weight: 30,
    run: async (chaos, random) => (chaos.ledger.living('app').length > 0 ? null : startApp(chaos, random)),
  },
  {
    name: 'start a second app',
    weight: 0.5,
    run: async (chaos, random) => (chaos.ledger.living('app').length === 1 ? startApp(chaos, random) : null),
  },
  {
    name: 'end an owner',
    weight: 4,
    run: async (chaos, random) => {
      const owner = random.pick(chaos.strangers.living.filter(({ role }) => role === 'owner'));
      if (owner === undefined) return null;
      const then = successor(chaos, random);
      await chaos.strangers.retire(owner, then);
      return `${owner.pid}${then === undefined ? '' : `, its PID goes to: ${then.label}`}`;
    },
  },
  {
    name: 'a stranger comes',
    weight: 3,
    run: async (chaos, random) => {
      if (chaos.strangers.living.length >= MAX_STRANGERS) return null;
      const { signalLogs } = chaos.stage;
      const uid = random.chance(0.3) ? { uid: 65_534 } : {};
      const being = random.chance(0.5)
        ? await chaos.strangers.start({ label: 'bystander', ...uid })
        : await chaos.strangers.start({
            label: 'vim opencode.md',
            program: '/usr/bin/python3',
            argv: ['vim', 'opencode.md'],
            cwd: `${chaos.stage.root}/notes`,
            ...uid,
          });
      return being === null ? null : `${named(being)} in ${signalLogs}`;
    },
  },
  {
    name: 'a stranger leaves',
    weight: 2,
    run: async (chaos, random) => {
      const strangers = chaos.strangers.living.filter(({ role }) => role === 'stranger');
      if (strangers.length < 8) return null;
      const being = random.pick(strangers);
      if (being === undefined) return null;
      await chaos.strangers.retire(being);
      return named(being);
    },
  },
];
