import type { Server } from '../../app/roll/schema.ts';
import { sessionConsequences } from '../../app/text/session-words.ts';
import { formatBytes, plural, serverLabel, totalMemory } from '../../app/text/words.ts';
import { useActs } from '../state/context.tsx';
import { useServerSessions } from '../state/useServerSessions.ts';
import { ConfirmDialog, serverRow } from './ConfirmDialog.tsx';
import { useRun } from './useRun.ts';

interface Props {
  readonly host: string;
  /** What stops, as it was when the question opened. */
  readonly servers: readonly Server[];
}

/** Stops what Rollcall supervises on a host, then disconnects, after listing it. */
export function DisconnectDialog({ host, servers }: Props) {
  const acts = useActs();
  const { phase, failures, start } = useRun();
  const carried = useServerSessions(servers);
  const busy = servers.filter(({ busy: state, stop }) => state === 'busy' || stop.allowed === 'force');
  const things = plural(servers.length, 'server');
  const none = servers.length === 0;
  return (
    <ConfirmDialog
      title={none ? `Disconnect ${host}?` : `Disconnect ${host} and stop ${things}?`}
      lead={
        none
          ? `Rollcall supervises no server on ${host}, so nothing stops.`
          : `${formatBytes(totalMemory(servers)).text} freed, ${busy.length} busy. Servers that Rollcall does not supervise go on.`
      }
      alert={!none}
      look={none ? 'primary' : 'danger'}
      act={none ? 'Disconnect' : `Disconnect and stop ${things}`}
      phase={phase}
      progress="Stopping, then disconnecting…"
      rows={servers.map((server) => serverRow(server, serverLabel(server), busy.includes(server)))}
      consequences={phase === 'idle' ? sessionConsequences(carried.sessions, carried.hooks) : []}
      consent={busy.length === 0 ? null : `Interrupt ${plural(busy.length, 'busy server')}`}
      failures={failures}
      onAct={() =>
        void start({ command: 'disconnect', host, stopServers: true }).then(({ ok }) => ok && acts.closeDialog())
      }
    />
  );
}
