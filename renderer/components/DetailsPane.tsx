import { useMemo, useRef } from 'react';
import type { Leftover, Roll, Server } from '../../app/roll/schema.ts';
import { clockTime, formatBytes, formatCpu, plural, rollHeadline, shortenPath } from '../../app/roll/words.ts';
import { useActs, useWindow } from '../state/context.tsx';
import { leftoverActs } from '../view/serverActs.ts';
import { hostStateWords } from '../view/serverItems.ts';
import { phases } from '../view/strips.ts';
import { DetailHead, Facts, ProcessTree, Section } from './DetailParts.tsx';
import { Glyph } from './Glyph.tsx';
import { ServerDetails } from './ServerDetails.tsx';

interface LeftoverProps {
  readonly leftover: Leftover;
  readonly home: string;
  readonly now: number;
  readonly phase: string | null;
}

function LeftoverDetails({ leftover, home, now, phase }: LeftoverProps) {
  const acts = useActs();
  return (
    <>
      <DetailHead
        shape={<Glyph name="leaked" tone="leaked" />}
        name={leftover.name}
        place={
          <>
            <b className="leaked">{phase ?? 'Leftover'}</b>
            <span>
              of {leftover.kind}, PID {leftover.ofPid}, on {leftover.host}
            </span>
          </>
        }
        label={leftover.name}
        acts={leftoverActs(leftover)}
        onAct={(act) => acts.openLeftover(leftover, act)}
      />
      <Section title="Why is this a leftover?">
        {leftover.reasons.map((reason) => (
          <p className="note" key={reason}>
            {reason}
          </p>
        ))}
      </Section>
      <Section title="Processes" figure={`${formatBytes(leftover.rssBytes).text} together`}>
        <ProcessTree processes={leftover.processes} />
      </Section>
      <Section title="About">
        <Facts
          facts={[
            ['Started', clockTime(leftover.startedAt, now)],
            ['Directory', leftover.directory === null ? '–' : shortenPath(leftover.directory, home)],
          ]}
        />
      </Section>
      <Section title="Command line">
        <pre className="log wrap">{leftover.command}</pre>
      </Section>
    </>
  );
}

/** With no row selected: the state of everything, and of the host that is shown. */
function Overview({ roll, host }: { readonly roll: Roll; readonly host: string | null }) {
  const headline = rollHeadline(roll);
  const hosts = roll.hosts.filter((entry) => host === null || entry.name === host);
  return (
    <>
      <header className="detail-head">
        <div className="detail-title">
          <h2>{headline.first}</h2>
        </div>
        <p className="detail-place">{headline.second}</p>
      </header>
      {hosts.map((entry) => (
        <Section key={entry.id} title={entry.name} figure={hostStateWords(entry.state)}>
          <Facts
            facts={[
              ['Machine', entry.hostname],
              ['CPU', entry.cpuPercent === null ? '–' : `${formatCpu(entry.cpuPercent)} %`],
              [
                'Memory',
                entry.memoryUsedBytes === null || entry.memoryTotalBytes === null
                  ? '–'
                  : `${formatBytes(entry.memoryUsedBytes).text} of ${formatBytes(entry.memoryTotalBytes).text}`,
              ],
              ['Load', entry.load1 === null ? '–' : entry.load1.toFixed(2)],
              ['Looked at', plural(entry.counted, 'process', 'processes')],
            ]}
          />
          {entry.detail === null ? null : <p className="note">{entry.detail}</p>}
          {entry.partial === null ? null : <p className="note">{entry.partial}</p>}
        </Section>
      ))}
    </>
  );
}

type Shown = { readonly server: Server } | { readonly leftover: Leftover } | null;

function find(roll: Roll, key: string | null): Shown {
  const server = roll.servers.find((row) => row.id === key);
  if (server !== undefined) return { server };
  const leftover = roll.leftovers.find((row) => row.id === key);
  return leftover === undefined ? null : { leftover };
}

/** The details of the selected row of the servers list. */
export function DetailsPane({ roll, home }: { readonly roll: Roll; readonly home: string }) {
  const selected = useWindow((state) => state.selected.servers);
  const host = useWindow((state) => state.host);
  const now = Date.parse(roll.takenAt);
  const underWay = useMemo(() => phases(roll), [roll]);
  const shown = find(roll, selected);
  // A server that went while it was looked at keeps its name, so that the pane says what happened to what.
  const lastName = useRef<{ key: string; name: string } | null>(null);
  if (selected !== null && shown !== null) {
    const name = 'server' in shown ? `${shown.server.kind}, PID ${shown.server.pid}` : shown.leftover.name;
    lastName.current = { key: selected, name };
  }
  const phase = selected === null ? null : (underWay.get(selected) ?? null);
  return (
    <aside className="detail" id="details" tabIndex={-1} aria-label="Details">
      {shown !== null && 'server' in shown ? (
        <ServerDetails key={shown.server.id} server={shown.server} home={home} now={now} phase={phase} />
      ) : null}
      {shown !== null && 'leftover' in shown ? (
        <LeftoverDetails leftover={shown.leftover} home={home} now={now} phase={phase} />
      ) : null}
      {shown === null && selected !== null && lastName.current?.key === selected ? (
        <section className="detail-section">
          <p className="note">{lastName.current.name} is gone. The timeline says what happened to it.</p>
        </section>
      ) : null}
      {shown === null ? <Overview roll={roll} host={host} /> : null}
    </aside>
  );
}
