import { useState } from 'react';
import type { CommandResult } from '../../app/roll/commands.ts';
import type { Server } from '../../app/roll/schema.ts';
import { sessionConsequences } from '../../app/text/session-words.ts';
import { formatBytes, plural, rowName, totalMemory } from '../../app/text/words.ts';
import { useActs } from '../state/context.tsx';
import { useServerSessions } from '../state/useServerSessions.ts';
import { ConfirmDialog, serverRow } from './ConfirmDialog.tsx';
import { failuresOf, stateOf } from './results.ts';

/** Stops every server that Rollcall supervises on this machine, one after the other, after listing them. */
export function StopAllDialog({ servers }: { readonly servers: readonly Server[] }) {
  const acts = useActs();
  const [results, setResults] = useState<ReadonlyMap<string, CommandResult | null> | null>(null);
  const carried = useServerSessions(servers);
  const busy = servers.filter((server) => server.stop.allowed === 'force');
  const things = plural(servers.length, 'server');
  const none = servers.length === 0;
  const stop = async (): Promise<void> => {
    const ended = new Map<string, CommandResult | null>();
    for (const { id, stop: permission } of servers) {
      setResults(new Map(ended.set(id, null)));
      ended.set(id, await acts.run({ command: 'stop', server: id, force: permission.allowed === 'force' }));
      setResults(new Map(ended));
    }
    if ([...ended.values()].every((result) => result?.ok === true)) acts.closeDialog();
  };
  return (
    <ConfirmDialog
      title={none ? 'Nothing to stop' : `Stop ${things}?`}
      lead={
        none
          ? 'Rollcall supervises no server here.'
          : `${formatBytes(totalMemory(servers)).text} freed, ${busy.length} busy.`
      }
      alert
      look="danger"
      act={none ? null : `Stop ${things}`}
      phase={results === null ? 'idle' : 'ended'}
      rows={servers.map((server) =>
        serverRow(server, rowName(server), busy.includes(server), stateOf(results?.get(server.id))),
      )}
      consequences={results === null ? sessionConsequences(carried.sessions, carried.hooks) : []}
      consent={busy.length === 0 ? null : `Interrupt ${plural(busy.length, 'busy server')}`}
      failures={failuresOf(results)}
      onAct={() => void stop()}
    />
  );
}
