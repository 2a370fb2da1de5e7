import type { RecordEntry, Roll } from '../../app/roll/schema.ts';
import { clockTime, NOTHING, plural, sentenceAge, shortenPath } from '../../app/text/words.ts';
import { useActs, useRollcall, useWindow } from '../state/context.tsx';
import { select } from '../state/store.ts';
import { type RecordItem, recordItems, recordKey } from '../view/recordItems.ts';
import type { GlyphName } from '../view/shapes.ts';
import { Facts, Section } from './DetailParts.tsx';
import { Footer } from './Footer.tsx';
import { Glyph } from './Glyph.tsx';
import { Grid } from './Grid.tsx';
import { Age, Button, CELL, COLUMN_HEAD, Path, ROW } from './parts.tsx';
import { useFrozenOrder, waitingWords } from './useFrozenOrder.ts';

function verdictShape(verdict: RecordEntry['verdict']): GlyphName {
  if (verdict === 'zombie') return 'gone';
  return verdict === 'corrupt' ? 'fault' : verdict;
}

function Heads() {
  return (
    <div className="head cols-records" {...ROW}>
      <div {...COLUMN_HEAD}>Verdict</div>
      <div {...COLUMN_HEAD}>Record</div>
      <div {...COLUMN_HEAD}>Host</div>
      <div className="col-says" {...COLUMN_HEAD}>
        Says
      </div>
      <div className="num" {...COLUMN_HEAD}>
        Age
      </div>
    </div>
  );
}

interface CellsProps {
  readonly record: RecordEntry;
  readonly home: string;
  readonly now: number;
}

function RecordCells({ record, home, now }: CellsProps) {
  const tone = record.verdict === 'unknown' || record.verdict === 'corrupt' ? 'suspect' : 'quiet';
  return (
    <>
      <div className="standing" {...CELL}>
        <Glyph name={verdictShape(record.verdict)} tone={tone} />
        <span>{record.verdict}</span>
      </div>
      <div className="what" {...CELL}>
        <span className="clip kind">{record.source}</span>
        <Path path={shortenPath(record.path, home)} />
      </div>
      <div className="second" {...CELL}>
        {record.host}
      </div>
      <div className="second col-says" {...CELL}>
        {record.pid === null ? NOTHING : `PID ${record.pid}`}
      </div>
      <div className="num second" {...CELL}>
        {record.writtenAt === null ? NOTHING : <Age ms={now - Date.parse(record.writtenAt)} />}
      </div>
    </>
  );
}

function RecordDetails({ record, home, now }: CellsProps) {
  const acts = useActs();
  const written = record.writtenAt === null ? '' : `, written ${sentenceAge(now - Date.parse(record.writtenAt))} ago`;
  const source = record.source === 'rollcall' ? 'Rollcall' : record.source;
  return (
    <>
      <header className="detail-head">
        <div className="detail-title">
          <Glyph name={verdictShape(record.verdict)} />
          <h2 className="clip">{source} record</h2>
        </div>
        <p className="detail-place">
          <b>{record.clearable ? 'Stale' : 'Kept'}</b>
          <span className="clip">
            on {record.host}
            {written}
          </span>
        </p>
        <div className="acts">
          <Button disabled={!record.clearable} onClick={() => acts.askClear([record])}>
            Move aside…
          </Button>
          <Button onClick={() => acts.copy(record.path)}>Copy path</Button>
        </div>
        {record.keptBecause === null ? null : <p className="detail-note">{record.keptBecause}</p>}
      </header>
      <Section title={record.clearable ? 'Why is this stale?' : 'What was found'} figure={record.verdict}>
        <p className="note">{record.detail}</p>
      </Section>
      <Section title="What the record says">
        <Facts
          facts={[
            ['File', shortenPath(record.path, home)],
            ['PID', record.pid === null ? NOTHING : String(record.pid)],
            ['Kind', record.kind ?? NOTHING],
            ['Directory', record.directory === null ? NOTHING : shortenPath(record.directory, home)],
            ['Written', record.writtenAt === null ? NOTHING : clockTime(record.writtenAt, now)],
          ]}
        />
      </Section>
      <Section title="What moving aside does">
        <ul className="checks">
          <li>
            <Glyph name="dash" tone="quiet" />
            <div>
              Moves this file only
              <small>And only if it is still byte for byte the one that was judged</small>
            </div>
          </li>
          <li>
            <Glyph name="dash" tone="quiet" />
            <div>
              Signals nothing
              <small>Whatever process has its PID now is not touched</small>
            </div>
          </li>
        </ul>
      </Section>
    </>
  );
}

/** Records that do not verify, and the way to move them aside. */
export function RecordsView({ roll, home }: { readonly roll: Roll; readonly home: string }) {
  const { store } = useRollcall();
  const acts = useActs();
  const host = useWindow((state) => state.host);
  const filter = useWindow((state) => state.filter);
  const selected = useWindow((state) => state.selected.records);
  const troubled = useWindow((state) => state.problem !== null);
  const now = Date.parse(roll.takenAt);
  const { items, gone, waiting } = useFrozenOrder(recordItems(roll, host, filter), `${host ?? ''}\n${filter}`);
  const records = items.flatMap((item) => (item.type === 'record' && !gone.has(item.key) ? [item.record] : []));
  const stale = records.filter((record) => record.clearable);
  const shown = records.find((record) => recordKey(record) === selected);
  return (
    <>
      {stale.length === 0 || troubled ? null : (
        <section className="strip strip-calm" aria-label="Stale records">
          <Glyph name="file" tone="quiet" />
          <div className="strip-text">
            <p className="strip-title">{plural(stale.length, 'stale record')}</p>
            <p className="strip-detail clip">Moving one aside signals no process, and the file is kept.</p>
          </div>
          <Button onClick={() => acts.askClear(stale)}>Move {stale.length} aside…</Button>
        </section>
      )}
      <div className="body">
        <section className="list" aria-label="Stale records">
          {items.length === 0 ? (
            <p className="nothing">
              {filter === ''
                ? 'No stale record. Every record names the process it was written for.'
                : `No record matches “${filter}”.`}
            </p>
          ) : (
            <Grid<RecordItem>
              label="Stale records"
              columns="cols-records"
              head={<Heads />}
              items={items}
              selected={selected}
              onSelect={(key) => select(store, 'records', key)}
              cells={({ record }) => <RecordCells record={record} home={home} now={now} />}
              rowClass={(item) => (gone.has(item.key) ? 'past' : '')}
              names={({ record }) => [record.source, record.verdict]}
              onRowKey={({ key, record }, what) => {
                if (gone.has(key)) return;
                if (what === 'end') acts.askClear([record]);
                if (what === 'copy') acts.copy(record.path);
              }}
            />
          )}
          <Footer roll={roll} left={`${stale.length} stale, ${records.length - stale.length} kept`}>
            {waitingWords(waiting)}
          </Footer>
        </section>
        <aside className="detail" id="details" tabIndex={-1} aria-label="Details">
          {shown === undefined ? null : <RecordDetails record={shown} home={home} now={now} />}
        </aside>
      </div>
    </>
  );
}
