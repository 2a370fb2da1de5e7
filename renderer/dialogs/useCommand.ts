import { useState } from 'react';
import type { Command, CommandResult } from '../../app/roll/commands.ts';
import { useActs } from '../state/context.tsx';

export interface GivenCommand {
  readonly running: boolean;
  readonly result: CommandResult | null;
  give(command: Command): Promise<CommandResult>;
}

/** One command of a dialog and its answer. */
export function useCommand(): GivenCommand {
  const acts = useActs();
  const [running, setRunning] = useState(false);
  const [result, setResult] = useState<CommandResult | null>(null);
  return {
    running,
    result,
    async give(command) {
      setRunning(true);
      setResult(null);
      const answer = await acts.run(command);
      setResult(answer);
      setRunning(false);
      return answer;
    },
  };
}
