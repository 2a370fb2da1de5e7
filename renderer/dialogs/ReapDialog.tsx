import type { Plan } from '../../app/roll/commands.ts';
import type { Session } from '../../app/roll/schema.ts';
import { sessionConsequences } from '../../app/text/session-words.ts';
import { formatBytes, plural, withoutHost } from '../../app/text/words.ts';
import { Bytes } from '../components/parts.tsx';
import { useActs } from '../state/context.tsx';
import { useServerSessions } from '../state/useServerSessions.ts';
import { ConfirmDialog } from './ConfirmDialog.tsx';
import { actLead, ReapOutcome } from './parts.tsx';
import { allGone, notGone } from './results.ts';
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
  const row = looked.state === 'ready' ? (looked.plan.rows.find((entry) => entry.id === id) ?? null) : null;
  const mayReap = row !== null && (row.refusal === null || row.needsForce);
  const reap = async (force: boolean): Promise<void> => {
    const answer = await run.start(
      { command: 'reap', targets: [id], confirmed: true, force },
      { act: 'reap', ids: [id] },
    );
    if (answer.ok && allGone(answer.results)) acts.closeDialog();
  };
  return (
    <ConfirmDialog
      title={{ idle: `Reap ${label}?`, running: `Reaping ${label}`, ended: `What came of ${label}` }[run.phase]}
      lead={row === null ? undefined : actLead(run, lead(row, why))}
      alert
      look="danger"
      act={mayReap ? `Reap ${withoutHost(label)}` : null}
      phase={run.phase}
      consequences={row === null ? [] : consequences(row, carried.sessions, carried.hooks)}
      consent={row?.needsForce === true ? `Reap ${label} anyway` : null}
      failures={[...(looked.state === 'failed' ? [looked.failure] : []), ...run.failures]}
      notes={notGone(run.result)}
      onAct={(consented) => void reap(consented)}
    >
      {looked.state === 'looking' ? <p className="note">Looking at every process that would end…</p> : null}
      {looked.state === 'ready' && row === null ? (
        <p className="note">It is gone already. Nothing is left to reap.</p>
      ) : null}
      {row === null ? null : <Steps row={row} results={run.result} />}
    </ConfirmDialog>
  );
}
