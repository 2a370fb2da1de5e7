/** The command that lists sessions. */
import { THIS_MACHINE } from '../text/host-words.ts';
import { type CommandRun, DONE, FAILED } from './io.ts';
import { renderSessions, sessionsJson } from './render-sessions.ts';
import { hostOption, reach, rollOfHost } from './where.ts';

export const sessions: CommandRun = async ({ io, open }, args) => {
  const host = hostOption(args);
  const ended = args.has('all');
  const handle = await open('read', { hears: true });
  try {
    const problem = await reach(handle.core, host);
    // The app hears of sessions at once, but of new servers only with its next look.
    if (handle.origin === 'app' && (host === null || host === THIS_MACHINE)) {
      await handle.core.run({ command: 'look' }, 'cli');
    }
    if (problem !== null) io.say(problem);
    const roll = host === null ? handle.core.roll : rollOfHost(handle.core.roll, host);
    await io.out(
      args.has('json')
        ? `${JSON.stringify(sessionsJson(roll, ended), null, 2)}\n`
        : renderSessions(roll, { width: io.columns(), home: io.home, now: Date.now(), ended }),
    );
    return problem === null ? DONE : FAILED;
  } finally {
    await handle.close();
  }
};
