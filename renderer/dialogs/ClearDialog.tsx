import { useState } from 'react';
import type { CommandResult } from '../../app/roll/commands.ts';
import type { RecordEntry } from '../../app/roll/schema.ts';
import { plural, shortenPath } from '../../app/text/words.ts';
import { Path } from '../components/parts.tsx';
import { useActs } from '../state/context.tsx';
import { recordKey } from '../view/recordItems.ts';
import { ConfirmDialog } from './ConfirmDialog.tsx';
import { failuresOf, stateOf } from './results.ts';

interface Props {
  readonly records: readonly RecordEntry[];
  readonly home: string;
}

/** Moves stale records aside: exactly the files that were judged, and no signal to anybody. */
export function ClearDialog({ records, home }: Props) {
  const acts = useActs();
  const [results, setResults] = useState<ReadonlyMap<string, CommandResult> | null>(null);
  const clear = async (): Promise<void> => {
    const ended = new Map<string, CommandResult>();
    setResults(ended);
    for (const record of records) {
      const { path, sha256, host } = record;
      // The same path may be a record of another host too.
      ended.set(recordKey(record), await acts.run({ command: 'clear', path, sha256, host }));
      setResults(new Map(ended));
    }
    if ([...ended.values()].every((result) => result.ok)) acts.closeDialog();
  };
  return (
    <ConfirmDialog
      title={`Move ${plural(records.length, 'stale record')} aside?`}
      lead="A record that changed since it was judged stays where it is."
      look="primary"
      act={`Move ${records.length === 1 ? 'aside' : `${records.length} aside`}`}
      phase={results === null ? 'idle' : 'ended'}
      rows={records.map((record) => ({
        key: recordKey(record),
        glyph: 'file',
        tone: 'quiet',
        name: (
          <span className="what">
            <span>{record.source}</span>
            <Path path={shortenPath(record.path, home)} />
          </span>
        ),
        figure: <span className="faint">{record.verdict}</span>,
        state: stateOf(results?.get(recordKey(record))),
      }))}
      consequences={['0 signals: no process is touched', 'The files are kept, so each can be put back by hand']}
      failures={failuresOf(results)}
      onAct={() => void clear()}
    />
  );
}
