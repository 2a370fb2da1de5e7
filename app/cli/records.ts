import type { RecordEntry } from '../roll/schema.ts';
import { THIS_MACHINE } from '../text/host-words.ts';
import { shortenPath } from '../text/words.ts';
import { type CommandRun, DONE, FAILED } from './io.ts';
import { printable } from './table.ts';
import { hostOption, reach, rollOfHost } from './where.ts';

/** A path of another host is named with it, and has its own home folder. */
function whereOf(record: RecordEntry, home: string): string {
  return record.host === THIS_MACHINE ? shortenPath(record.path, home) : `${record.path} on ${record.host}`;
}

export const records: CommandRun = async ({ io, open }, args) => {
  const host = hostOption(args);
  const handle = await open('read');
  try {
    const problem = await reach(handle.core, host);
    if (problem !== null) {
      io.say(problem);
      return FAILED;
    }
    const roll = host === null ? handle.core.roll : rollOfHost(handle.core.roll, host);
    if (args.has('json')) {
      await io.out(`${JSON.stringify({ version: 1, takenAt: roll.takenAt, records: roll.records }, null, 2)}\n`);
      return DONE;
    }
    if (roll.records.length === 0) await io.out('No stale records.\n');
    for (const record of roll.records) {
      const next = record.clearable
        ? 'It can be moved aside with rollcall clear.'
        : (record.keptBecause ?? 'It is kept.');
      const lines = [
        `${whereOf(record, io.home)}  ${record.source}  ${record.verdict}`,
        `  ${record.detail}`,
        `  ${next}`,
      ];
      await io.out(`${lines.map(printable).join('\n')}\n`);
    }
    return DONE;
  } finally {
    await handle.close();
  }
};
