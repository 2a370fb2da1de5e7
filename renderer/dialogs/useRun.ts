import { useRef, useState } from 'react';
import type { Command, CommandResult } from '../../app/roll/commands.ts';
import type { Task } from '../../app/roll/schema.ts';
import { useActs, useRollcall, useWindow } from '../state/context.tsx';
import { taskOf } from '../view/banners.ts';

export interface Run {
  readonly state: 'idle' | 'running' | 'ended';
  readonly result: CommandResult | null;
  /** Progress of the act in the roll, where it has begun. */
  readonly task: Task | null;
  start(command: Command, act: Task['act'], ids: readonly string[]): Promise<CommandResult>;
}

/** One act given by a dialog: its progress in the roll while it runs, and its answer. */
export function useRun(): Run {
  const { store } = useRollcall();
  const acts = useActs();
  const tasks = useWindow((state) => state.roll?.tasks);
  const [result, setResult] = useState<CommandResult | null>(null);
  const [running, setRunning] = useState(false);
  const asked = useRef<{ act: Task['act']; ids: readonly string[]; before: ReadonlySet<string> } | null>(null);
  const { current } = asked;
  return {
    state: running ? 'running' : result === null ? 'idle' : 'ended',
    result,
    task: current === null || tasks === undefined ? null : taskOf(tasks, current.act, current.before, current.ids),
    async start(command, act, ids) {
      const before = new Set((store.getState().roll?.tasks ?? []).map((task) => task.id));
      asked.current = { act, ids, before };
      setRunning(true);
      setResult(null);
      const answer = await acts.run(command);
      setResult(answer);
      setRunning(false);
      return answer;
    },
  };
}
