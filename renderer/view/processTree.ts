import type { ProcessRow } from '../../app/roll/schema.ts';

export interface TreeLine {
  readonly process: ProcessRow;
  /** The last one at its depth below its parent: its branch ends. */
  readonly last: boolean;
  /** What follows the name in its command line. */
  readonly args: string;
}

/** The command line without its program, which the name already tells. */
function argsOf(process: ProcessRow): string {
  const space = process.command.indexOf(' ');
  return space < 0 ? '' : process.command.slice(space + 1);
}

/** Processes in tree order with the ends of their branches. `depth` counts from the topmost process. */
export function treeLines(processes: readonly ProcessRow[]): readonly TreeLine[] {
  return processes.map((process, index) => {
    const next = processes.slice(index + 1).find((other) => other.depth <= process.depth);
    return { process, last: next === undefined || next.depth < process.depth, args: argsOf(process) };
  });
}

/** What runs under a server, its own processes left out; the topmost of them stand at the left. */
export function childProcesses(processes: readonly ProcessRow[]): readonly ProcessRow[] {
  const children = processes.filter(({ role }) => role === 'child');
  const top = Math.min(...children.map(({ depth }) => depth));
  return children.map((process) => ({ ...process, depth: process.depth - top }));
}
