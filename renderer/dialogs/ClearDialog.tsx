import { useState } from 'react';
import type { CommandResult, Failure } from '../../app/roll/commands.ts';
import type { RecordEntry } from '../../app/roll/schema.ts';
import { plural, shortenPath } from '../../app/text/words.ts';
import { Glyph } from '../components/Glyph.tsx';
import { Button, Path } from '../components/parts.tsx';
import { useActs } from '../state/context.tsx';
import { recordKey } from '../view/recordItems.ts';
import { DialogShell } from './DialogShell.tsx';
import { Consequences, FailureNote } from './parts.tsx';

interface Props {
  readonly records: readonly RecordEntry[];
  readonly home: string;
}

/** Moves stale records aside: exactly the files that were judged, and no signal to anybody. */
export function ClearDialog({ records, home }: Props) {
  const acts = useActs();
  const [results, setResults] = useState<ReadonlyMap<string, CommandResult> | null>(null);
  const things = plural(records.length, 'stale record');
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
  const failures: readonly Failure[] = [...(results?.values() ?? [])].flatMap((result) =>
    result.ok ? [] : [result.failure],
  );
  return (
    <DialogShell
      title={`Move ${things} aside?`}
      lead="A record that changed since it was judged stays where it is."
      onClose={acts.closeDialog}
      footer={
        <>
          <span className="note" />
          <Button data-first onClick={acts.closeDialog}>
            {results === null ? 'Cancel' : 'Close'}
          </Button>
          {results === null ? (
            <Button look="primary" onClick={() => void clear()}>
              Move {records.length === 1 ? 'aside' : `${records.length} aside`}
            </Button>
          ) : null}
        </>
      }
    >
      <ul className="stop-list">
        {records.map((record) => {
          const result = results?.get(recordKey(record));
          return (
            <li key={recordKey(record)}>
              <Glyph name="file" tone="quiet" />
              <span className="what">
                <span>{record.source}</span>
                <Path path={shortenPath(record.path, home)} />
              </span>
              <span className="faint">{record.verdict}</span>
              {result === undefined ? (
                <span />
              ) : (
                <Glyph name={result.ok ? 'check' : 'fault'} tone={result.ok ? 'supervised' : 'suspect'} />
              )}
            </li>
          );
        })}
      </ul>
      <Consequences
        lines={['0 signals: no process is touched', 'The files are kept, so each can be put back by hand']}
      />
      {failures.map((failure) => (
        <FailureNote key={failure.message} failure={failure} />
      ))}
    </DialogShell>
  );
}
