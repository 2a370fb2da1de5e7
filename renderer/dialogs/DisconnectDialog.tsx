import { useState } from 'react';
import type { HostEntry, Server } from '../../app/roll/schema.ts';
import { sessionConsequences } from '../../app/text/session-words.ts';
import { formatBytes, plural, serverLabel, totalMemory } from '../../app/text/words.ts';
import { Glyph } from '../components/Glyph.tsx';
import { Button, Bytes } from '../components/parts.tsx';
import { useActs } from '../state/context.tsx';
import { useServerSessions } from '../state/useServerSessions.ts';
import { DialogShell } from './DialogShell.tsx';
import { CheckBox, Consequences, FailureNote } from './parts.tsx';
import { useCommand } from './useCommand.ts';

interface Props {
  readonly host: string;
  /** What stops, as it was when the question opened. */
  readonly servers: readonly Server[];
}

/** Stops what Rollcall supervises on a host, then disconnects, after listing it. */
export function DisconnectDialog({ host, servers }: Props) {
  const acts = useActs();
  const { running, result, give } = useCommand();
  const carried = useServerSessions(servers);
  const [named, setNamed] = useState(false);
  const busy = servers.filter(({ busy: state, stop }) => state === 'busy' || stop.allowed === 'force');
  const things = plural(servers.length, 'server');
  const asked = running || result !== null;
  const go = async (): Promise<void> => {
    const answer = await give({ command: 'disconnect', host, stopServers: true });
    if (answer.ok) acts.closeDialog();
  };
  const deed = servers.length === 0 ? 'Disconnect' : `Disconnect and stop ${things}`;
  return (
    <DialogShell
      title={servers.length === 0 ? `Disconnect ${host}?` : `Disconnect ${host} and stop ${things}?`}
      lead={
        servers.length === 0
          ? `Rollcall supervises no server on ${host}, so nothing stops.`
          : `${formatBytes(totalMemory(servers)).text} freed, ${busy.length} busy. Servers that Rollcall does not supervise go on.`
      }
      alert={servers.length > 0}
      onClose={acts.closeDialog}
      footer={
        <>
          <span className="note progress-note">
            {running ? (
              <>
                <Glyph name="turn" tone="busy" turning />
                <span className="clip">Stopping, then disconnecting…</span>
              </>
            ) : null}
          </span>
          <Button data-first onClick={acts.closeDialog}>
            {asked ? 'Close' : 'Cancel'}
          </Button>
          {asked ? null : (
            <Button
              look={servers.length === 0 ? 'primary' : 'danger'}
              disabled={busy.length > 0 && !named}
              onClick={() => void go()}
            >
              {deed}
            </Button>
          )}
        </>
      }
    >
      <ul className="stop-list">
        {servers.map((server) => (
          <li key={server.id}>
            <Glyph name="supervised" tone="supervised" />
            <span className="clip">
              {serverLabel(server)}
              {busy.includes(server) ? <span className="faint">, busy</span> : null}
            </span>
            <span className="num">
              <Bytes value={server.memoryBytes} />
            </span>
          </li>
        ))}
      </ul>
      {asked ? null : <Consequences lines={sessionConsequences(carried.sessions, carried.hooks)} />}
      {busy.length > 0 && !asked ? (
        <CheckBox checked={named} onChange={setNamed} label="Interrupt what is busy">
          <span>Interrupt {plural(busy.length, 'busy server')}</span>
        </CheckBox>
      ) : null}
      {result?.ok === false ? <FailureNote failure={result.failure} /> : null}
    </DialogShell>
  );
}

interface RemoveProps {
  readonly host: HostEntry;
  /** Its servers when the question opened. */
  readonly servers: readonly Server[];
}

/** Takes a host off the list. Whatever runs there goes on. */
export function RemoveHostDialog({ host, servers }: RemoveProps) {
  const acts = useActs();
  const { running, result, give } = useCommand();
  const { name } = host;
  const ours = servers.filter((server) => server.supervised !== null).length;
  const remove = async (): Promise<void> => {
    const answer = await give({ command: 'remove-host', name });
    if (answer.ok) acts.closeDialog();
  };
  return (
    <DialogShell
      title={`Remove ${name}?`}
      lead="It is disconnected and leaves the list."
      onClose={acts.closeDialog}
      footer={
        <>
          <span className="note" />
          <Button data-first onClick={acts.closeDialog}>
            {result === null ? 'Cancel' : 'Close'}
          </Button>
          {result === null ? (
            <Button look="primary" disabled={running} onClick={() => void remove()}>
              Remove {name}
            </Button>
          ) : null}
        </>
      }
    >
      <Consequences
        lines={[
          servers.length === 0
            ? '0 servers are known there'
            : `${plural(servers.length, 'server')} there ${servers.length === 1 ? 'goes' : 'go'} on, 0 are stopped`,
          ours === 0
            ? '0 records of Rollcall are there'
            : `${plural(ours, 'record')} of Rollcall ${ours === 1 ? 'stays' : 'stay'} on the host; added again, it finds them`,
          'Your ssh config and known_hosts are not touched',
        ]}
      />
      {result?.ok === false ? <FailureNote failure={result.failure} /> : null}
    </DialogShell>
  );
}
