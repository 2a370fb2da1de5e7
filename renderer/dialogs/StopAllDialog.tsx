import { useState } from 'react';
import type { CommandResult } from '../../app/roll/commands.ts';
import type { Server } from '../../app/roll/schema.ts';
import { sessionConsequences } from '../../app/text/session-words.ts';
import { formatBytes, plural, rowName, totalMemory } from '../../app/text/words.ts';
import { Glyph } from '../components/Glyph.tsx';
import { Button, Bytes } from '../components/parts.tsx';
import { useActs } from '../state/context.tsx';
import { useServerSessions } from '../state/useServerSessions.ts';
import { DialogShell } from './DialogShell.tsx';
import { CheckBox, Consequences, FailureNote } from './parts.tsx';

interface Done {
  readonly server: Server;
  readonly result: CommandResult | null;
}

function State({ done }: { readonly done: Done | undefined }) {
  if (done === undefined) return null;
  if (done.result === null) return <Glyph name="turn" tone="busy" turning />;
  return <Glyph name={done.result.ok ? 'check' : 'fault'} tone={done.result.ok ? 'supervised' : 'suspect'} />;
}

/** Stops every server that Rollcall supervises on this machine, one after the other, after listing them. */
export function StopAllDialog({ servers }: { readonly servers: readonly Server[] }) {
  const acts = useActs();
  const [done, setDone] = useState<readonly Done[] | null>(null);
  const [named, setNamed] = useState(false);
  const carried = useServerSessions(servers);
  const busy = servers.filter((server) => server.stop.allowed === 'force');
  const things = plural(servers.length, 'server');

  const stop = async (): Promise<void> => {
    setDone([]);
    const ended: Done[] = [];
    for (const server of servers) {
      setDone([...ended, { server, result: null }]);
      const result = await acts.run({ command: 'stop', server: server.id, force: server.stop.allowed === 'force' });
      ended.push({ server, result });
      setDone([...ended]);
    }
    if (ended.every((entry) => entry.result?.ok === true)) acts.closeDialog();
  };
  const failures = done?.flatMap((entry) => (entry.result?.ok === false ? [entry.result.failure] : [])) ?? [];
  return (
    <DialogShell
      title={servers.length === 0 ? 'Nothing to stop' : `Stop ${things}?`}
      lead={
        servers.length === 0
          ? 'Rollcall supervises no server here.'
          : `${formatBytes(totalMemory(servers)).text} freed, ${busy.length} busy.`
      }
      alert
      onClose={acts.closeDialog}
      footer={
        <>
          <span className="note" />
          <Button data-first onClick={acts.closeDialog}>
            {done === null ? 'Cancel' : 'Close'}
          </Button>
          {done === null && servers.length > 0 ? (
            <Button look="danger" disabled={busy.length > 0 && !named} onClick={() => void stop()}>
              Stop {things}
            </Button>
          ) : null}
        </>
      }
    >
      <ul className="stop-list">
        {servers.map((server) => (
          <li key={server.id}>
            <Glyph name="supervised" tone="supervised" />
            <span className="clip">
              {rowName(server)}
              {server.stop.allowed === 'force' ? <span className="faint">, busy</span> : null}
            </span>
            <span className="num">
              <Bytes value={server.memoryBytes} />
            </span>
            <State done={done?.find((entry) => entry.server.id === server.id)} />
          </li>
        ))}
      </ul>
      {done === null ? <Consequences lines={sessionConsequences(carried.sessions, carried.hooks)} /> : null}
      {busy.length > 0 && done === null ? (
        <CheckBox checked={named} onChange={setNamed} label="Interrupt what is busy">
          <span>Interrupt {plural(busy.length, 'busy server')}</span>
        </CheckBox>
      ) : null}
      {failures.map((failure) => (
        <FailureNote key={failure.message} failure={failure} />
      ))}
    </DialogShell>
  );
}
