import type { Plan } from '../roll/commands.ts';
import type { ReapResult } from '../roll/schema.ts';
import type { Core } from '../supervisor/core.ts';
import { formatBytes, plural } from '../text/words.ts';
import { confirm } from './confirm.ts';
import { failureText } from './failure.ts';
import {
  type Arguments,
  type CommandRun,
  type CoreHandle,
  DONE,
  type ExitCode,
  FAILED,
  type Io,
  UsageError,
} from './io.ts';
import { planLines, planQuestion } from './render-plan.ts';
import { printable } from './table.ts';
import { checkTarget, findTarget } from './targets.ts';
import { hostOption, pidHost, reach, rowHost } from './where.ts';

/** The most rows a command may name. */
const MAX_TARGETS = 1000;

type PlanRow = Plan['rows'][number];

/** What may be reaped, what may not and why, before anything is signalled. */
interface Proposal {
  readonly plan: Plan;
  readonly rows: readonly PlanRow[];
  readonly refused: readonly ReapResult[];
}

export const reap: CommandRun = async ({ io, open }, args) => {
  checkUsage(args);
  const dry = args.has('dry-run');
  const asks = !dry && !args.has('yes');
  // While a person thinks, nobody else must be kept from acting; so the question is asked without the lock.
  const host = hostOption(args);
  let handle = await open(dry || asks ? 'read' : 'act');
  try {
    const problem = await reach(handle.core, host);
    if (problem !== null) return await report(io, args, [unreached(host ?? '', problem)]);
    const proposal = await propose(handle.core, args, host);
    if (dry) return await showPlan(io, args, proposal);
    const answer =
      proposal.rows.length === 0
        ? 'yes'
        : await confirm(io, args.has('yes'), planQuestion(proposal.plan, proposal.rows));
    if (answer !== 'yes') return await report(io, args, [...proposal.refused, ...declined(proposal.rows, answer)]);
    if (asks && handle.origin === 'local' && proposal.rows.length > 0) {
      handle = await reopen(handle, open);
      // A core of one's own connects anew.
      const lost = await reach(handle.core, host);
      if (lost !== null) return await report(io, args, [...proposal.refused, unreached(host ?? '', lost)]);
    }
    const results = await perform(io, handle.core, args, proposal.rows);
    return await report(io, args, [...proposal.refused, ...results]);
  } finally {
    await handle.close();
  }
};

function checkUsage(args: Arguments): void {
  const all = args.has('all');
  if (all && args.positionals.length > 0) {
    throw new UsageError(
      '--all and named servers do not go together.',
      'Name servers by PID or id, or give --all alone.',
    );
  }
  if (!all && args.positionals.length === 0) {
    throw new UsageError(
      'reap needs a PID, an id or --all.',
      'rollcall list shows what runs; rollcall reap --all --dry-run what would go.',
    );
  }
  if (all && args.has('force')) {
    throw new UsageError(
      '--all takes only what is leaked, so --force has no part in it.',
      'Name the servers that --force is meant for.',
    );
  }
  for (const word of args.positionals) checkTarget(word);
}

async function reopen(handle: CoreHandle, open: (mode: 'act') => Promise<CoreHandle>): Promise<CoreHandle> {
  const next = await open('act');
  await handle.close();
  return next;
}

/** Nothing was done on a host that could not be reached. */
function unreached(host: string, problem: string): ReapResult {
  return refusal(null, 0, host, `Nothing was signalled. ${problem}`);
}

