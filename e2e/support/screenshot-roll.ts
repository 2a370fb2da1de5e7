/** What the pictures of the documentation show: one machine with a server of every standing. The numbers add up. */
import { homedir } from 'node:os';
import type { Plan } from '../../app/roll/commands.ts';
import type { Roll, Server, Task } from '../../app/roll/schema.ts';
import { leakedTotals, leakSentence, plural, rowName } from '../../app/text/words.ts';
import { previewPlan } from '../../renderer/preview/bridge.ts';
import { exampleRoll, HOME, localRoll } from '../../renderer/preview/rolls.ts';

/** The home of whoever takes the pictures, so that the window shortens it to `~`. */
export function atHome(roll: Roll): Roll {
  return JSON.parse(JSON.stringify(roll).replaceAll(HOME, homedir())) as Roll;
}

/** The example's own machine, with the detached server of another one, and without another user's. */
export function pictureRoll(): Roll {
  const roll = localRoll();
  const detached = exampleRoll().servers.find((server) => server.standing === 'detached');
  if (detached === undefined) throw new Error('the example has no detached server');
  const servers: Server[] = [
    ...roll.servers.filter((server) => server.ownUid),
    { ...detached, host: 'local', directory: '/home/ada/bench' },
  ];
  const totals = leakedTotals({ ...roll, servers });
  return atHome({
    ...roll,
    servers,
    sessions: exampleRoll().sessions.flatMap((session) => {
      // A process of its own carries it, here.
      if (session.server === null) return session.host === 'local' ? [session] : [];
      const carrier = servers.find(({ id }) => id === session.server);
      return carrier === undefined ? [] : [{ ...session, host: 'local', directory: carrier.directory }];
    }),
    alerts: roll.alerts.map((alert) => (alert.level === 'leak' ? { ...alert, title: leakSentence(totals) } : alert)),
  });
}

/** The plan as the supervisor lists it. */
export function picturePlan(): Plan {
  return previewPlan(pictureRoll(), 'leaked');
}

/** The one click under way: a server is gone, another is being ended, the leftover waits. */
export function reapingRoll(): Roll {
  const roll = pictureRoll();
  const leaked = roll.servers.filter((server) => server.standing === 'leaked');
  const task: Task = {
    id: 'reap-1',
    act: 'reap',
    title: `Reaping ${plural(leaked.length, 'server')} and ${plural(roll.leftovers.length, 'leftover')}`,
    startedAt: roll.takenAt,
    endedAt: null,
    state: 'running',
    message: `1 of ${leaked.length + roll.leftovers.length} gone`,
    rows: [
      ...leaked.map((server, index) => ({
        id: server.id,
        label: rowName(server),
        phase: index === 0 ? 'TERM, 1.4 of 5 s' : 'gone',
        outcome: index === 0 ? null : ('gone' as const),
      })),
      ...roll.leftovers.map((leftover) => ({
        id: leftover.id,
        label: `${leftover.name}, PID ${leftover.pid} on ${leftover.host}`,
        phase: 'TERM, 0.2 of 5 s',
        outcome: null,
      })),
    ],
    results: [],
  };
  return { ...roll, tasks: [task] };
}
