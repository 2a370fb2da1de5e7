/** Rest: nothing is done any more, an app is there, and everything must come to order by itself. */
import { isAbsence } from './actions/servers.ts';
import { type Chaos, pause, SIGCONT } from './chaos.ts';
import { type Sample, sample } from './growth.ts';
import { disorder } from './quiet.ts';
import type { Watch } from './watch.ts';

const PENDING_MS = 75_000;
const AGAIN_MS = 400;
/** Order must be found this many times in a row. */
const IN_A_ROW = 3;

export interface SettleDeps {
  readonly chaos: Chaos;
  readonly watch: Watch;
  readonly pending: ReadonlySet<Promise<unknown>>;
  /** How long order may take to come, in milliseconds. */
  readonly orderMs: number;
}

/** @returns what app and guard held in the end; null where there was no order */
export async function settle(parts: SettleDeps): Promise<Sample | null> {
  const { chaos, watch, pending, orderMs } = parts;
  const { ledger, harm } = chaos;
  harm.endAll();
  for (const being of ledger.living('app', 'guard', 'cli', 'server', 'child'))
    await chaos.strangers.strike(being, SIGCONT);
  const until = performance.now() + PENDING_MS;
  while (pending.size > 0 && performance.now() < until) await pause(50);
  if (pending.size > 0) watch.violated('something never came to its end', `${pending.size} acts are still under way`);
  harm.endAll();

  if (watch.violations.length > 0) return null;
  let found: string[] = ['nothing was looked at'];
  let row = 0;
  const deadline = performance.now() + orderMs;
  while (row < IN_A_ROW && performance.now() < deadline && watch.violations.length === 0) {
    found = await look(parts);
    row = found.length === 0 ? row + 1 : 0;
    await pause(AGAIN_MS);
  }
  chaos.log({ rest: true, tookMs: Math.round(performance.now() - deadline + orderMs), found });
  if (row < IN_A_ROW) {
    // What else went wrong meanwhile has been told already.
    if (watch.violations.length === 0) for (const sentence of found) watch.violated('no order came', sentence);
    return null;
  }
  chaos.count('rests');
  watch.poll();
  const held = sample(ledger);
  if (held !== null) chaos.log({ sample: held, servers: ledger.living('server').length });
  return held;
}

async function look({ chaos, watch }: SettleDeps): Promise<string[]> {
  const { stage, ledger, harm } = chaos;
  ledger.scan();
  if (ledger.living('app').length === 0) {
    const app = stage.startApp(false);
    await app.ready;
    if (app.exited) return [`an app did not start: ${app.refused ?? 'it ended'}`];
  }
  try {
    const roll = await stage.look();
    ledger.scan();
    return disorder({ roll, ledger, records: watch.records, wounded: harm.wounded });
  } catch (error) {
    if (!isAbsence(error)) throw error;
    return [`nobody could be asked: ${error.message}`];
  }
}
