import { DONE, FAILED, type Verb } from './io.ts';
import { printable } from './table.ts';
import { checkTarget, findTarget } from './targets.ts';

export const log: Verb = async ({ io, open }, args) => {
  const word = args.positionals[0] ?? '';
  checkTarget(word);
  const handle = await open('read');
  try {
    const target = await findTarget(handle.core, word);
    if (target.found !== 'server') {
      io.say(printable(target.found === 'nothing' ? target.text : `${target.label} is a leftover and has no log.`));
      return FAILED;
    }
    const { path, text, truncated } = await handle.core.readLog(target.id);
    if (path === null) {
      io.say(printable(`${target.label} has no log here: Rollcall did not start it.`));
      return FAILED;
    }
    io.say(printable(truncated ? `The end of ${path}:` : `${path}:`));
    // A server's own output may hold escape sequences; lines stay, commands to the terminal do not.
    const lines = text.split('\n').map(printable).join('\n');
    await io.out(lines.endsWith('\n') || lines === '' ? lines : `${lines}\n`);
    return DONE;
  } finally {
    await handle.close();
  }
};
