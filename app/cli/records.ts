import { shortenPath } from '../roll/words.ts';
import { DONE, type Verb } from './io.ts';
import { printable } from './table.ts';

export const records: Verb = async ({ io, open }, args) => {
  const handle = await open('read');
  try {
    const { roll } = handle.core;
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
        `${shortenPath(record.path, io.home)}  ${record.source}  ${record.verdict}`,
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
