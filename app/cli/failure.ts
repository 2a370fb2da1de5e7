import type { Failure } from '../roll/commands.ts';
import { printable } from './table.ts';

/** A failure as one line for the person: what was not done and why, then what to do. */
export function failureText(failure: Failure): string {
  return printable(`${failure.message} ${failure.remedy}`.trim());
}
