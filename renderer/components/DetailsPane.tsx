import { useMemo, useRef } from 'react';
import type { HostEntry, Leftover, Roll, Server } from '../../app/roll/schema.ts';
import { hostStatus, isReachable } from '../../app/text/host-words.ts';
import { clockTime, formatBytes, rollHeadline, shortenPath } from '../../app/text/words.ts';
import { useActs, useWindow } from '../state/context.tsx';
import { phases } from '../view/banners.ts';
import { leftoverActs } from '../view/serverActs.ts';
import { DetailHead, Facts, ProcessTree, Section } from './DetailParts.tsx';
import { Glyph } from './Glyph.tsx';
import { HostDetails, MachineFacts } from './HostDetails.tsx';
import { ServerDetails } from './ServerDetails.tsx';

interface LeftoverProps {
  readonly leftover: Leftover;
  readonly home: string;
  readonly now: number;
  readonly phase: string | null;
  readonly host: HostEntry | undefined;
}

function LeftoverDetails({ leftover, home, now, phase, host }: LeftoverProps) {
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
        acts={leftoverActs(leftover, host)}
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

/** With no row selected: the state of everything, or of the host that is shown. */
function Overview({ roll, host }: { readonly roll: Roll; readonly host: string | null }) {
  const chosen = host === null ? undefined : roll.hosts.find((entry) => entry.name === host);
  if (chosen !== undefined && chosen.ssh !== null) return <HostDetails host={chosen} />;
  const headline = rollHeadline(roll);
  const hosts = roll.hosts.filter((entry) => host === null || entry.name === host);
  // A machine that many hosts lead to is told of once.
  const told = hosts.filter((entry) => entry.ssh === null || (isReachable(entry) && entry.ssh.sharedWith === null));
  return (
    <>
      <header className="detail-head">
        <div className="detail-title">
          <h2>{headline.first}</h2>
        </div>
        <p className="detail-place">{headline.second}</p>
      </header>
      {told.map((entry) => (
        <Section key={entry.id} title={entry.name} figure={hostStatus(entry, Date.parse(roll.takenAt))}>
          <MachineFacts host={entry} />
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
  const place = shown === null ? null : 'server' in shown ? shown.server.host : shown.leftover.host;
  const entry = roll.hosts.find(({ name }) => name === place);
  return (
    <aside className="detail" id="details" tabIndex={-1} aria-label="Details">
      {shown !== null && 'server' in shown ? (
        <ServerDetails key={shown.server.id} server={shown.server} host={entry} home={home} now={now} phase={phase} />
      ) : null}
      {shown !== null && 'leftover' in shown ? (
        <LeftoverDetails leftover={shown.leftover} host={entry} home={home} now={now} phase={phase} />
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
