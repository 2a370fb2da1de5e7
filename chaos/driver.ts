/** The run: acts at random, watches all the time, lets things settle, judges, reports. Runs inside the namespaces. */
import { execFileSync } from 'node:child_process';
import { appendFileSync, copyFileSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { stop as stopBundler } from 'esbuild';
import { bundlePrograms } from '../app/guard/bundles.testing.ts';
import { fileActions } from './actions/files.ts';
import { foreignActions } from './actions/foreign.ts';
import { processActions } from './actions/processes.ts';
import { serverActions } from './actions/servers.ts';
import { type Action, type Chaos, pause } from './chaos.ts';
import { finish } from './finish.ts';
import { Harm } from './harm.ts';
import { ChaosLedger } from './ledger.ts';
import { readOptions } from './options.ts';
import { statOf } from './proc.ts';
import { Random } from './random.ts';
import { report } from './report.ts';
import { commit } from './sabotage.ts';
import { settle } from './settle.ts';
import { Stage } from './stage.ts';
import { Strangers } from './strangers.ts';
import { Watch } from './watch.ts';
import { withoutApp } from './without-app.ts';

/** Few numbers, so that they come round by themselves in every run. */
const PID_MAX = 2000;
const POLL_MS = 150;
/** Between two actions; milliseconds. */
const GAP_MS = [10, 400] as const;
/** Between two moments of rest; seconds. */
const REST_EVERY_S = 45;
const FIRST_STRANGERS = 8;
/** How long order may take to come; the longest things are a start's and an ending's own deadlines. Milliseconds. */
const ORDER_MS = 75_000;
/** It never comes then. */
const SABOTAGED_MS = 6000;

const [, , sources = '', bundles = '', ...words] = process.argv;
const options = readOptions(words, Math.floor(Date.now() / 1000) % 1_000_000);

execFileSync('ip', ['link', 'set', 'lo', 'up']);
writeFileSync('/proc/sys/kernel/pid_max', String(PID_MAX));

const root = mkdtempSync(join(tmpdir(), 'rcc-'));
const programs = await bundlePrograms(bundles);
await stopBundler();
const stage = new Stage(root, programs, join(sources, 'clock-shim.mjs'));
mkdirSync(join(root, 'notes'));
copyFileSync(join(sources, 'witness.py'), join(root, 'notes', 'opencode.md'));
const ledger = new ChaosLedger(programs);
for (const pid of [1, process.pid]) ledger.register(pid, statOf(pid)?.ticks ?? '', 'harness', 'the run itself');
const strangers = new Strangers(ledger, join(sources, 'spawner.py'), stage.signalLogs, stage.doomed);
const harm = new Harm(stage.paths);
const watch = new Watch({ ledger, strangers, stage, harm });
const counts = new Map<string, number>();
const pending = new Set<Promise<unknown>>();
const random = new Random(options.seed);

const chaos: Chaos = {
  stage,
  ledger,
  strangers,
  harm,
  log,
  count: (what) => void counts.set(what, (counts.get(what) ?? 0) + 1),
  later: (work) => {
    const kept = work
      .catch((error: unknown) => watch.violated('the run itself failed', wordsOf(error)))
      .finally(() => pending.delete(kept));
    pending.add(kept);
  },
};

function wordsOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

const actionLog = join(root, 'actions.jsonl');
const begun = performance.now();
function log(entry: Readonly<Record<string, unknown>>): void {
  const line = JSON.stringify({ ms: Math.round(performance.now() - begun), ...entry });
  appendFileSync(actionLog, `${line}\n`);
  if (options.verbose) process.stdout.write(`${line}\n`);
}

const ACTIONS: readonly Action[] = [...serverActions, ...processActions, ...foreignActions, ...fileActions];
const [firstAction, ...otherActions] = ACTIONS;
if (firstAction === undefined) throw new Error('there are no actions');

/** Begins one; waits for it only so long, since others do not wait for each other either. */
async function act(number: number): Promise<void> {
  const action = random.weighted([firstAction as Action, ...otherActions]);
  const own = random.fork();
  const gap = random.between(...GAP_MS);
  const work = action.run(chaos, own).then((what) => {
    if (what === null) return false;
    chaos.count(action.name);
    log({ number, action: action.name, what });
    return true;
  });
  chaos.later(work);
  const done = await Promise.race([work, pause(gap).then(() => true)]);
  await pause(done ? gap : 1);
}

const poll = setInterval(() => watch.poll(), POLL_MS);
try {
  for (let one = 0; one < FIRST_STRANGERS; one += 1) await strangers.start({ label: 'bystander' });
  const parts = { chaos, watch, pending, orderMs: options.sabotage === null ? ORDER_MS : SABOTAGED_MS };
  const fresh = await settle(parts);
  if (options.sabotage !== null) await commit(options.sabotage, chaos, watch);
  const until = performance.now() + options.seconds * 1000;
  let rest = performance.now() + REST_EVERY_S * 1000;
  for (let number = 1; performance.now() < until && watch.violations.length === 0; number += 1) {
    await act(number);
    if (performance.now() > rest && until - performance.now() > 10_000) {
      if ((await settle(parts)) !== null) await withoutApp(parts);
      rest = performance.now() + REST_EVERY_S * 1000;
    }
  }
  if ((await settle(parts)) !== null) await withoutApp(parts);
  await finish({ ...parts, fresh });
} catch (error) {
  watch.violated('the run itself failed', wordsOf(error));
} finally {
  clearInterval(poll);
}
watch.conclude();
process.exitCode = report({
  options,
  counts,
  watch,
  strangers,
  stage,
  ledger,
  seconds: (performance.now() - begun) / 1000,
});
strangers.close();
// What the violations left behind goes with the namespace.
process.exit();
