import { useState } from 'react';
import type { Server, Session } from '../../app/roll/schema.ts';
import { isAtWork, sessionConsequences } from '../../app/text/session-words.ts';
import { formatBytes, plural, rowName, serverLabel } from '../../app/text/words.ts';
import { Button } from '../components/parts.tsx';
import { useActs } from '../state/context.tsx';
import { useServerSessions } from '../state/useServerSessions.ts';
import { DialogShell } from './DialogShell.tsx';
import { actLead, CheckBox, Consequences, FailureNote } from './parts.tsx';
import { useRun } from './useRun.ts';

/** What it does now, where no session tells that. */
function activity(server: Server, sessions: readonly Session[]): readonly string[] {
  if (sessions.some(isAtWork) || (sessions.length > 0 && server.busy === 'idle')) return [];
  const sign = {
    busy: `It is interrupted at work: ${server.busySign}`,
    idle: 'Nothing is interrupted: it is idle',
    unknown: `Whether it is busy is unknown: ${server.busySign}`,
  };
  return [sign[server.busy]];
}

/**
 * Every consequence of ending a server of ours, in figures, the zero ones too when they calm.
 *
 * @param sessions those that it carries now
 * @param hooks how many session-end hooks the configuration has
 */
export function endConsequences(
  server: Server,
  act: 'stop' | 'restart',
  sessions: readonly Session[],
  hooks: number,
): readonly string[] {
  const count = server.processes.length;
  const end = count === 1 ? 'ends' : 'end';
  const clients = server.clients?.map(
    (client) => `${client.label}, loses its ${plural(client.connections, 'connection')}`,
  ) ?? ['Whether somebody is connected is unknown: its connections could not be read'];
  return [
    ...sessionConsequences(sessions, hooks),
    ...activity(server, sessions),
    ...(clients.length === 0 ? ['0 clients are connected'] : clients),
    `${plural(count, 'process', 'processes')} ${end}, ${formatBytes(server.memoryBytes).text} freed`,
    ...(act === 'restart' ? ['A new server starts in the same folder afterwards'] : []),
  ];
}

interface Props {
  readonly act: 'stop' | 'restart';
  readonly server: Server;
}

/** Stops or restarts a supervised server after naming what that costs. */
export function EndDialog({ act, server }: Props) {
  const acts = useActs();
  const run = useRun();
  const carried = useServerSessions([server]);
  const [named, setNamed] = useState(false);
  const permission = server[act];
  const needsForce = permission.allowed === 'force';
  const verb = act === 'stop' ? 'Stop' : 'Restart';
  const name = rowName(server);
  const end = async (): Promise<void> => {
    const answer = await run.start({ command: act, server: server.id, force: needsForce && named }, act, [server.id]);
    if (answer.ok && answer.results.every((result) => result.outcome === 'gone')) acts.closeDialog();
  };
  const bad = run.result?.results.filter((result) => result.outcome !== 'gone') ?? [];
  const why = permission.allowed === 'yes' ? undefined : permission.why;
  return (
    <DialogShell
      title={
        {
          idle: `${verb} ${name}?`,
          running: `${act === 'stop' ? 'Stopping' : 'Restarting'} ${name}`,
          ended: `What came of ${name}`,
        }[run.state]
      }
      lead={actLead(run, why)}
      alert
      onClose={acts.closeDialog}
      footer={
        <>
          <span className="note" />
          <Button data-first onClick={acts.closeDialog}>
            {run.state === 'idle' ? 'Cancel' : 'Close'}
          </Button>
          {run.state === 'idle' ? (
            <Button look="danger" disabled={needsForce && !named} onClick={() => void end()}>
              {verb} {serverLabel(server)}
            </Button>
          ) : null}
        </>
      }
    >
      <Consequences lines={endConsequences(server, act, carried.sessions, carried.hooks)} />
      {needsForce && run.state === 'idle' ? (
        <CheckBox checked={named} onChange={setNamed} label={`${verb} ${name} all the same`}>
          <span>
            {verb} {name} all the same
          </span>
        </CheckBox>
      ) : null}
      {run.result?.ok === false ? <FailureNote failure={run.result.failure} /> : null}
      {bad.map((result) => (
        <p className="plan-note" key={`${result.pid} ${result.message}`}>
          {result.message}
        </p>
      ))}
    </DialogShell>
  );
}
