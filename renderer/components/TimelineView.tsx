import type { AuditEntry, Roll } from '../../app/roll/schema.ts';
import { clockTime, plural } from '../../app/roll/words.ts';
import { useActs, useRollcall, useWindow } from '../state/context.tsx';
import { select } from '../state/store.ts';
import { type EntryItem, eventShape, timelineItems, timeOfDay } from '../view/timelineItems.ts';
import { Facts, Section } from './DetailParts.tsx';
import { Footer } from './Footer.tsx';
import { Glyph } from './Glyph.tsx';
import { Grid } from './Grid.tsx';
import { Button, CELL } from './parts.tsx';
import { useHeld, waitingWords } from './useHeld.ts';

function tone(entry: AuditEntry): string {
  const shape = eventShape(entry.event);
  if (shape === 'leaked') return 'leaked';
  return shape === 'fault' ? 'suspect' : 'quiet';
}

function entryText(entry: AuditEntry): string {
  const pid = entry.pid === null ? '' : ` PID ${entry.pid}`;
  return `${entry.at} ${entry.host} ${entry.event}${pid} ${entry.subject}: ${entry.text}`;
}

function EntryCells({ entry }: { readonly entry: AuditEntry }) {
  return (
    <>
      <div className="second" {...CELL}>
        <time dateTime={entry.at}>{timeOfDay(entry.at)}</time>
      </div>
      <div className="event" {...CELL}>
        <Glyph name={eventShape(entry.event)} tone={tone(entry)} />
      </div>
      <div className="clip" {...CELL} title={`${entry.subject}, ${entry.text}`}>
        {entry.subject}
        {entry.text === '' ? null : <span className="faint">, {entry.text}</span>}
      </div>
      <div className="second" {...CELL}>
        {entry.host}
      </div>
    </>
  );
}

function EntryDetails({ entry, now }: { readonly entry: AuditEntry; readonly now: number }) {
  const acts = useActs();
  return (
    <>
      <header className="detail-head">
        <div className="detail-title">
          <Glyph name={eventShape(entry.event)} tone={tone(entry)} />
          <h2 className="clip" title={entry.subject}>
            {entry.subject}
          </h2>
        </div>
        <p className="detail-place">
          {entry.host}, {clockTime(entry.at, now)}
        </p>
        <div className="acts">
          <Button onClick={() => acts.copy(entryText(entry))}>Copy as text</Button>
        </div>
      </header>
      <Section title="What happened">
        <p className="note">{entry.text === '' ? entry.subject : entry.text}</p>
      </Section>
      <Section title="Audit">
        <Facts
          facts={[
            ['Event', entry.event],
            ['PID', entry.pid === null ? '–' : String(entry.pid)],
            ['Time', entry.at],
          ]}
        />
      </Section>
    </>
  );
}

/** The audit, newest first: what was done to what, and what was refused. */
export function TimelineView({ roll }: { readonly roll: Roll }) {
  const { store } = useRollcall();
  const acts = useActs();
  const host = useWindow((state) => state.host);
  const filter = useWindow((state) => state.filter);
  const selected = useWindow((state) => state.selected.timeline);
  const now = Date.parse(roll.takenAt);
  const { items, waiting } = useHeld(timelineItems(roll, host, filter, now), `${host ?? ''}\n${filter}`);
  const entries = items.filter((item) => item.type === 'entry');
  const shown = entries.find((item) => item.key === selected);
  return (
    <div className="body">
      <section className="list" aria-label="Timeline">
        {entries.length === 0 ? (
          <p className="nothing">{filter === '' ? 'Nothing has happened yet.' : `No entry matches “${filter}”.`}</p>
        ) : (
          <Grid<EntryItem>
            label="Timeline"
            columns="cols-timeline"
            head={null}
            items={items}
            selected={selected}
            onSelect={(key) => select(store, 'timeline', key)}
            cells={({ entry }) => <EntryCells entry={entry} />}
            rowClass={() => ''}
            names={({ entry }) => [entry.subject]}
            onRowKey={({ entry }, what) => {
              if (what === 'copy') acts.copy(entryText(entry));
            }}
          />
        )}
        <Footer
          roll={roll}
          left={`${plural(entries.length, 'entry', 'entries')} in ${plural(items.length - entries.length, 'day')}`}
        >
          {waitingWords(waiting)}
        </Footer>
      </section>
      <aside className="detail" id="details" tabIndex={-1} aria-label="Details">
        {shown === undefined ? null : <EntryDetails entry={shown.entry} now={now} />}
      </aside>
    </div>
  );
}
