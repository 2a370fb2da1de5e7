import { useEffect, useState } from 'react';
import type { Failure, Plan } from '../../app/roll/commands.ts';
import { isFailure } from '../state/actions.ts';
import { useActs } from '../state/context.tsx';

export type PlanState =
  | { readonly state: 'looking' }
  | { readonly state: 'ready'; readonly plan: Plan }
  | { readonly state: 'failed'; readonly failure: Failure };

/** Looks, and lists what a reap would signal. `id` null asks for everything that is leaked. */
export function usePlan(id: string | null): PlanState {
  const acts = useActs();
  const [plan, setPlan] = useState<PlanState>({ state: 'looking' });
  useEffect(() => {
    let current = true;
    void acts.plan(id === null ? 'leaked' : [id]).then((answer) => {
      if (!current) return;
      setPlan(isFailure(answer) ? { state: 'failed', failure: answer } : { state: 'ready', plan: answer });
    });
    return () => {
      current = false;
    };
  }, [acts, id]);
  return plan;
}
