import type { Plan } from '../../app/roll/commands.ts';
import type { ReapResult, Session, Task } from '../../app/roll/schema.ts';
import { interruptions, liveSessionsOn } from '../../app/text/session-words.ts';
import { withoutHost } from '../../app/text/words.ts';
import { Glyph } from '../components/Glyph.tsx';
import { Bytes } from '../components/parts.tsx';
import { CheckBox, ReapOutcome } from './parts.tsx';

type PlanRow = Plan['rows'][number];
type Step = PlanRow['steps'][number];

interface Props {
  readonly plan: Plan;
  /** Those that its servers carry now. */
  readonly sessions: readonly Session[];
  /** Ids of the rows that are taken. */
  readonly chosen: ReadonlySet<string>;
  readonly onChoose: (id: string, chosen: boolean) => void;
  readonly running: boolean;
  readonly task: Task | null;
  readonly results: readonly ReapResult[];
}

/** Why a row of a plan for many cannot be chosen in it; null when it can. */
export function notInPlan(row: PlanRow): string | null {
  if (row.needsForce) return `${row.refusal ?? 'It is in use.'} Reap it by name.`;
  return row.refusal;
}

function stepResult(row: PlanRow, step: Step, results: readonly ReapResult[]): ReapResult | null {
  return results.find((result) => result.pid === step.pid && (result.id === null || result.id === row.id)) ?? null;
}

/** The name as rows write it: the kind strong, its place light. */
function PlanName({ label }: { readonly label: string }) {
  const space = label.indexOf(' ');
  if (space < 0) return <b>{label}</b>;
  return (
    <b>
      {label.slice(0, space)} <span className="port">{label.slice(space + 1)}</span>
    </b>
  );
}

/** How a row stands: what came of it, else the phase it is in, else nothing. */
function RowState({
  row,
  task,
  results,
}: {
  readonly row: PlanRow;
  readonly task: Task | null;
  readonly results: readonly ReapResult[];
}) {
  const own = results.filter((result) => result.id === row.id);
  const worst = own.find((result) => result.outcome !== 'gone') ?? own[0];
  const progress = task?.rows.find((entry) => entry.id === row.id);
  const outcome = worst?.outcome ?? progress?.outcome ?? null;
  if (outcome !== null) return <ReapOutcome outcome={outcome} />;
  return progress === undefined ? null : <span className="clip">{progress.phase}</span>;
}

function Box({ row, props }: { readonly row: PlanRow; readonly props: Props }) {
  const { task, results, running } = props;
  const started = running || results.length > 0;
  if (!started) {
    return (
      <CheckBox
        label={`Reap ${row.label}`}
        checked={props.chosen.has(row.id)}
        disabled={notInPlan(row) !== null}
        onChange={(checked) => props.onChoose(row.id, checked)}
      />
    );
  }
  if (!props.chosen.has(row.id)) return <Glyph name="dash" tone="quiet" />;
  const outcome =
    results.find((result) => result.id === row.id)?.outcome ??
    task?.rows.find((entry) => entry.id === row.id)?.outcome ??
    null;
  return outcome === null ? <Glyph name="turn" tone="busy" turning /> : <span />;
}

/** The plan, row by row: each server with its processes in the order in which they end; later, what came of each. */
export function PlanRows(props: Props) {
  const { plan, task, results, sessions } = props;
  const numbers = new Map(
    plan.rows
      .flatMap((row) => row.steps.map((step) => [row.id, step.pid] as const))
      .map(([id, pid], index) => [`${id} ${pid}`, index + 1]),
  );
  return (
    <div className="plan">
      {plan.rows.map((row) => {
        const why = notInPlan(row);
        const owner = row.ownerLabel === null ? '' : `, was ${row.ownerLabel}’s`;
        // What was cut off is told before, not after.
        const cut = results.length > 0 ? [] : interruptions(liveSessionsOn(sessions, [row]));
        const messages = results.filter((result) => result.id === row.id && result.outcome !== 'gone');
        return (
          <div key={row.id} className={props.chosen.has(row.id) ? 'plan-block' : 'plan-block left-out'}>
            <div className="plan-server">
              <Box row={row} props={props} />
              <span className="what plan-what">
                <Glyph
                  name={row.standing === 'leftover' ? 'leaked' : row.standing}
                  tone={row.standing === 'leftover' ? 'leaked' : row.standing}
                />
                <PlanName label={withoutHost(row.label)} />
                <span className="clip second">
                  on {row.host}
                  {owner}
                </span>
              </span>
              <span className="num">
                <Bytes value={row.memoryBytes} />
              </span>
              <span className="plan-how">
                <RowState row={row} task={task} results={results} />
              </span>
            </div>
            {why === null ? null : <p className="plan-note">{why}</p>}
            {cut.map((line) => (
              <p className="plan-note" key={line}>
                {line}.
              </p>
            ))}
            {messages.map((result) => (
              <p className="plan-note" key={`${result.pid} ${result.message}`}>
                {result.message}
              </p>
            ))}
            {row.steps.map((step) => {
              const result = stepResult(row, step, results);
              return (
                <div key={step.pid} className="plan-process">
                  <span className="plan-number">{numbers.get(`${row.id} ${step.pid}`)}</span>
                  <span className="clip" title={step.command}>
                    {step.name}{' '}
                    <span className="faint">
                      {step.command.slice(step.command.indexOf(' ') + 1 || step.command.length)}
                    </span>
                  </span>
                  <span className="plan-pid">{step.pid}</span>
                  <span className="num">
                    <Bytes value={step.memoryBytes} />
                  </span>
                  <span className="plan-how">
                    {result === null ? step.how : <ReapOutcome outcome={result.outcome} />}
                  </span>
                </div>
              );
            })}
          </div>
        );
      })}
    </div>
  );
}