async function propose(core: Core, args: Arguments, host: string | null): Promise<Proposal> {
  const refused: ReapResult[] = [];
  const ids = new Set<string>();
  for (const word of args.positionals) {
    const target = await findTarget(core, word, pidHost(core.roll, host));
    if (target.found === 'nothing')
      refused.push(refusal(null, target.pid, target.target, `Nothing was signalled. ${target.text}`));
    else ids.add(target.id);
  }
  if (!args.has('all') && ids.size === 0) {
    return { plan: { rows: [], freesBytes: 0, processes: 0, busy: 0 }, rows: [], refused };
  }
  const whole = await core.plan(args.has('all') ? 'leaked' : [...ids]);
  const plan = host === null ? whole : planOn(whole, rowHost(core.roll, host));
  const rows: PlanRow[] = [];
  for (const row of plan.rows) {
    if (row.refusal === null || (row.needsForce && args.has('force'))) rows.push(row);
    else {
      const remedy = row.needsForce ? ' Add --force to reap it anyway.' : '';
      refused.push(refusal(row.id, row.steps[0]?.pid ?? 0, row.label, `${row.refusal}${remedy}`));
    }
  }
  // A row that went away since it was named is no longer in the plan, and there is nothing left to do for it.
  for (const id of ids) {
    if (!plan.rows.some((row) => row.id === id)) {
      refused.push(refusal(id, 0, id, 'Nothing was signalled: it is not there any more. Look at the list again.'));
    }
  }
  return { plan, rows, refused };
}

/** The part of a plan that is about one host. */
function planOn(plan: Plan, host: string): Plan {
  const rows = plan.rows.filter((row) => row.host === host);
  return {
    ...plan,
    rows,
    freesBytes: rows.reduce((sum, row) => sum + row.memoryBytes, 0),
    processes: rows.reduce((sum, row) => sum + row.steps.length, 0),
  };
}

function refusal(id: string | null, pid: number, label: string, message: string): ReapResult {
  return { pid, id, label, outcome: 'refused', verdict: 'unknown', signals: [], message, freedBytes: 0 };
}

function declined(rows: readonly PlanRow[], answer: 'no' | 'cannot-ask'): ReapResult[] {
  const why =
    answer === 'no'
      ? 'was not reaped: you did not agree.'
      : 'was not reaped: there is no terminal to ask on. Add --yes to agree beforehand.';
  return rows.map((row) => refusal(row.id, row.steps[0]?.pid ?? 0, row.label, `${row.label} ${why}`));
}

/** Acts on the rows that were listed, and on no others that may have come up since. */
async function perform(io: Io, core: Core, args: Arguments, rows: readonly PlanRow[]): Promise<ReapResult[]> {
  const results: ReapResult[] = [];
  const force = args.has('force');
  if (rows.length > 0 && !args.has('json')) io.say(`Reaping ${plural(rows.length, 'row')}.`);
  for (let at = 0; at < rows.length; at += MAX_TARGETS) {
    const part = rows.slice(at, at + MAX_TARGETS);
    const result = await core.run(
      // `--all` means what is leaked: a row that has changed since it was listed is not agreed to.
      { command: 'reap', targets: part.map((row) => row.id), confirmed: !args.has('all'), force },
      'cli',
    );
    results.push(...result.results);
    if (result.ok) continue;
    // A command that failed as a whole says so once, for every row it gave no result of its own.
    const told = new Set(result.results.map((each) => each.id));
    const message = failureText(result.failure);
    for (const row of part) {
      if (!told.has(row.id)) results.push(refusal(row.id, row.steps[0]?.pid ?? 0, row.label, message));
    }
  }
  return results;
}

async function showPlan(io: Io, args: Arguments, { plan, rows, refused }: Proposal): Promise<ExitCode> {
  if (args.has('json')) await io.out(`${JSON.stringify({ results: refused, plan }, null, 2)}\n`);
  else {
    for (const each of refused) io.say(printable(each.message));
    await io.out(`${planLines(plan, rows).join('\n')}\n`);
  }
  return refused.length === 0 ? DONE : FAILED;
}

async function report(io: Io, args: Arguments, results: readonly ReapResult[]): Promise<ExitCode> {
  if (args.has('json')) await io.out(`${JSON.stringify({ results }, null, 2)}\n`);
  else if (results.length === 0) await io.out('Nothing is leaked.\n');
  for (const each of results) {
    const line = printable(each.message);
    if (each.outcome !== 'gone') io.say(line);
    else if (!args.has('json')) await io.out(`${line}\n`);
  }
  const freed = results.reduce((sum, each) => sum + each.freedBytes, 0);
  if (!args.has('json') && freed > 0) await io.out(`${formatBytes(freed).text} freed.\n`);
  return results.every((each) => each.outcome === 'gone') ? DONE : FAILED;
}
