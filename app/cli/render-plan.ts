/** A reap's plan as text. Pure. */
import type { Plan } from '../roll/commands.ts';
import { formatBytes, plural } from '../text/words.ts';
import { printable } from './table.ts';

type PlanRow = Plan['rows'][number];

/** Every process that would be signalled, in order, with what it costs. */
export function planLines(plan: Plan, rows: readonly PlanRow[]): string[] {
  if (rows.length === 0) return ['Nothing would be reaped.'];
  const lines: string[] = [];
  for (const row of rows) {
    const owner = row.ownerLabel === null ? '' : `, owner ${row.ownerLabel}`;
    lines.push(printable(`${row.label}, ${row.standing}${owner}, ${formatBytes(row.memoryBytes).text}`));
    for (const consequence of row.consequences) lines.push(printable(`  ${consequence}`));
    for (const step of row.steps) {
      lines.push(printable(`  ${step.pid}  ${step.how}  ${formatBytes(step.memoryBytes).text}  ${step.command}`));
    }
  }
  const processes = rows.reduce((sum, row) => sum + row.steps.length, 0);
  const memory = rows.reduce((sum, row) => sum + row.memoryBytes, 0);
  lines.push(`${formatBytes(memory).text} freed, ${plural(processes, 'process', 'processes')}, ${plan.busy} busy`);
  return lines;
}

/** The plan and the question that follows it. */
export function planQuestion(plan: Plan, rows: readonly PlanRow[]): string {
  const [only] = rows;
  const what = rows.length === 1 && only !== undefined ? only.label : whatWords(rows);
  return `${planLines(plan, rows).join('\n')}\nReap ${printable(what)}?`;
}

function whatWords(rows: readonly PlanRow[]): string {
  const leftovers = rows.filter((row) => row.standing === 'leftover').length;
  const servers = rows.length - leftovers;
  const parts: string[] = [];
  if (servers > 0) {
    const leaked = rows.every((row) => row.standing === 'leaked' || row.standing === 'leftover');
    parts.push(plural(servers, leaked ? 'leaked server' : 'server'));
  }
  if (leftovers > 0) parts.push(plural(leftovers, 'leftover'));
  return parts.join(' and ');
}
