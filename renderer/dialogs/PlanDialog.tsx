import { type ReactNode, useState } from 'react';
import type { Plan } from '../../app/roll/commands.ts';
import type { ReapResult } from '../../app/roll/schema.ts';
import { isAtWork } from '../../app/text/session-words.ts';
import { formatBytes, leakedThings, plural } from '../../app/text/words.ts';
import { Button } from '../components/parts.tsx';
import { useActs } from '../state/context.tsx';
import { useServerSessions } from '../state/useServerSessions.ts';
import { DialogShell } from './DialogShell.tsx';
import { notInPlan, PlanRows } from './PlanRows.tsx';
import { FailureNote } from './parts.tsx';
import { allGone } from './results.ts';
import { usePlan } from './usePlan.ts';
import { type Run, useRun } from './useRun.ts';

export interface PlanSums {
  readonly servers: number;
  readonly leftovers: number;
  readonly freesBytes: number;
  readonly processes: number;
  readonly hosts: number;
}

/** What the chosen rows of a plan add up to. */
export function planSums(plan: Plan, chosen: ReadonlySet<string>): PlanSums {
  const rows = plan.rows.filter((row) => chosen.has(row.id));
  const leftovers = rows.filter((row) => row.standing === 'leftover').length;
  return {
    servers: rows.length - leftovers,
    leftovers,
    freesBytes: rows.reduce((sum, row) => sum + row.memoryBytes, 0),
    processes: rows.reduce((sum, row) => sum + row.steps.length, 0),
    hosts: new Set(rows.map((row) => row.host)).size,
  };
}

interface SumsProps {
  readonly sums: PlanSums;
  readonly busy: number;
  /** Sessions that end with what is chosen, none of them at work. */
  readonly calm: number;
  /** What those are called: one that has an error is not idle. */
  readonly calmNoun: string;
}

function Sums({ sums, busy, calm, calmNoun }: SumsProps) {
  const cells: [string, string][] = [
    [formatBytes(sums.freesBytes).text, 'freed'],
    [plural(sums.processes, 'process', 'processes'), `on ${plural(sums.hosts, 'host')}`],
    ...(calm === 0
      ? []
      : [[plural(calm, calmNoun), `${calm === 1 ? 'ends' : 'end'}, history is kept`] as [string, string]]),
    [`${busy} busy`, busy === 0 ? 'nothing interrupted' : 'interrupted'],
  ];
  return (
    <dl className="sums">
      {cells.map(([figure, word]) => (
        <div key={word}>
          <dt>{figure}</dt>
          <dd>{word}</dd>
        </div>
      ))}
    </dl>
  );
}

function lead(state: Run['phase'], results: readonly ReapResult[], message: string | null): ReactNode {
  if (state === 'idle') {
    return 'Processes end in this order. Each is identified again before every signal; one that is not the same any more is skipped.';
  }
  if (state === 'running') return message ?? 'Each process is identified again before every signal.';
  const gone = results.filter((result) => result.outcome === 'gone');
  const freed = results.reduce((sum, result) => sum + result.freedBytes, 0);
  return `${gone.length} of ${plural(results.length, 'result')} gone, ${formatBytes(freed).text} freed.`;
}

/** The plan of everything leaked: what ends, in which order, how much that frees. Progress replaces it in place. */
export function PlanDialog() {
  const acts = useActs();
  const looked = usePlan(null);
  const run = useRun();
  const [left, setLeft] = useState<ReadonlySet<string>>(new Set());
  const plan = looked.state === 'ready' ? looked.plan : null;
  const chosen = new Set(
    (plan?.rows ?? []).filter((row) => notInPlan(row) === null && !left.has(row.id)).map((row) => row.id),
  );
  const sums = plan === null ? null : planSums(plan, chosen);
  const carried = useServerSessions([...chosen].map((id) => ({ id })));
  const atWork = carried.sessions.filter(isAtWork).length;
  const calm = carried.sessions.filter((session) => !isAtWork(session));
  const things = sums === null ? '' : leakedThings(sums, '');
  const ended = run.task?.rows.filter((row) => row.outcome !== null).length ?? 0;
  const results = run.result?.results ?? run.task?.results ?? [];

  const choose = (id: string, take: boolean): void => {
    const next = new Set(left);
    if (take) next.delete(id);
    else next.add(id);
    setLeft(next);
  };
  const reap = async (): Promise<void> => {
    const ids = [...chosen];
    const answer = await run.start(
      { command: 'reap', targets: ids, confirmed: true, force: false },
      { act: 'reap', ids },
    );
    if (answer.ok && allGone(answer.results)) acts.closeDialog();
  };

  const title =
    run.phase === 'running'
      ? `Reaping ${things}`
      : run.phase === 'ended'
        ? 'What came of it'
        : plan === null
          ? 'Reap what is leaked?'
          : plan.rows.length === 0
            ? 'Nothing is leaked'
            : `Reap ${sums === null ? '' : leakedThings(sums, 'leaked') || 'nothing'}?`;
  return (
    <DialogShell
      title={title}
      lead={plan === null || plan.rows.length === 0 ? undefined : lead(run.phase, results, run.task?.message || null)}
      wide
      alert
      onClose={acts.closeDialog}
      top={
        plan === null || sums === null || plan.rows.length === 0 ? null : (
          <>
            <Sums
              sums={sums}
              busy={Math.max(plan.busy, atWork)}
              calm={calm.length}
              calmNoun={calm.every(({ state }) => state === 'idle') ? 'idle session' : 'session'}
            />
            {run.phase === 'running' ? (
              <progress className="progress" aria-label="Servers ended" value={ended} max={chosen.size} />
            ) : null}
          </>
        )
      }
      footer={
        <>
          <span className="note">
            {run.phase === 'idle' && chosen.size > 0 ? 'KILL follows if TERM is ignored.' : ''}
          </span>
          <Button data-first onClick={acts.closeDialog}>
            {run.phase === 'idle' ? 'Cancel' : 'Close'}
          </Button>
          {run.phase === 'idle' && plan !== null && plan.rows.length > 0 ? (
            <Button look="danger" disabled={chosen.size === 0} onClick={() => void reap()}>
              Reap {things}
            </Button>
          ) : null}
        </>
      }
    >
      {looked.state === 'looking' ? <p className="note">Looking at every process that would end…</p> : null}
      {looked.state === 'failed' ? <FailureNote failure={looked.failure} /> : null}
      {plan?.rows.length === 0 ? <p className="note">The last look found no leaked server and no leftover.</p> : null}
      {run.result?.ok === false ? <FailureNote failure={run.result.failure} /> : null}
      {plan === null ? null : (
        <PlanRows
          plan={plan}
          sessions={carried.sessions}
          chosen={chosen}
          onChoose={choose}
          running={run.phase === 'running'}
          task={run.task}
          results={results}
        />
      )}
    </DialogShell>
  );
}
