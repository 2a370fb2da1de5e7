/** Answers to the commands of one question. Pure. */
import type { CommandResult, Failure } from '../../app/roll/commands.ts';
import type { ReapResult } from '../../app/roll/schema.ts';

/** @param result null while it is under way, undefined before its turn */
export function stateOf(result: CommandResult | null | undefined): 'running' | 'done' | 'failed' | undefined {
  if (result === undefined) return undefined;
  if (result === null) return 'running';
  return result.ok ? 'done' : 'failed';
}

export function failuresOf(results: ReadonlyMap<string, CommandResult | null> | null): readonly Failure[] {
  return [...(results?.values() ?? [])].flatMap((result) => (result?.ok === false ? [result.failure] : []));
}

/** Nothing was refused and nothing is left: a dialog with such a result may close by itself. */
export function allGone(results: readonly ReapResult[]): boolean {
  return results.length > 0 && results.every((result) => result.outcome === 'gone');
}

/** The sentences on what is not gone. */
export function notGone(result: CommandResult | null): readonly string[] {
  return (result?.results ?? []).flatMap(({ outcome, message }) => (outcome === 'gone' ? [] : [message]));
}
