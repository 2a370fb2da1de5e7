import type { CustomKind, Kind } from '../kind.ts';
import { NO_OPTIONS, type StartOptions } from '../start/locate.ts';
import { CLAUDE_KINDS, claudeKind } from './claude.ts';
import { codexKind } from './codex.ts';
import { customKind } from './custom.ts';
import { FORKS, forkKind } from './opencode.ts';
import { t3Kind } from './t3.ts';

/** Every kind, built-in ones first; a custom kind that takes a built-in name is passed over. */
export function allKinds(custom: readonly CustomKind[], options: StartOptions = NO_OPTIONS): readonly Kind[] {
  const builtIn = [
    ...FORKS.map((fork) => forkKind(fork, options)),
    t3Kind(options),
    codexKind(options),
    ...CLAUDE_KINDS.map(claudeKind),
  ];
  const taken = new Set(builtIn.map((kind) => kind.name));
  return [...builtIn, ...custom.filter((kind) => !taken.has(kind.name)).map(customKind)];
}

/** The kind of that name; null when there is none. */
export function kindOf(name: string, custom: readonly CustomKind[], options: StartOptions = NO_OPTIONS): Kind | null {
  return allKinds(custom, options).find((kind) => kind.name === name) ?? null;
}

/** Kinds that can be started from here, in the order in which they are offered. */
export function startableKinds(custom: readonly CustomKind[], options: StartOptions = NO_OPTIONS): readonly Kind[] {
  return allKinds(custom, options).filter((kind) => kind.locate !== null && kind.startPlan !== null);
}

/** Names that a custom kind may not take. */
export const BUILT_IN_NAMES: ReadonlySet<string> = new Set(allKinds([]).map((kind) => kind.name));
