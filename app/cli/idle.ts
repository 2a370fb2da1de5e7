/** The command that says after how long without work a server is stopped. */
import { failureText } from './failure.ts';
import { type CommandRun, DONE, UsageError } from './io.ts';
import { refuse } from './refuse.ts';
import { printable } from './table.ts';
import { checkTarget, findTarget } from './targets.ts';
import { hostOption, pidHost, reach } from './where.ts';

/** A week, in minutes. */
const MAX_MINUTES = 10_080;

function minutesOf(word: string): number | null {
  if (word === 'never') return null;
  const minutes = /^\d{1,5}$/u.test(word) ? Number(word) : Number.NaN;
  if (minutes >= 1 && minutes <= MAX_MINUTES) return minutes;
  throw new UsageError(`${word} is no time.`, `It is a whole number of minutes from 1 to ${MAX_MINUTES}, or never.`);
}

export const idle: CommandRun = async ({ io, open }, args) => {
  const [word = '', time = ''] = args.positionals;
  checkTarget(word);
  const minutes = minutesOf(time);
  const json = args.has('json');
  const host = hostOption(args);
  const handle = await open('act');
  try {
    const problem = await reach(handle.core, host);
    if (problem !== null) return await refuse(io, json, `Nothing was changed. ${problem}`);
    const target = await findTarget(handle.core, word, pidHost(handle.core.roll, host));
    if (target.found === 'nothing') return await refuse(io, json, `Nothing was changed. ${target.text}`);
    if (target.found === 'leftover') {
      return await refuse(io, json, `Nothing was changed. ${target.label} is a leftover, which is never idle.`);
    }
    const result = await handle.core.run({ command: 'set-idle', server: target.id, minutes }, 'cli');
    if (!result.ok) return await refuse(io, json, failureText(result.failure));
    await io.out(
      json
        ? `${JSON.stringify({ ok: true, message: result.message, idleMinutes: minutes }, null, 2)}\n`
        : `${printable(result.message)}\n`,
    );
    if (minutes !== null && handle.origin === 'local') io.say('The Rollcall app sees to it, and it does not run now.');
    return DONE;
  } finally {
    await handle.close();
  }
};
