import type { Io } from './io.ts';

export type Answer = 'yes' | 'no' | 'cannot-ask';

/** Asks unless the answer was given beforehand by `--yes`; off a terminal there is nobody to ask. */
export async function confirm(io: Io, given: boolean, question: string): Promise<Answer> {
  if (given) return 'yes';
  if (!io.canAsk) return 'cannot-ask';
  return (await io.ask(question)) ? 'yes' : 'no';
}
