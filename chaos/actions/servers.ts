/** What a person asks for: starts, stops, restarts, reaps, through the window's way and through commands. */
import { ControlAbsent, ControlFailed, ControlLost } from '../../app/control/client.ts';
import type { ControlUnavailable } from '../../app/ipc/socket-path.ts';
import type { Command } from '../../app/roll/commands.ts';
import type { Server } from '../../app/roll/schema.ts';
import { type Action, type Chaos, MAX_SERVERS, MAX_STRANGERS, SIGKILL } from '../chaos.ts';
import { MOODS } from '../moods.ts';
import type { Random } from '../random.ts';

/** Share of the commands that run under strace. */
const TRACED = 0.25;

function moodOf(chaos: Chaos, random: Random): { readonly mood: string; readonly directory: string } {
  const list = Object.entries(MOODS).map(([name, { weight }]) => ({ name, weight }));
  const [first, ...rest] = list;
  if (first === undefined) throw new Error('there are no moods');
  const mood = random.weighted([first, ...rest]).name;
  return { mood, directory: chaos.stage.moods.folders[mood] ?? '/' };
}

/** Gives a command to whoever is in charge; that nobody is, or goes away meanwhile, is a part of life. */
export async function askServer(chaos: Chaos, command: Command): Promise<void> {
  try {
    const result = await chaos.stage.command(command);
    chaos.count(`${command.command}: ${result.ok ? 'done' : `refused or failed (${result.failure.code})`}`);
    if (!result.ok) chaos.log({ command, said: result.failure });
  } catch (error) {
    if (!isAbsence(error)) throw error;
    chaos.count(`${command.command}: nobody answered (${error.name})`);
  }
}

export function isAbsence(error: unknown): error is ControlAbsent | ControlFailed | ControlLost | ControlUnavailable {
  return (
    error instanceof ControlAbsent ||
    error instanceof ControlFailed ||
    error instanceof ControlLost ||
    (error instanceof Error &&
      ['EAGAIN', 'ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ENOENT'].includes(String(Object(error).code)))
  );
}

async function servers(chaos: Chaos): Promise<readonly Server[]> {
  try {
    const client = await chaos.stage.connect();
    client.close();
    return client.roll.servers;
  } catch (error) {
    if (isAbsence(error)) return [];
    throw error;
  }
}

async function oneSupervised(chaos: Chaos, random: Random): Promise<Server | null> {
  const ours = (await servers(chaos)).filter(({ supervised }) => supervised !== null);
  return random.pick(ours) ?? null;
}

/** Runs a command in the background; some are killed in the middle, and some PIDs then mean strangers. */
function command(chaos: Chaos, random: Random, words: readonly string[], cwd?: string): void {
  const killAfter = random.chance(0.12) ? random.between(20, 1500) : null;
  const traced = killAfter === null && random.chance(TRACED);
  const verb = words[0] ?? '';
  const run = chaos.stage.cli(words, {
    traced,
    ...(cwd === undefined ? {} : { cwd }),
    onStart: (pid) => {
      if (killAfter === null) return;
      setTimeout(() => {
        chaos.ledger.scan();
        const being = chaos.ledger.living('cli').find((one) => one.pid === pid);
        if (being === undefined) return;
        chaos.count('command killed');
        chaos.later(chaos.strangers.strike(being, SIGKILL, { label: 'took the PID of a command' }));
      }, killAfter);
    },
  });
  chaos.later(
    run.then(({ code, out, err }) => {
      chaos.count(`rollcall ${verb}: ${code === null ? 'killed' : `exit ${code}`}`);
      if (code !== 0) chaos.log({ command: words, code, said: `${err}${out}`.slice(0, 600) });
    }),
  );
}

/** Strangers wait for the PIDs of a tree that is about to be ended, so that its numbers change hands meanwhile. */
function covet(chaos: Chaos, random: Random, { pids, processes }: Server): string {
  const room = MAX_STRANGERS - chaos.strangers.living.length;
  const all = new Set([...pids, ...processes.map(({ pid }) => pid)]);
  const wanted = [...all].filter(() => random.chance(0.6)).slice(0, Math.max(0, room));
  for (const pid of wanted) chaos.later(chaos.strangers.start({ pid, label: 'took a PID during an ending' }));
  return wanted.length === 0 ? '' : `, coveted: ${wanted.join(', ')}`;
}

async function full(chaos: Chaos): Promise<boolean> {
  return chaos.ledger.living('server').length >= MAX_SERVERS;
}

