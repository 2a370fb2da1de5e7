import { useMemo, useState } from 'react';
import type { AuditEntry, Roll } from '../../app/roll/schema.ts';
import { eventWords, type TimelineChoice } from '../../app/text/timeline-words.ts';
import { capitalised, clockTime, plural, shortenPath } from '../../app/text/words.ts';
import { useActs, useRollcall, useWindow } from '../state/context.tsx';
import { type Scope, select } from '../state/store.ts';
import { afterSubject, type EntryItem, eventShape, timelineItems, timeOfDay } from '../view/timelineItems.ts';
import { Facts, Section } from './DetailParts.tsx';
import { Footer } from './Footer.tsx';
import { Glyph } from './Glyph.tsx';
import { Grid } from './Grid.tsx';
import { Button, CELL } from './parts.tsx';
import { ScopeLine } from './ScopeLine.tsx';
import { useFrozenOrder, waitingWords } from './useFrozenOrder.ts';

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
      <div className="event" {...CELL} title={capitalised(eventWords(entry.event))}>
        <Glyph name={eventShape(entry.event)} tone={tone(entry)} />
      </div>
      <div className="clip" {...CELL} title={`${entry.subject}, ${entry.text}`}>
        {entry.subject}
        {entry.text === '' ? null : <span className="faint">{afterSubject(entry)}</span>}
      </div>
      <div className="second" {...CELL}>
        {entry.host}
      </div>
    </>
  );
}

interface EntryProps {
  readonly entry: AuditEntry;
  readonly roll: Roll;
  readonly now: number;
}

function EntryDetails({ entry, roll, now }: EntryProps) {
  const acts = useActs();
  const { store } = useRollcall();
  const server = roll.servers.find(({ id }) => id === entry.server);
  const session = roll.sessions.find(({ key }) => key === entry.session);
  const showSession = (key: string): void => {
    acts.show('sessions');
    store.setState({ host: null, filter: '' });
    select(store, 'sessions', key);
  };
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
          {session === undefined ? null : <Button onClick={() => showSession(session.key)}>Show session</Button>}
          {server === undefined ? null : <Button onClick={() => acts.showServer(server.id)}>Show server</Button>}
        </div>
      </header>
      <Section title="What happened">
        <p className="note">{capitalised(entry.text === '' ? entry.subject : entry.text)}</p>
      </Section>
      <Section title="Audit">
        <Facts
          facts={[
            ['Event', capitalised(eventWords(entry.event))],
            ['PID', entry.pid === null ? '–' : String(entry.pid)],
            ['Time', entry.at],
          ]}
        />
      </Section>
    </>
  );
}

/** Saves what is shown, and all of it that the audit still holds. Says where it went. */
function Export({ choice, onSaved }: { readonly choice: TimelineChoice; readonly onSaved: (words: string) => void }) {
  const acts = useActs();
  const home = useWindow((state) => state.info?.home ?? '');
  const [running, setRunning] = useState(false);
  const save = async (): Promise<void> => {
    setRunning(true);
    onSaved('');
    const saved = await acts.exportTimeline(choice);
    setRunning(false);
    if (saved !== null) {
      onSaved(`${plural(saved.entries, 'entry', 'entries')} saved to ${shortenPath(saved.path, home)}`);
    }
  };
  return (
    <Button look="link" disabled={running} onClick={() => void save()}>
      Export…
    </Button>
  );
}

function nothingWords({ filter }: TimelineChoice, scope: Scope | null): string {
  if (filter !== '') return `No entry matches “${filter}”.`;
  return scope === null ? 'Nothing has happened yet.' : `No entry of late is about ${scope.name}.`;
}

/** The audit, newest first: what was done to what, and what was refused. */
export function TimelineView({ roll }: { readonly roll: Roll }) {
  const { store } = useRollcall();
  const acts = useActs();
  const host = useWindow((state) => state.host);
  const filter = useWindow((state) => state.filter);
  const scope = useWindow((state) => state.scope);
  const selected = useWindow((state) => state.selected.timeline);
  const [saved, setSaved] = useState('');
  const now = Date.parse(roll.takenAt);
  const server = scope?.type === 'server' ? scope.id : null;
  const session = scope?.type === 'session' ? scope.id : null;
  const choice: TimelineChoice = { host, server, session, filter };
  const today = new Date(now).toDateString();
  // Heads say "Today": the day is all of the time that they depend on.
  // biome-ignore lint/correctness/useExhaustiveDependencies: the day stands for the time
  const fresh = useMemo(
    () => timelineItems(roll, { host, server, session, filter }, now),
    [roll.timeline, host, server, session, filter, today],
  );
  const { items, waiting } = useFrozenOrder(fresh, [host, server, session, filter].join('\n'));
  const entries = items.filter((item) => item.type === 'entry');
  const shown = entries.find((item) => item.key === selected);
  return (
    <div className="body">
      <section className="list" aria-label="Timeline">
        <ScopeLine />
        {entries.length === 0 ? (
          <p className="nothing">{nothingWords(choice, scope)}</p>
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
          end={<Export choice={choice} onSaved={setSaved} />}
        >
          {waiting > 0 ? waitingWords(waiting) : saved}
        </Footer>
      </section>
      <aside className="detail" id="details" tabIndex={-1} aria-label="Details">
        {shown === undefined ? null : <EntryDetails entry={shown.entry} roll={roll} now={now} />}
      </aside>
    </div>
  );
}
