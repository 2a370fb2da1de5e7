/** The servers that exited unexpectedly: how a word names one of them, and what can be done about it. */
import type { Ended } from '../roll/schema.ts';
import { failureText } from './failure.ts';
import { type CommandRun, type Context, DONE, UsageError } from './io.ts';
import { refuse } from './refuse.ts';
import { printable } from './table.ts';

/** Digits of a nonce that are shown, and that name it as long as no other begins alike. */
const SHOWN_DIGITS = 8;

export function shortNonce({ nonce }: Pick<Ended, 'nonce'>): string {
  return nonce.slice(0, SHOWN_DIGITS);
}

/** Those whose nonce is the word or begins with it; a word of less than 4 digits names none. */
export function endedNamed(ended: readonly Ended[], word: string): readonly Ended[] {
  return /^[0-9a-f-]{4,36}$/u.test(word) ? ended.filter(({ nonce }) => nonce.startsWith(word)) : [];
}

function commandFor(command: 'start-again' | 'forget', undone: string): CommandRun {
  return async ({ io, open }: Context, args) => {
    const word = (args.positionals[0] ?? '').toLowerCase();
    if (!/^[0-9a-f-]{4,36}$/u.test(word)) {
      throw new UsageError(
        `${word} is no number of a server that ended.`,
        'rollcall list shows them, if there are any.',
      );
    }
    const json = args.has('json');
    // Only the running app knows of them, and it acts; a look of one's own would hold the lock for nothing.
    const handle = await open('read');
    try {
      if (handle.origin === 'local') {
        const why = 'Only the Rollcall app watches how servers end, and it does not run.';
        return await refuse(io, json, `${undone} ${why} Use rollcall start.`);
      }
      const [found, another] = endedNamed(handle.core.roll.ended, word);
      if (found === undefined) {
        return await refuse(
          io,
          json,
          `${undone} No server that ended has the number ${word}. rollcall list shows them.`,
        );
      }
      if (another !== undefined) {
        return await refuse(io, json, `${undone} More than one number begins with ${word}. Give more of its digits.`);
      }
      if (command === 'start-again' && !json) io.say(printable(`Starting ${found.label} again.`));
      const result = await handle.core.run({ command, nonce: found.nonce }, 'cli');
      if (!result.ok) return await refuse(io, json, failureText(result.failure));
      const { id = null, pid = null, url = null } = result.server ?? {};
      const answer = { ok: true, message: result.message, ...(command === 'forget' ? {} : { id, pid, url }) };
      await io.out(json ? `${JSON.stringify(answer, null, 2)}\n` : `${printable(result.message)}\n`);
      return DONE;
    } finally {
      await handle.close();
    }
  };
}

export const startAgain: CommandRun = commandFor('start-again', 'Nothing was started.');
export const forget: CommandRun = commandFor('forget', 'Nothing was forgotten.');
