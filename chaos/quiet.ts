/** What must hold once nothing happens any more and an app has had the time to put everything in order. */
import type { Roll } from '../app/roll/schema.ts';
import { type Being, type ChaosLedger, now } from './ledger.ts';
import { lives } from './proc.ts';
import type { RecordWatch } from './record-watch.ts';

export interface QuietInput {
  readonly roll: Roll;
  readonly ledger: ChaosLedger;
  readonly records: RecordWatch;
  /** Nonces whose records this run has harmed itself. */
  readonly wounded: ReadonlySet<string>;
}

/** Seconds. */
const YOUNG_S = 3;

const inRow = (roll: Roll, pid: number): boolean =>
  roll.servers.some(({ pids, processes }) => pids.includes(pid) || processes.some((row) => row.pid === pid)) ||
  roll.leftovers.some((leftover) => leftover.pid === pid || leftover.processes.some((row) => row.pid === pid));

/** What is not in order; each a sentence. Empty is good. */
export function disorder(input: QuietInput): string[] {
  const { roll, ledger, records } = input;
  const found: string[] = [];
  const [host] = roll.hosts;
  if (host?.state !== 'connected') found.push(`the host is ${host?.state}: ${host?.detail}`);
  for (const task of roll.tasks)
    if (task.state === 'running') found.push(`still at work: ${task.title}, ${task.message}`);
  for (const being of ledger.living('server')) found.push(...orphaned(being, roll));
  for (const being of ledger.living('child')) {
    // The look came before it.
    if (now() - being.from < YOUNG_S) continue;
    if (!inRow(roll, being.pid) && being.markOf !== null) {
      found.push(`child ${being.pid} of ${being.markOf} (${being.label}) is in no row`);
    }
  }
  for (const being of ledger.living('leaked')) {
    if (!inRow(roll, being.pid)) found.push(`the leaked server ${being.pid} is in no row`);
  }
  for (const { nonce, record } of records.read()) {
    if (record === null) {
      if (!roll.records.some(({ path }) => path.includes(nonce)))
        found.push(`the file of ${nonce} is no record, and is not shown`);
      continue;
    }
    const ref = record.server ?? record.spawned;
    const pid = ref?.identity.pid ?? 0;
    const alive = ref !== null && lives(pid, ref.identity.startTime.replace(/^linux:/u, ''));
    const shown = roll.servers.some(({ supervised }) => supervised?.recordPath.includes(nonce) === true);
    if (alive && !shown) found.push(`the record ${nonce} names the living PID ${pid}, and no row is supervised by it`);
    const listed = roll.records.some(({ path }) => path.includes(nonce));
    const ended = roll.alerts.some((alert) => 'ended' in alert && alert.ended === nonce);
    if (!alive && !listed && !ended)
      found.push(`the record ${nonce} names nobody who lives (PID ${pid}), and is not shown`);
  }
  const apps = ledger.living('app');
  if (apps.length !== 1) found.push(`${apps.length} apps run: ${apps.map(({ pid }) => pid).join(', ')}`);
  const guards = ledger.living('guard');
  if (guards.length !== 1) found.push(`${guards.length} guards run: ${guards.map(({ pid }) => pid).join(', ')}`);
  for (const being of ledger.living('cli')) found.push(`a command still runs: ${being.pid} (${being.label})`);
  const parents = new Set([...apps, ...guards].map(({ pid }) => pid));
  for (const { pid, parent, label } of ledger.zombies()) {
    if (parents.has(parent)) found.push(`${pid} (${label}) is a zombie of PID ${parent}`);
  }
  return found;
}

function orphaned({ pid, nonce, label }: Being, roll: Roll): string[] {
  const row = roll.servers.find(
    ({ pids, processes }) => pids.includes(pid) || processes.some((one) => one.pid === pid),
  );
  if (row?.supervised != null) return [];
  // What a later Rollcall wrote is kept and shown; an app that comes to it anew cannot know what it says.
  const later = roll.records.find(({ path }) => nonce !== null && path.includes(nonce))?.keptBecause ?? '';
  if (row !== undefined && /later Rollcall/u.test(later)) return [];
  const why = row === undefined ? 'is in no row' : `is ${row.standing}: ${row.reasons.join('; ')}`;
  return [`server ${pid} of start ${nonce} (${label}) has no owner: it ${why}`];
}
