import type { ReactNode } from 'react';
import type { HostEntry } from '../../app/roll/schema.ts';
import { hostProblem, isSilent, keyChanged } from '../../app/text/host-words.ts';
import { useActs } from '../state/context.tsx';
import { HostGlyph, useRetryClock } from './HostLine.tsx';
import { Button } from './parts.tsx';
import { StripFrame } from './StripFrame.tsx';

function Acts({ host }: { readonly host: HostEntry }) {
  const acts = useActs();
  const { name, ssh } = host;
  if (ssh === null) return <Button onClick={acts.look}>Try now</Button>;
  if (keyChanged(host)) return <Button onClick={() => acts.showSteps(name)}>Show what changed…</Button>;
  const silent = isSilent(host);
  const trying = silent && host.state !== 'reconnecting';
  return (
    <>
      {silent ? (
        <Button look="link" onClick={() => acts.disconnectHost(name)}>
          Stop trying
        </Button>
      ) : (
        <Button look="link" onClick={() => acts.showSteps(name)}>
          Show steps…
        </Button>
      )}
      <Button disabled={trying} onClick={() => acts.connectHost(name)}>
        Try now
      </Button>
    </>
  );
}

/** A host that does not answer, or could not be connected: since when, what happens next, and what can be done. */
export function HostStrip({ host, more }: { readonly host: HostEntry; readonly more: ReactNode }) {
  const problem = hostProblem(host, useRetryClock(host));
  if (problem === null) return null;
  return (
    <StripFrame tone="fault" shape={<HostGlyph host={host} />} title={problem.title} text={problem.detail}>
      {more}
      <Acts host={host} />
    </StripFrame>
  );
}
