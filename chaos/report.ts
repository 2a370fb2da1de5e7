/** What a run says when it is over. */
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ChaosLedger } from './ledger.ts';
import type { Options } from './options.ts';
import type { Stage } from './stage.ts';
import type { Strangers } from './strangers.ts';
import { readTrace } from './trace.ts';
import type { Watch } from './watch.ts';

const MAX_SHOWN = 20;

export interface ReportDeps {
  readonly options: Options;
  readonly counts: ReadonlyMap<string, number>;
  readonly watch: Watch;
  readonly strangers: Strangers;
  readonly stage: Stage;
  readonly ledger: ChaosLedger;
  readonly seconds: number;
}

function table(rows: Iterable<readonly [string, number]>): string {
  return [...rows]
    .sort(([a], [b]) => a.localeCompare(b))
    .map(([what, count]) => `  ${String(count).padStart(5)}  ${what}`)
    .join('\n');
}

/** Prints it, and keeps what explains a violation. @returns the exit code */
export function report({ options, counts, watch, strangers, stage, ledger, seconds }: ReportDeps): 0 | 1 {
  const { violations } = watch;
  const traced = stage.traces.flatMap((file) => readTrace(file)).filter(({ by, pid }) => by !== pid);
  const reuse = strangers.counts;
  const lines = [
    `seed ${options.seed}, ${seconds.toFixed(0)} s, ${ledger.size} processes`,
    'actions and their outcomes:',
    table(counts),
    'the audit by event:',
    table(watch.events),
    'signals announced in the audit:',
    table(watch.intents),
    'strangers:',
    table([
      ['started', reuse.started],
      ['on a PID that somebody had just had', reuse.onChosenPid],
      ['of these within one tick', reuse.sameTick + watch.sameTick.size],
      ['PIDs not free in time', reuse.tooLate],
      ['PIDs given to a thread', reuse.threads],
    ]),
    `traced: ${stage.traces.length} programs, ${traced.length} signals; ${watch.ambiguous} where only the stranger's word decides`,
  ];
  process.stdout.write(`${lines.join('\n')}\n`);
  if (violations.length === 0) {
    stage.remove();
    process.stdout.write(`chaos: ok (seed ${options.seed}, ${seconds.toFixed(0)} s)\n`);
    return 0;
  }
  const kept = keep(stage, watch, ledger);
  for (const { at, what, detail } of violations.slice(0, MAX_SHOWN)) process.stdout.write(`${at} ${what}: ${detail}\n`);
  process.stdout.write(
    `chaos: ${violations.length} violations (seed ${options.seed}); audit, records, traces and actions are in ${kept}\n`,
  );
  return 1;
}

/** The state folder goes with the namespace, so it is copied; the servers' programs are not worth the space. */
function keep(stage: Stage, watch: Watch, ledger: ChaosLedger): string {
  const kept = join(stage.root, 'kept');
  execFileSync('cp', ['-a', stage.paths.stateDir, kept]);
  writeFileSync(join(stage.root, 'violations.json'), JSON.stringify(watch.violations, null, 2));
  writeFileSync(join(stage.root, 'ledger.jsonl'), ledger.lines());
  execFileSync('rm', ['-rf', join(stage.root, 'real'), join(stage.root, 'moods')]);
  return stage.root;
}
