import { useState } from 'react';
import type { Plan } from '../../app/roll/commands.ts';
import type { Session } from '../../app/roll/schema.ts';
import { sessionConsequences } from '../../app/text/session-words.ts';
import { formatBytes, plural, withoutHost } from '../../app/text/words.ts';
import { Button, Bytes } from '../components/parts.tsx';
import { useActs } from '../state/context.tsx';
import { useServerSessions } from '../state/useServerSessions.ts';
import { DialogShell } from './DialogShell.tsx';
import { allGone } from './PlanDialog.tsx';
import { actLead, CheckBox, Consequences, FailureNote, ReapOutcome } from './parts.tsx';
import { usePlan } from './usePlan.ts';
import { useRun } from './useRun.ts';

type PlanRow = Plan['rows'][number];

/**
 * Every consequence in figures.
 *
 * @param sessions those that it carries now
 * @param hooks how many session-end hooks the configuration has
 */
export function consequences(row: PlanRow, sessions: readonly Session[], hooks: number): readonly string[] {
  const one = row.steps.length === 1;
  return [
    ...sessionConsequences(sessions, hooks),
    ...row.consequences,
    `${plural(row.steps.length, 'process', 'processes')} ${one ? 'ends' : 'end'}, ${formatBytes(row.memoryBytes).text} freed`,
  ];
}

/** The sentence under the question: what stands against it. */
function lead(row: PlanRow, why: string | null): string {
  return row.refusal ?? why ?? 'Each process is identified again before every signal.';
}

interface Props {
  readonly id: string;
  readonly label: string;
  readonly why: string | null;
}

function Steps({ row, results }: { readonly row: PlanRow; readonly results: ReturnType<typeof useRun>['result'] }) {
  return (
    <div className="plan plan-narrow">
      {row.steps.map((step) => {
        const result = results?.results.find((entry) => entry.pid === step.pid);
        return (
          <div className="plan-process" key={step.pid}>
            <span className="clip" title={step.command}>
              {step.name} <span className="faint">{step.how}</span>
            </span>
            <span className="plan-pid">{step.pid}</span>
            <span className="num">
              {result === undefined ? <Bytes value={step.memoryBytes} /> : <ReapOutcome outcome={result.outcome} />}
            </span>
          </div>
        );
      })}
    </div>
  );
}

/** Reaps one server or leftover by name, with the consequences; what is owned, a service or busy must be named twice. */
export function ReapDialog({ id, label, why }: Props) {
  const acts = useActs();
  const looked = usePlan(id);
  const run = useRun();
  const carried = useServerSessions([{ id }]);
  const [named, setNamed] = useState(false);
  const row = looked.state === 'ready' ? (looked.plan.rows.find((entry) => entry.id === id) ?? null) : null;
  const forbidden = row !== null && row.refusal !== null && !row.needsForce;
  const needsForce = row?.needsForce ?? false;
  const reap = async (): Promise<void> => {
    const answer = await run.start(
      { command: 'reap', targets: [id], confirmed: true, force: needsForce && named },
      'reap',
      [id],
    );
    if (answer.ok && allGone(answer.results)) acts.closeDialog();
  };
  const bad = run.result?.results.filter((result) => result.outcome !== 'gone') ?? [];
  return (
    <DialogShell
      title={{ idle: `Reap ${label}?`, running: `Reaping ${label}`, ended: `What came of ${label}` }[run.state]}
      lead={row === null ? undefined : actLead(run, lead(row, why))}
      alert
      onClose={acts.closeDialog}
      footer={
        <>
          <span className="note" />
          <Button data-first onClick={acts.closeDialog}>
            {run.state === 'idle' ? 'Cancel' : 'Close'}
          </Button>
          {run.state === 'idle' && row !== null && !forbidden ? (
            <Button look="danger" disabled={needsForce && !named} onClick={() => void reap()}>
              Reap {withoutHost(label)}
            </Button>
          ) : null}
        </>
      }
    >
      {looked.state === 'looking' ? <p className="note">Looking at every process that would end…</p> : null}
      {looked.state === 'failed' ? <FailureNote failure={looked.failure} /> : null}
      {looked.state === 'ready' && row === null ? (
        <p className="note">It is gone already. Nothing is left to reap.</p>
      ) : null}
      {row === null ? null : (
        <>
          <Consequences lines={consequences(row, carried.sessions, carried.hooks)} />
          <Steps row={row} results={run.result} />
          {needsForce && run.state === 'idle' ? (
            <CheckBox checked={named} onChange={setNamed} label={`Reap ${label} all the same`}>
              <span>Reap {label} all the same</span>
            </CheckBox>
          ) : null}
        </>
      )}
      {run.result?.ok === false ? <FailureNote failure={run.result.failure} /> : null}
      {bad.map((result) => (
        <p className="plan-note" key={`${result.pid} ${result.message}`}>
          {result.message}
        </p>
      ))}
    </DialogShell>
  );
}
