import { useRef } from 'react';
import type { Task } from '../../app/roll/schema.ts';
import { Glyph } from '../components/Glyph.tsx';
import { Button } from '../components/parts.tsx';
import { useActs, useWindow } from '../state/context.tsx';
import { taskTitle } from '../view/banners.ts';
import { DialogShell } from './DialogShell.tsx';
import { ReapOutcome } from './parts.tsx';

function Rows({ task }: { readonly task: Task }) {
  return (
    <div className="plan">
      {task.rows.map((row) => {
        const results = task.results.filter((result) => result.id !== null && result.id === row.id);
        return (
          <div className="plan-block" key={`${row.id ?? ''} ${row.label}`}>
            <div className="task-row">
              <span className="what plan-what">
                {row.outcome === null && task.state === 'running' ? (
                  <Glyph name="turn" tone="busy" turning />
                ) : (
                  <Glyph name="dash" tone="quiet" />
                )}
                <b className="clip">{row.label}</b>
              </span>
              {row.outcome === null ? (
                <span className="second">{row.phase}</span>
              ) : (
                <ReapOutcome outcome={row.outcome} />
              )}
            </div>
            {results.map((result) => (
              <div className="task-result" key={result.pid}>
                <span>PID {result.pid}</span>
                <span className="clip" title={result.message}>
                  {result.signals.length === 0 ? result.message : result.signals.join(', ')}
                </span>
                <ReapOutcome outcome={result.outcome} />
                {result.outcome === 'gone' ? null : <p className="plan-note">{result.message}</p>}
              </div>
            ))}
          </div>
        );
      })}
    </div>
  );
}

/** The plan and the results of an act: every process with what was sent to it and what came of it. */
export function TaskDialog({ id }: { readonly id: string }) {
  const acts = useActs();
  const current = useWindow((state) => state.roll?.tasks.find((task) => task.id === id));
  // The roll may forget the task while its results are read.
  const last = useRef(current);
  if (current !== undefined) last.current = current;
  const task = last.current;
  return (
    <DialogShell
      title={task === undefined ? 'Nothing to show' : taskTitle(task)}
      lead={task === undefined ? 'Its results were dismissed; the timeline still has them.' : task.message}
      wide
      onClose={acts.closeDialog}
      footer={
        <>
          <span className="note" />
          <Button data-first onClick={acts.closeDialog}>
            Close
          </Button>
        </>
      }
    >
      {task === undefined ? null : <Rows task={task} />}
    </DialogShell>
  );
}
