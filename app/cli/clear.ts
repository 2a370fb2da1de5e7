import { resolve } from 'node:path';
import { THIS_MACHINE } from '../text/host-words.ts';
import { failureText } from './failure.ts';
import { type CommandRun, DONE, FAILED } from './io.ts';
import { printable } from './table.ts';
import { hostOption, reach, rowHost } from './where.ts';

export const clear: CommandRun = async ({ io, open }, args) => {
  const given = args.positionals[0] ?? '';
  // records shows the home folder as ~, and no shell expands it inside quotes.
  const host = hostOption(args) ?? THIS_MACHINE;
  const there = host !== THIS_MACHINE;
  const path = there ? given : resolve(io.cwd, given.startsWith('~/') ? io.home + given.slice(1) : given);
  const json = args.has('json');
  const finish = async (ok: boolean, message: string) => {
    if (json) await io.out(`${JSON.stringify({ ok, message }, null, 2)}\n`);
    if (!ok) io.say(printable(message));
    else if (!json) await io.out(`${printable(message)}\n`);
    return ok ? DONE : FAILED;
  };
  const handle = await open('act');
  try {
    const problem = await reach(handle.core, there ? host : null);
    if (problem !== null) return await finish(false, `${path} was not touched. ${problem}`);
    const { roll } = handle.core;
    const place = rowHost(roll, host);
    const record = roll.records.find((each) => each.path === path && each.host === place);
    if (record === undefined) {
      return await finish(false, `${path} was not touched: it is no stale record. rollcall records lists them.`);
    }
    if (!record.clearable) {
      return await finish(false, record.keptBecause ?? `${path} is kept: its process may still be there.`);
    }
    const result = await handle.core.run(
      { command: 'clear', path, sha256: record.sha256, ...(there ? { host: record.host } : {}) },
      'cli',
    );
    return await finish(result.ok, result.ok ? result.message : failureText(result.failure));
  } finally {
    await handle.close();
  }
};
