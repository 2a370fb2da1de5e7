import { useState } from 'react';
import type { HostEntry } from '../../app/roll/schema.ts';
import { commandOf, failureTitle } from '../../app/text/host-words.ts';
import { Button } from '../components/parts.tsx';
import { useActs } from '../state/context.tsx';
import { DialogShell } from './DialogShell.tsx';

/** A loud refusal: the key is not the one that was known. Nothing here accepts it; only known_hosts can agree. */
export function KeyChangedDialog({ host }: { readonly host: HostEntry }) {
  const acts = useActs();
  const [raw, setRaw] = useState(false);
  const failure = host.ssh?.failure ?? null;
  if (failure === null) return null;
  const command = commandOf(failure.remedy);
  const revoked = failure.code === 'revoked-host-key';
  return (
    <DialogShell
      title={failureTitle(host)}
      lead={
        revoked
          ? 'Whoever runs the host has declared this key void. Rollcall does not connect with it.'
          : 'Either the host was set up anew, or somebody answers in its place. Rollcall does not connect until known_hosts agrees.'
      }
      alert
      onClose={acts.closeDialog}
      footer={
        <>
          <span className="note">
            {failure.output === null ? null : (
              <Button look="link" aria-expanded={raw} onClick={() => setRaw(!raw)}>
                {raw ? 'Hide ssh output' : 'Show ssh output'}
              </Button>
            )}
          </span>
          {command === null ? null : <Button onClick={() => acts.copy(command)}>Copy command</Button>}
          <Button data-first onClick={acts.closeDialog}>
            Close
          </Button>
        </>
      }
    >
      <p className="refusal">{failure.message}</p>
      <p className="note">{failure.remedy}</p>
      {raw && failure.output !== null ? <pre className="log wrap steps-output">{failure.output.trimEnd()}</pre> : null}
    </DialogShell>
  );
}
