import type { HostEntry, Server } from '../../app/roll/schema.ts';
import { plural } from '../../app/text/words.ts';
import { useActs } from '../state/context.tsx';
import { ConfirmDialog } from './ConfirmDialog.tsx';
import { useRun } from './useRun.ts';

interface Props {
  readonly host: HostEntry;
  /** Its servers when the question opened. */
  readonly servers: readonly Server[];
}

/** Takes a host off the list. Whatever runs there goes on. */
export function RemoveHostDialog({ host: { name }, servers }: Props) {
  const acts = useActs();
  const { phase, failures, start } = useRun();
  const ours = servers.filter((server) => server.supervised !== null).length;
  return (
    <ConfirmDialog
      title={`Remove ${name}?`}
      lead="It is disconnected and leaves the list."
      look="primary"
      act={`Remove ${name}`}
      phase={phase}
      consequences={[
        servers.length === 0
          ? '0 servers are known there'
          : `${plural(servers.length, 'server')} there ${servers.length === 1 ? 'goes' : 'go'} on, 0 are stopped`,
        ours === 0
          ? '0 records of Rollcall are there'
          : `${plural(ours, 'record')} of Rollcall ${ours === 1 ? 'stays' : 'stay'} on the host; added again, it finds them`,
        'Your ssh config and known_hosts are not touched',
      ]}
      failures={failures}
      onAct={() => void start({ command: 'remove-host', name }).then(({ ok }) => ok && acts.closeDialog())}
    />
  );
}
