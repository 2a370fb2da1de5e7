import type { LogText } from '../supervisor/core.ts';
import { endedNamed } from './ended.ts';
import { type CommandRun, DONE, type ExitCode, FAILED, type Io } from './io.ts';
import { printable } from './table.ts';
import { checkTarget, findTarget } from './targets.ts';
import { hostOption, pidHost, reach } from './where.ts';

export const log: CommandRun = async ({ io, open }, args) => {
  const word = args.positionals[0] ?? '';
  const host = hostOption(args);
  const handle = await open('read');
  try {
    const problem = await reach(handle.core, host);
    if (problem !== null) {
      io.say(problem);
      return FAILED;
    }
    const [ended, another] = endedNamed(handle.core.roll.ended, word);
    if (ended === undefined) checkTarget(word);
    const target = await findTarget(handle.core, word, pidHost(handle.core.roll, host));
    // A PID may happen to read like the start of a number.
    if (target.found !== 'server' && ended !== undefined && another === undefined) {
      return await print(io, await handle.core.readLog(ended.nonce), `${ended.label} has no log.`);
    }
    if (target.found !== 'server') {
      io.say(printable(target.found === 'nothing' ? target.text : `${target.label} is a leftover and has no log.`));
      return FAILED;
    }
    const none = `${target.label} has no log here: Rollcall did not start it.`;
    return await print(io, await handle.core.readLog(target.id), none);
  } finally {
    await handle.close();
  }
};

async function print(io: Io, { path, text, truncated }: LogText, none: string): Promise<ExitCode> {
  if (path === null) {
    io.say(printable(none));
    return FAILED;
  }
  io.say(printable(truncated ? `The end of ${path}:` : `${path}:`));
  // A server's own output may hold escape sequences; lines stay, commands to the terminal do not.
  const lines = text.split('\n').map(printable).join('\n');
  await io.out(lines.endsWith('\n') || lines === '' ? lines : `${lines}\n`);
  return DONE;
}
