import type { ReapResult } from '../roll/schema.ts';
import { confirm } from './confirm.ts';
import { failureText } from './failure.ts';
import { type CommandRun, DONE, type ExitCode, FAILED, type Io } from './io.ts';
import { printable } from './table.ts';
import { checkTarget, findTarget } from './targets.ts';
import { hostOption, pidHost, reach } from './where.ts';

export const stop: CommandRun = async ({ io, open }, args) => {
  const word = args.positionals[0] ?? '';
  checkTarget(word);
  const json = args.has('json');
  const force = args.has('force');
  const host = hostOption(args);
  const handle = await open('act');
  try {
    const problem = await reach(handle.core, host);
    if (problem !== null) return await refuse(io, json, `Nothing was stopped. ${problem}`);
    const target = await findTarget(handle.core, word, pidHost(handle.core.roll, host));
    if (target.found === 'nothing') return await refuse(io, json, `Nothing was stopped. ${target.text}`);
    if (target.found === 'leftover') {
      return await refuse(
        io,
        json,
        `${target.label} was not stopped: it is a leftover. Use rollcall reap ${target.pid}${host === null ? '' : ` --host ${host}`}.`,
      );
    }
    const permission = target.server.stop;
    if (permission.allowed === 'no') {
      return await refuse(io, json, `${target.label} was not stopped. ${permission.why}`);
    }
    if (permission.allowed === 'force' && !force) {
      return await refuse(
        io,
        json,
        `${target.label} was not stopped. ${permission.why} Add --force to stop it anyway.`,
      );
    }
    if (permission.allowed !== 'yes') {
      const answer = await confirm(io, args.has('yes'), `${permission.why}\nStop ${target.label}?`);
      if (answer === 'no') return await refuse(io, json, 'Nothing was stopped.');
      if (answer === 'cannot-ask') {
        return await refuse(
          io,
          json,
          `${target.label} was not stopped. ${permission.why} Add --yes to stop it without being asked.`,
        );
      }
    }
    const result = await handle.core.run({ command: 'stop', server: target.id, force }, 'cli');
    if (!result.ok) return await refuse(io, json, failureText(result.failure), result.results);
    if (json)
      await io.out(`${JSON.stringify({ ok: true, message: result.message, results: result.results }, null, 2)}\n`);
    else await io.out(`${printable(result.message)}\n`);
    return DONE;
  } finally {
    await handle.close();
  }
};

async function refuse(io: Io, json: boolean, message: string, results: readonly ReapResult[] = []): Promise<ExitCode> {
  io.say(printable(message));
  if (json) await io.out(`${JSON.stringify({ ok: false, message, results }, null, 2)}\n`);
  return FAILED;
}
