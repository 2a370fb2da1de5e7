import { type ReactNode, useRef } from 'react';
import type { HostEntry, Roll, Server, Session, SessionState } from '../../app/roll/schema.ts';
import { isReachable } from '../../app/text/host-words.ts';
import { isAtWork, isLive, sessionName, sessionStateWord } from '../../app/text/session-words.ts';
import {
  capitalised,
  clockTime,
  formatBytes,
  NOTHING,
  plural,
  sentenceAge,
  serverLabel,
  shortenPath,
} from '../../app/text/words.ts';
import { useActs, useRollcall, useWindow } from '../state/context.tsx';
import { select } from '../state/store.ts';
import { childProcesses } from '../view/processTree.ts';
import { sessionActs, sessionButtons } from '../view/sessionActs.ts';
import { stateLook } from '../view/sessionItems.ts';
import { DetailHead, Facts, ProcessTree, Section } from './DetailParts.tsx';
import { Glyph } from './Glyph.tsx';
import { Button } from './parts.tsx';

/** The heading over what is told of a state. */
const DETAIL_TITLES: Readonly<Record<SessionState, string>> = {
  busy: 'Now',
  waiting: 'What it waits for',
  retrying: 'Why it is tried again',
  error: 'What failed',
  idle: 'Now',
  ended: 'How it ended',
  unknown: 'Why nothing is known',
};

function sentence(clause: string): string {
  return `${capitalised(clause.replace(/\.$/u, ''))}.`;
}

/** A time of a fact: the day's name where it is today. */
function factTime(iso: string | null, now: number): string {
  if (iso === null) return NOTHING;
  const today = new Date(iso).toDateString() === new Date(now).toDateString();
  return `${today ? 'today ' : ''}${clockTime(iso, now)}`;
}

/** A session's title as a link to its row. */
function SessionLink({ session }: { readonly session: Session }) {
  const { store } = useRollcall();
  return (
    <button type="button" className="link clip" onClick={() => select(store, 'sessions', session.key)}>
      {sessionName(session)}
    </button>
  );
}

/** How many of the sessions it started are listed by name. */
const CHILDREN_LIMIT = 6;

function Children({ of }: { readonly of: readonly Session[] }) {
  if (of.length === 0) return null;
  return (
    <Section title="Sessions it started" figure={String(of.length)}>
      <ul className="lines">
        {of.slice(0, CHILDREN_LIMIT).map((child) => (
          <li key={child.key}>
            <SessionLink session={child} />
            <span className="faint">{sessionStateWord(child.state).toLowerCase()}</span>
          </li>
        ))}
      </ul>
      {of.length > CHILDREN_LIMIT ? <p className="note">{of.length - CHILDREN_LIMIT} more.</p> : null}
    </Section>
  );
}

function clientLines({ clients }: Server): ReactNode {
  if (clients === null) return 'unknown: its connections could not be read';
  if (clients.length === 0) return 'nobody but Rollcall';
  return clients.map(({ label, connections }) => (
    <div key={label}>{connections === 1 ? label : `${label}, ${plural(connections, 'connection')}`}</div>
  ));
}

interface CarrierProps {
  readonly session: Session;
  readonly server: Server | null;
  readonly parent: Session | null;
  readonly now: number;
}

function Carrier({ session, server, parent, now }: CarrierProps) {
  const acts = useActs();
  return (
    <Section
      title={isLive(session) ? 'Carried by' : 'About'}
      figure={
        server === null ? null : (
          <Button look="link" onClick={() => acts.showServer(server.id)}>
            Show server
          </Button>
        )
      }
    >
      <Facts
        facts={[
          server === null
            ? ['Carrier', session.carrier === '' ? NOTHING : session.carrier]
            : ['Server', `${serverLabel(server)}, ${server.standing}`],
          ...(server === null ? [] : [['Clients', clientLines(server)] as const]),
          ...(parent === null ? [] : [['Started by', <SessionLink key="parent" session={parent} />] as const]),
          ['Started', factTime(session.startedAt, now)],
          ['Last active', factTime(session.lastActivityAt, now)],
          [
            'Session',
            <span className="mono" key="id">
              {session.id}
            </span>,
          ],
        ]}
      />
    </Section>
  );
}

