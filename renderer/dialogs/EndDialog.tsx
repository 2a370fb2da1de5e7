import type { Server, Session } from '../../app/roll/schema.ts';
import { isAtWork, sessionConsequences } from '../../app/text/session-words.ts';
import { formatBytes, plural, rowName, serverLabel } from '../../app/text/words.ts';
import { useActs } from '../state/context.tsx';
import { useServerSessions } from '../state/useServerSessions.ts';
import { ConfirmDialog } from './ConfirmDialog.tsx';
import { actLead } from './parts.tsx';
import { notGone } from './results.ts';
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
  const permission = server[act];
  const verb = act === 'stop' ? 'Stop' : 'Restart';
  const name = rowName(server);
  const end = async (force: boolean): Promise<void> => {
    const answer = await run.start({ command: act, server: server.id, force }, { act, ids: [server.id] });
    if (answer.ok && notGone(answer).length === 0) acts.closeDialog();
  };
  return (
    <ConfirmDialog
      title={
        {
          idle: `${verb} ${name}?`,
          running: `${act === 'stop' ? 'Stopping' : 'Restarting'} ${name}`,
          ended: `What came of ${name}`,
        }[run.phase]
      }
      lead={actLead(run, permission.allowed === 'yes' ? undefined : permission.why)}
      alert
      look="danger"
      act={`${verb} ${serverLabel(server)}`}
      phase={run.phase}
      consequences={endConsequences(server, act, carried.sessions, carried.hooks)}
      consent={permission.allowed === 'force' ? `${verb} ${name} anyway` : null}
      failures={run.failures}
      notes={notGone(run.result)}
      onAct={(consented) => void end(consented)}
    />
  );
}
