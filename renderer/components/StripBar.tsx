import { type ReactNode, useState } from 'react';
import type { Alert, Roll, Task } from '../../app/roll/schema.ts';
import { leakedTotals, reapLabel, serverLabel } from '../../app/text/words.ts';
import { useActs, useRollcall, useWindow } from '../state/context.tsx';
import { banners, hasKey, type Strip, taskTitle } from '../view/banners.ts';
import { EndedStrip } from './EndedStrip.tsx';
import { Glyph } from './Glyph.tsx';
import { HostStrip } from './HostStrip.tsx';
import { Button } from './parts.tsx';
import { ALERT_LOOKS, StripFrame } from './StripFrame.tsx';

function AlertActs({ alert, roll }: { readonly alert: Alert; readonly roll: Roll }) {
  const acts = useActs();
  if (alert.act === 'reap-leaked') {
    const totals = leakedTotals(roll);
    if (totals.ids.length === 0) return null;
    const asks = roll.settings.reapAsk === 'always';
    return (
      <>
        {asks ? null : (
          <Button look="link" onClick={() => acts.ask({ type: 'plan' })}>
            Review…
          </Button>
        )}
        <Button look="primary" onClick={acts.reapLeaked}>
          {asks ? `${reapLabel(totals)}…` : reapLabel(totals)}
        </Button>
      </>
    );
  }
  if (alert.act === 'start-guard') {
    return (
      <Button look="primary" onClick={acts.startGuard}>
        Start the guard
      </Button>
    );
  }
  if (alert.act === 'retry-hooks') {
    return (
      <>
        <Button look="link" onClick={acts.forgetHooks}>
          Give up
        </Button>
        <Button onClick={acts.retryHooks}>Run again</Button>
      </>
    );
  }
  if (alert.act === 'show-records') return <Button onClick={() => acts.show('records')}>Show records</Button>;
  const server = roll.servers.find((row) => alert.servers.includes(row.id));
  if (server === undefined) return null;
  const show = (): void => acts.showServer(server.id);
  if (alert.act === 'keep-awake') {
    return (
      <>
        <Button look="link" onClick={show}>
          Show {serverLabel(server)}
        </Button>
        <Button onClick={() => acts.keepAwake(server.id)}>Keep running</Button>
      </>
    );
  }
  return alert.act === 'show-server' ? <Button onClick={show}>Show {serverLabel(server)}</Button> : null;
}

function TaskFrame({ task, children }: { readonly task: Task; readonly children: ReactNode }) {
  const acts = useActs();
  const look = { running: 'turn', done: 'check', failed: 'fault' } as const;
  const tone = { running: 'busy', done: 'supervised', failed: 'suspect' } as const;
  return (
    <StripFrame
      tone={task.state === 'failed' ? 'fault' : 'calm'}
      shape={<Glyph name={look[task.state]} tone={tone[task.state]} turning={task.state === 'running'} />}
      title={taskTitle(task)}
      text={task.message}
    >
      {children}
      <Button look="link" onClick={() => acts.ask({ type: 'task', id: task.id })}>
        {task.state === 'running' ? 'Show progress' : 'Show results'}
      </Button>
      {task.state === 'running' ? null : <Button onClick={() => acts.dismiss(task.id)}>Dismiss</Button>}
    </StripFrame>
  );
}

function OneStrip({ strip, roll, more }: { readonly strip: Strip; readonly roll: Roll; readonly more: ReactNode }) {
  if (strip.type === 'task') return <TaskFrame task={strip.task}>{more}</TaskFrame>;
  if (strip.type === 'ended') return <EndedStrip ended={strip.ended} level={strip.level} more={more} />;
  if (strip.type === 'host') return <HostStrip host={strip.host} more={more} />;
  const look = ALERT_LOOKS[strip.alert.level];
  return (
    <StripFrame
      tone={look.tone}
      shape={<Glyph name={look.shape} tone={look.colour} />}
      title={strip.alert.title}
      text={strip.alert.detail}
    >
      {more}
      <AlertActs alert={strip.alert} roll={roll} />
    </StripFrame>
  );
}

/** The one strip over list and details: the worst that has a cause. The others are a link at its end. */
export function StripBar({ roll }: { readonly roll: Roll }) {
  const { store } = useRollcall();
  const host = useWindow((state) => state.host);
  const turned = useWindow((state) => state.strip);
  const all = banners(roll, host);
  const index = Math.max(
    0,
    all.findIndex((strip) => turned !== null && hasKey(strip, turned)),
  );
  const strip = all[index];
  if (strip === undefined) return null;
  const others = all.length - 1;
  const more =
    others === 0 ? null : (
      <Button look="link" onClick={() => store.setState({ strip: all[(index + 1) % all.length]?.key ?? null })}>
        {others} more
      </Button>
    );
  return <OneStrip strip={strip} roll={roll} more={more} />;
}

/** What was asked for and did not happen: one sentence of what, one of what to do; the raw text behind a link. */
export function ProblemBar() {
  const acts = useActs();
  const problem = useWindow((state) => state.problem);
  const [open, setOpen] = useState(false);
  if (problem === null) return null;
  return (
    <section className="strip strip-fault problem" role="alert">
      <Glyph name="fault" tone="suspect" />
      <div className="strip-text">
        <p className="strip-title">{problem.message}</p>
        {problem.remedy === '' ? null : <p className="strip-detail">{problem.remedy}</p>}
        {open && problem.detail !== null ? <pre className="log">{problem.detail}</pre> : null}
      </div>
      {problem.detail === null ? null : (
        <Button look="link" onClick={() => setOpen(!open)}>
          {open ? 'Hide details' : 'Show details'}
        </Button>
      )}
      <Button onClick={() => acts.showError(null)}>Dismiss</Button>
    </section>
  );
}