export const serverActions: readonly Action[] = [
  {
    name: 'start',
    weight: 12,
    run: async (chaos, random) => {
      if ((await full(chaos)) || chaos.ledger.living('app', 'guard').length === 0) return null;
      const { mood, directory } = moodOf(chaos, random);
      const keepRunning = random.chance(0.25);
      const port = random.chance(0.15) ? random.between(20_000, 20_003) : null;
      chaos.later(askServer(chaos, { command: 'start', kind: 'opencode', directory, port, forPid: null, keepRunning }));
      return `${mood}${keepRunning ? ', kept' : ''}${port === null ? '' : `, port ${port}`}`;
    },
  },
  {
    name: 'start by command',
    weight: 4,
    run: async (chaos, random) => {
      if (await full(chaos)) return null;
      const { mood, directory } = moodOf(chaos, random);
      const words = ['start', 'opencode', '--dir', directory, '--json'];
      if (random.chance(0.3)) words.push('--keep-running');
      command(chaos, random, words);
      return mood;
    },
  },
  {
    name: 'start for an owner',
    weight: 4,
    run: async (chaos, random) => {
      if (await full(chaos)) return null;
      const { mood, directory } = moodOf(chaos, random);
      const owner = await chaos.strangers.start({ role: 'owner', label: 'owner' });
      if (owner === null) return null;
      const forPid = owner.pid;
      if (random.chance(0.5)) {
        chaos.later(
          askServer(chaos, { command: 'start', kind: 'opencode', directory, port: null, forPid, keepRunning: false }),
        );
      } else command(chaos, random, ['start', 'opencode', '--dir', directory, '--for', String(forPid), '--json']);
      return `${mood} for ${forPid}`;
    },
  },
  {
    name: 'stop',
    weight: 5,
    run: async (chaos, random) => {
      const server = await oneSupervised(chaos, random);
      if (server === null) return null;
      const force = random.chance(0.5);
      const coveted = covet(chaos, random, server);
      if (random.chance(0.5)) chaos.later(askServer(chaos, { command: 'stop', server: server.id, force }));
      else command(chaos, random, ['stop', server.id, '--yes', ...(force ? ['--force'] : [])]);
      return `${server.pid}${coveted}`;
    },
  },
  {
    name: 'restart',
    weight: 3,
    run: async (chaos, random) => {
      const server = await oneSupervised(chaos, random);
      if (server === null) return null;
      const coveted = covet(chaos, random, server);
      chaos.later(askServer(chaos, { command: 'restart', server: server.id, force: random.chance(0.5) }));
      return `${server.pid}${coveted}`;
    },
  },
  {
    name: 'keep running',
    weight: 2,
    run: async (chaos, random) => {
      const server = await oneSupervised(chaos, random);
      if (server === null) return null;
      const keepRunning = random.chance(0.4);
      chaos.later(askServer(chaos, { command: 'keep-running', server: server.id, keepRunning }));
      return `${server.pid} ${keepRunning ? 'on' : 'off'}`;
    },
  },
  {
    name: 'reap all by commands',
    weight: 2.5,
    run: async (chaos, random) => {
      const many = random.between(1, 3);
      const leaked = (await servers(chaos)).filter(({ standing }) => standing === 'leaked');
      const coveted = leaked.map((server) => covet(chaos, random, server)).join('');
      for (let one = 0; one < many; one += 1) command(chaos, random, ['reap', '--all', '--yes']);
      return `${many} at once${coveted}`;
    },
  },
  {
    name: 'reap one',
    weight: 2,
    run: async (chaos, random) => {
      const server = random.pick(await servers(chaos));
      if (server === undefined) return null;
      const coveted = covet(chaos, random, server);
      // One that somebody needs is not forced: whether it may be ended is what is asked.
      command(chaos, random, ['reap', String(server.pid), '--yes']);
      return `${server.pid} ${server.standing}${coveted}`;
    },
  },
  {
    name: 'reap a stranger',
    weight: 1,
    run: async (chaos, random) => {
      const stranger = random.pick(chaos.strangers.living);
      if (stranger === undefined) return null;
      command(chaos, random, [random.chance(0.5) ? 'reap' : 'stop', String(stranger.pid), '--yes', '--force']);
      return String(stranger.pid);
    },
  },
  {
    name: 'what ended',
    weight: 3,
    run: async (chaos, random) => {
      const client = await chaos.stage.connect().catch((error: unknown) => {
        if (isAbsence(error)) return null;
        throw error;
      });
      if (client === null) return null;
      client.close();
      const nonce = random.pick(client.roll.alerts.flatMap((alert) => ('ended' in alert ? [String(alert.ended)] : [])));
      if (nonce === undefined) return null;
      const act = random.chance(0.5) ? 'forget' : 'start-again';
      chaos.later(askServer(chaos, { command: act, nonce }));
      return `${act} ${nonce}`;
    },
  },
  {
    name: 'clear a record',
    weight: 2,
    run: async (chaos, random) => {
      const client = await chaos.stage.connect().catch((error: unknown) => {
        if (isAbsence(error)) return null;
        throw error;
      });
      if (client === null) return null;
      client.close();
      const entry = random.pick(client.roll.records);
      if (entry === undefined) return null;
      if (random.chance(0.5)) command(chaos, random, ['clear', entry.path]);
      else chaos.later(askServer(chaos, { command: 'clear', path: entry.path, sha256: entry.sha256 }));
      return entry.path;
    },
  },
  {
    name: 'list',
    weight: 0.7,
    run: async (chaos, random) => {
      command(chaos, random, ['list', '--json']);
      return '';
    },
  },
];
