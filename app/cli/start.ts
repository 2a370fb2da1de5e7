import { resolve } from 'node:path';
import { THIS_MACHINE } from '../text/host-words.ts';
import { shortenPath } from '../text/words.ts';
import { failureText } from './failure.ts';
import { type CommandRun, DONE, FAILED, UsageError } from './io.ts';
import { printable } from './table.ts';
import { hostOption, knownAs } from './where.ts';
import { wholeNumber } from './whole-number.ts';

export const start: CommandRun = async ({ io, open }, args) => {
  const kind = args.positionals[0] ?? '';
  const port = args.value('port');
  const forPid = args.value('for');
  const host = hostOption(args);
  const there = host !== null && host !== THIS_MACHINE;
  const directory = there ? folderThere(args.value('dir') ?? '~') : resolve(io.cwd, args.value('dir') ?? '.');
  const command = {
    command: 'start' as const,
    ...(there ? { host } : {}),
    kind,
    directory,
    port: port === undefined ? null : wholeNumber(port, 'port', 1, 65_535),
    forPid: forPid === undefined ? null : wholeNumber(forPid, 'for', 2, 4_194_304),
    // A server on another host stays when Rollcall quits: it is there for whoever comes back to that machine.
    keepRunning: there || args.has('keep-running'),
  };
  const json = args.has('json');
  const handle = await open('act');
  try {
    if (!json)
      io.say(
        `Starting ${printable(kind)} in ${printable(there ? `${directory} on ${host}` : shortenPath(directory, io.home))}.`,
      );
    // A start that is cut off would leave a server that no process looks after.
    io.listenForInterrupt();
    if (command.forPid !== null) await handle.watchOwners();
    const running = handle.core.run(there ? { ...command, host: knownAs(handle.core.roll, host) } : command, 'cli');
    const result = await Promise.race([running, interrupted(io.ended)]);
    if (result === 'interrupted') {
      // Nobody asks for the answer any more.
      running.catch(() => undefined);
      io.say(
        handle.origin === 'app'
          ? 'Interrupted. Whoever is in charge goes on with the start; rollcall list shows what came of it.'
          : 'Interrupted. The start is given up, and what it started is ended.',
      );
      return FAILED;
    }
    if (!result.ok) {
      io.say(failureText(result.failure));
      if (json)
        await io.out(`${JSON.stringify({ id: null, pid: null, url: null, failure: result.failure }, null, 2)}\n`);
      return FAILED;
    }
    const { id = null, pid = null, url = null } = result.server ?? {};
    if (json) await io.out(`${JSON.stringify({ id, pid, url, message: result.message }, null, 2)}\n`);
    else {
      io.say(printable(result.message));
      await io.out(`id   ${id ?? '–'}\npid  ${pid ?? '–'}\nurl  ${url ?? '–'}\n`);
    }
    return DONE;
  } finally {
    await handle.close();
  }
};

/** A folder of another host: nothing there is relative to a folder of here. */
function folderThere(text: string): string {
  if (/^(?:\/|~(?:\/|$))/u.test(text)) return text;
  throw new UsageError(`--dir ${text} will not do.`, 'A folder of another host begins with / or ~.');
}

function interrupted(signal: AbortSignal): Promise<'interrupted'> {
  return new Promise((done) => {
    // It may have come while the guard was being started.
    if (signal.aborted) done('interrupted');
    signal.addEventListener('abort', () => done('interrupted'), { once: true });
  });
}
