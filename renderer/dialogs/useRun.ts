import { useRef, useState } from 'react';
import type { Command, CommandResult, Failure } from '../../app/roll/commands.ts';
import type { Task } from '../../app/roll/schema.ts';
import { useActs, useRollcall, useWindow } from '../state/context.tsx';
import { taskOf } from '../view/banners.ts';

export interface Run {
  readonly phase: 'idle' | 'running' | 'ended';
  readonly result: CommandResult | null;
  readonly failures: readonly Failure[];
  /** Progress of the act in the roll, where it is followed and has begun. */
  readonly task: Task | null;
  /** @param follows the act whose progress in the roll is shown, and the rows it is about */
  start(
    command: Command,
    follows?: { readonly act: Task['act']; readonly ids: readonly string[] },
  ): Promise<CommandResult>;
}

/** One command given by a dialog: its progress in the roll while it runs, and its answer. */
export function useRun(): Run {
  const { store } = useRollcall();
  const acts = useActs();
  const tasks = useWindow((state) => state.roll?.tasks);
  const [result, setResult] = useState<CommandResult | null>(null);
  const [running, setRunning] = useState(false);
  const asked = useRef<{ act: Task['act']; ids: readonly string[]; before: ReadonlySet<string> } | null>(null);
  const { current } = asked;
  return {
    phase: running ? 'running' : result === null ? 'idle' : 'ended',
    result,
    failures: result?.ok === false ? [result.failure] : [],
    task: current === null || tasks === undefined ? null : taskOf(tasks, current.act, current.before, current.ids),
    async start(command, follows) {
      const before = new Set((store.getState().roll?.tasks ?? []).map((task) => task.id));
      asked.current = follows === undefined ? null : { ...follows, before };
      setRunning(true);
      setResult(null);
      const answer = await acts.run(command);
      setResult(answer);
      setRunning(false);
      return answer;
    },
  };
}
