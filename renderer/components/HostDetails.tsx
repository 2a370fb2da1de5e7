import { useState } from 'react';
import type { HostEntry, SshEntry } from '../../app/roll/schema.ts';
import { hostStateWords, hostStatus, isLost, nextAttempt, sharedSentence } from '../../app/text/host-words.ts';
import { clockTime, formatBytes, formatCpu, plural } from '../../app/text/words.ts';
import { StepList } from '../dialogs/StepList.tsx';
import { useActs } from '../state/context.tsx';
import { hostActs } from '../view/hostActs.ts';
import { DetailHead, Facts, Section } from './DetailParts.tsx';
import { HostGlyph, useRetryClock } from './HostLine.tsx';
import { Button } from './parts.tsx';

/** What the machine itself says: its name, load and memory. */
export function MachineFacts({ host }: { readonly host: HostEntry }) {
  return (
    <>
      <Facts
        facts={[
          ['Machine', host.hostname === '' ? '–' : host.hostname],
          ['CPU', host.cpuPercent === null ? '–' : `${formatCpu(host.cpuPercent)} %`],
          [
            'Memory',
            host.memoryUsedBytes === null || host.memoryTotalBytes === null
              ? '–'
              : `${formatBytes(host.memoryUsedBytes).text} of ${formatBytes(host.memoryTotalBytes).text}`,
          ],
          ['Load', host.load1 === null ? '–' : host.load1.toFixed(2)],
          ['Looked at', host.lookedAt === null ? '–' : plural(host.counted, 'process', 'processes')],
        ]}
      />
      {host.detail === null ? null : <p className="note">{host.detail}</p>}
      {host.partial === null ? null : <p className="note">{host.partial}</p>}
    </>
  );
}

/** What ssh said, behind a link. */
export function RawOutput({ output }: { readonly output: string | null }) {
  const [open, setOpen] = useState(false);
  if (output === null || output.trim() === '') return null;
  return (
    <>
      <Button look="link" aria-expanded={open} onClick={() => setOpen(!open)}>
        {open ? 'Hide ssh output' : 'Show ssh output'}
      </Button>
      {open ? <pre className="log wrap">{output.trimEnd()}</pre> : null}
    </>
  );
}

/** The connection to a host that is not connected now: its last answer, why it was lost, what comes next. */
export function HostConnection({ host, ssh }: { readonly host: HostEntry; readonly ssh: SshEntry }) {
  const now = useRetryClock(host);
  const lost = isLost(host);
  const { failure } = ssh;
  return (
    <Section title="Connection" figure={lost ? `attempt ${ssh.attempt}` : hostStateWords(host.state)}>
      <Facts
        facts={[
          ['Last answer', host.lookedAt === null ? 'none yet' : clockTime(host.lookedAt, now)],
          ...(lost ? [['Next', nextAttempt(ssh, now)] as const] : []),
        ]}
      />
      {failure === null ? null : (
        <>
          <p className="note">
            {failure.message} {failure.remedy}
          </p>
          <RawOutput output={failure.output} />
        </>
      )}
    </Section>
  );
}

/** Everything about one host: its state and what can be done, its steps, how it is reached, its machine. */
export function HostDetails({ host }: { readonly host: HostEntry }) {
  const acts = useActs();
  const now = useRetryClock(host);
  const { ssh } = host;
  const shared = sharedSentence(host);
  return (
    <>
      <DetailHead
        shape={<HostGlyph host={host} />}
        name={host.name}
        place={<span className="clip">{hostStatus(host, now)}</span>}
        label={host.name}
        acts={hostActs(host)}
        onAct={(act) => acts.openHost(host, act)}
      />
      {shared === null ? null : (
        <section className="detail-section">
          <p className="note">{shared}</p>
        </section>
      )}
      {ssh !== null && host.state !== 'connected' ? <HostConnection host={host} ssh={ssh} /> : null}
      {ssh !== null && ssh.steps.length > 0 && host.state !== 'connected' ? (
        <Section title="Steps">
          <StepList ssh={ssh} withFailure={false} />
        </Section>
      ) : null}
      {ssh === null ? null : (
        <Section title="SSH">
          <Facts
            facts={[
              ['Alias', ssh.alias],
              ['Leads to', ssh.target ?? '–'],
              ['Connects', ssh.connect === 'at-start' ? 'when Rollcall starts' : 'when asked'],
              ...(ssh.saved ? [] : [['On the list', 'until it is disconnected'] as const]),
            ]}
          />
        </Section>
      )}
      {host.lookedAt === null || shared !== null ? null : (
        <Section title="Machine">
          <MachineFacts host={host} />
        </Section>
      )}
    </>
  );
}
