import type { HostEntry, Server } from '../../app/roll/schema.ts';
import { lifeWords } from '../../app/text/ended-words.ts';
import { isReachable, THIS_MACHINE } from '../../app/text/host-words.ts';
import { sessionCounts } from '../../app/text/session-words.ts';
import {
  capitalised,
  clockTime,
  formatBytes,
  plural,
  serverLabel,
  serverPlace,
  shortenPath,
  standingWord,
} from '../../app/text/words.ts';
import { useActs, useWindow } from '../state/context.tsx';
import { useServerSessions } from '../state/useServerSessions.ts';
import { serverActs } from '../view/serverActs.ts';
import { ownerWords, whyQuestion } from '../view/serverItems.ts';
import { Checklist, checksRan, DetailHead, Facts, ProcessTree, Section } from './DetailParts.tsx';
import { Glyph } from './Glyph.tsx';
import { HostConnection } from './HostDetails.tsx';
import { IdleSection } from './IdleSection.tsx';
import { LogSection } from './LogSection.tsx';
import { Button } from './parts.tsx';
import { Tunnel } from './Tunnel.tsx';

interface Props {
  readonly server: Server;
  /** The host it is on; undefined when that is not in the roll any more. */
  readonly host: HostEntry | undefined;
  readonly home: string;
  readonly now: number;
  readonly phase: string | null;
}

/** Why it has its standing: the checklist, and what the checks do not already say. */
function Why({ server, asOf }: { readonly server: Server; readonly asOf: string | null }) {
  const facts = new Set(server.checks.map((check) => check.fact));
  const reasons = server.reasons.filter((reason) => !facts.has(reason));
  return (
    <Section
      title={whyQuestion(server.standing)}
      figure={asOf ?? (server.checks.length === 0 ? null : checksRan(server.checks))}
    >
      {server.checks.length === 0 ? null : <Checklist checks={server.checks} />}
      {reasons.map((reason) => (
        <p className="note" key={reason}>
          {capitalised(reason)}
        </p>
      ))}
    </Section>
  );
}

function Clients({ server }: { readonly server: Server }) {
  const { clients } = server;
  if (server.transport === 'stdio' && (clients === null || clients.length === 0)) return null;
  const total = clients?.reduce((sum, client) => sum + client.connections, 0) ?? 0;
  return (
    <Section title="Clients" figure={clients === null ? null : plural(total, 'connection')}>
      {clients === null ? <p className="note">Its connections could not be read.</p> : null}
      {clients?.length === 0 ? <p className="note">Nobody is connected but Rollcall.</p> : null}
      {clients === null || clients.length === 0 ? null : (
        <ul className="lines">
          {clients.map((client) => (
            <li key={client.label}>
              <span className="clip">{client.label}</span>
              <span className="faint">{plural(client.connections, 'connection')}</span>
            </li>
          ))}
        </ul>
      )}
    </Section>
  );
}

/** How many sessions it carries, and the way to them; or why they are not known. */
function Sessions({ server }: { readonly server: Server }) {
  const acts = useActs();
  const { sessions: own } = useServerSessions([server]);
  const { sessions } = server;
  if (!sessions.known && own.length === 0) {
    return (
      <Section title="Sessions" figure="not known">
        <p className="note">{capitalised(sessions.why.replace(/\.$/u, ''))}.</p>
      </Section>
    );
  }
  const none = own.length === 0 && sessions.known && sessions.live === 0;
  return (
    <Section
      title="Sessions"
      figure={
        none ? null : (
          <Button look="link" onClick={() => acts.openServer(server, 'show-sessions')}>
            Show
          </Button>
        )
      }
    >
      <p className="note">
        {none
          ? 'It carries none.'
          : own.length > 0
            ? `${capitalised(sessionCounts(own))}.`
            : `${plural(sessions.known ? sessions.live : 0, 'session')}.`}
      </p>
    </Section>
  );
}

const HEALTH_WORDS: Readonly<Record<Server['health'], string>> = {
  ok: 'answers',
  unresponsive: 'unresponsive',
  locked: 'answers, wants a password',
  starting: 'starting',
  unknown: 'unknown',
};

function KeepRunning({ server }: { readonly server: Server }) {
  const acts = useActs();
  const allStay = useWindow((state) => state.roll?.settings.stopLocalServers === false);
  if (server.supervised === null) return null;
  const { keepRunning } = server.supervised;
  return (
    <Section title="When Rollcall quits">
      <div className="choice">
        <span id="keep-running-label">Keep running</span>
        <button
          type="button"
          role="switch"
          className="switch"
          aria-checked={keepRunning}
          aria-labelledby="keep-running-label"
          onClick={() => acts.keepRunning(server.id, !keepRunning)}
        />
      </div>
      {allStay && server.host === THIS_MACHINE ? (
        <p className="note">The settings keep all local servers running.</p>
      ) : null}
    </Section>
  );
}