interface Props {
  readonly session: Session;
  readonly roll: Roll;
  readonly home: string;
}

function placeOf(session: Session, now: number, host: HostEntry | undefined): string {
  const { state, since } = session;
  const age = since === null ? null : Math.max(0, now - Date.parse(since));
  const away =
    host !== undefined && !isReachable(host) && host.lookedAt !== null
      ? `, as of ${clockTime(host.lookedAt, now)}`
      : '';
  const on = `on ${session.host}${away}`;
  if (age === null) return on;
  return state === 'ended' ? `${sentenceAge(age)} ago ${on}` : `for ${sentenceAge(age)} ${on}`;
}

/** Everything that is known of one session. */
export function SessionDetails({ session, roll, home }: Props) {
  const acts = useActs();
  const now = Date.parse(roll.takenAt);
  const server = roll.servers.find(({ id }) => id === session.server) ?? null;
  const host = roll.hosts.find(({ name }) => name === session.host);
  const parent = session.parent === null ? null : (roll.sessions.find(({ key }) => key === session.parent) ?? null);
  const children = roll.sessions.filter((other) => other.parent === session.key);
  const look = stateLook(session.state);
  const offered = sessionActs(session, server, host);
  const processes = server === null || !isAtWork(session) ? [] : childProcesses(server.processes);
  const memory = processes.reduce((sum, row) => sum + (row.pssBytes ?? row.rssBytes), 0);
  return (
    <>
      <DetailHead
        shape={<Glyph name={look.shape} tone={look.tone} />}
        name={<span title={sessionName(session)}>{sessionName(session)}</span>}
        place={
          <>
            <b className={look.tone}>{sessionStateWord(session.state)}</b>
            <span>
              {placeOf(session, now, host)}
              {session.directory === null ? '' : ','}
            </span>
            {session.directory === null ? null : (
              <span className="clip" title={session.directory}>
                {shortenPath(session.directory, home)}
              </span>
            )}
          </>
        }
        long
        label={sessionName(session)}
        acts={offered}
        buttons={
          isLive(session)
            ? sessionButtons(offered)
            : offered.filter(({ act, refusal }) => act === 'copy-attach' && refusal === null)
        }
        onAct={(act) => acts.openSession(session, act)}
      />
      {session.detail === null ? null : (
        <Section
          title={DETAIL_TITLES[session.state]}
          figure={session.state === 'ended' && session.since !== null ? clockTime(session.since, now) : null}
        >
          <p className="note">{sentence(session.detail)}</p>
        </Section>
      )}
      <Carrier session={session} server={server} parent={parent} now={now} />
      <Children of={children} />
      {processes.length === 0 ? null : (
        <Section title="Its server’s children" figure={`${formatBytes(memory).text} together`}>
          <ProcessTree processes={processes} />
        </Section>
      )}
      {isAtWork(session) && server !== null ? (
        <section className="detail-section">
          <p className="note">Stopping or restarting this server interrupts this session. Rollcall asks first.</p>
        </section>
      ) : null}
    </>
  );
}

/** The details of the selected row of the sessions list. */
export function SessionPane({ roll, home }: { readonly roll: Roll; readonly home: string }) {
  const selected = useWindow((state) => state.selected.sessions);
  const shown = selected === null ? undefined : roll.sessions.find(({ key }) => key === selected);
  // One that is taken off the list while it is looked at keeps its name, so that the pane says what went.
  const last = useRef<Session | null>(null);
  if (shown !== undefined) last.current = shown;
  return (
    <aside className="detail" id="details" tabIndex={-1} aria-label="Details">
      {shown === undefined ? null : <SessionDetails key={shown.key} session={shown} roll={roll} home={home} />}
      {shown === undefined && selected !== null && last.current?.key === selected ? (
        <section className="detail-section">
          <p className="note">
            “{sessionName(last.current)}” is not listed any more. The timeline says what happened to it.
          </p>
        </section>
      ) : null}
    </aside>
  );
}