/** A restart would bring something else than what runs: it is offered, and never done unasked. */
function OutOfDate({ server }: { readonly server: Server }) {
  const acts = useActs();
  const reason = server.supervised?.outdated ?? null;
  if (reason === null) return null;
  return (
    <Section title="Out of date">
      <div className="offer">
        <p className="note">{reason}</p>
        <Button
          disabled={server.restart.allowed === 'no'}
          title={server.restart.allowed === 'yes' ? undefined : server.restart.why}
          onClick={() => acts.openServer(server, 'restart')}
        >
          Restart…
        </Button>
      </div>
    </Section>
  );
}

/** What the one figure leaves out: growth, and shared pages where they make a difference. */
function memoryNotes(server: Server): readonly string[] {
  const resident = formatBytes(server.rssBytes).text;
  return [
    ...(server.growing === null ? [] : [server.growing]),
    ...(resident === formatBytes(server.memoryBytes).text
      ? []
      : [`${resident} resident, with shared pages counted in each process.`]),
  ];
}

/** Everything that is known of one server, each claim with its reason. */
export function ServerDetails({ server, host, home, now, phase }: Props) {
  const acts = useActs();
  const away = host !== undefined && !isReachable(host) ? host : null;
  const asOf = away === null || away.lookedAt === null ? null : `as of ${clockTime(away.lookedAt, now)}`;
  const place = serverPlace(server);
  const memory = formatBytes(server.memoryBytes).text;
  const command = server.command.join(' ');
  return (
    <>
      <DetailHead
        shape={
          phase === null ? (
            <Glyph name={server.standing} tone={away === null ? server.standing : 'quiet'} />
          ) : (
            <Glyph name="turn" tone="busy" turning />
          )
        }
        name={
          <>
            {server.kind} <span className="port">{place}</span>
          </>
        }
        place={
          <>
            <b className={away === null ? server.standing : ''}>{phase ?? standingWord(server.standing)}</b>
            <span className={asOf === null ? '' : 'clip'}>
              on {server.host}
              {asOf === null && server.directory === null ? '' : ','}
            </span>
            {asOf === null ? null : <span>{asOf}</span>}
            {server.directory === null || asOf !== null ? null : (
              <span className="clip" title={server.directory}>
                {shortenPath(server.directory, home)}
              </span>
            )}
          </>
        }
        label={serverLabel(server)}
        acts={serverActs(server, host)}
        onAct={(act) => acts.openServer(server, act)}
      />
      {away === null || away.ssh === null ? null : <HostConnection host={away} ssh={away.ssh} />}
      <Tunnel server={server} host={host} />
      {away === null ? <OutOfDate server={server} /> : null}
      <Why server={server} asOf={asOf} />
      <Section title="Memory" figure={memory}>
        {memoryNotes(server).map((note) => (
          <p className="note" key={note}>
            {note}
          </p>
        ))}
      </Section>
      <Section title="Processes" figure={`${memory} together`}>
        <ProcessTree processes={server.processes} />
      </Section>
      <Sessions server={server} />
      <Clients server={server} />
      {server.supervised === null || away !== null ? null : <LogSection server={server} />}
      {away === null ? <KeepRunning server={server} /> : null}
      {away === null ? <IdleSection server={server} /> : null}
      <Section title="About">
        <Facts
          facts={[
            [
              'Owner',
              server.owner === null || server.owner.pid === null
                ? ownerWords(server)
                : `${ownerWords(server)}, PID ${server.owner.pid}`,
            ],
            ...(server.supervised === null
              ? []
              : [['State', capitalised(lifeWords(server.supervised.state))] as const]),
            ['Health', server.healthDetail ?? HEALTH_WORDS[server.health]],
            ['Activity', capitalised(server.busySign)],
            ...(asOf === null || server.directory === null ? [] : [['Directory', server.directory] as const]),
            ['Started', clockTime(server.startedAt, now)],
            ['Version', server.version ?? '–'],
            ['Program', server.executable ?? '–'],
            ...(server.supervised === null
              ? []
              : [['Record', shortenPath(server.supervised.recordPath, home)] as const]),
          ]}
        />
      </Section>
      <Section
        title="Command line"
        figure={
          <Button look="link" onClick={() => acts.openServer(server, 'copy-command')}>
            Copy
          </Button>
        }
      >
        <pre className="log wrap">{command}</pre>
      </Section>
    </>
  );
}
