import { parseArgs } from 'node:util';
import { type Arguments, UsageError } from './io.ts';
import { VERBS, type VerbEntry } from './verbs.ts';

export type Parsed =
  | { readonly kind: 'version' }
  | { readonly kind: 'help'; readonly verb: VerbEntry | null }
  | { readonly kind: 'verb'; readonly name: string; readonly verb: VerbEntry; readonly args: Arguments };

/**
 * Reads the words after `rollcall`.
 *
 * @throws UsageError for anything that is not exactly a verb with its own flags and arguments
 */
export function parseCommandLine(words: readonly string[]): Parsed {
  const [name, ...rest] = words;
  if (name === '--version' || name === '-V') return { kind: 'version' };
  if (name === '--help' || name === '-h') return { kind: 'help', verb: null };
  if (name === undefined) throw new UsageError('No verb was given.', 'Try rollcall list, or rollcall --help.');
  if (name === 'help') {
    const about = rest[0];
    return { kind: 'help', verb: about === undefined ? null : findVerb(about) };
  }
  const verb = findVerb(name);
  if (rest.includes('--help') || rest.includes('-h')) return { kind: 'help', verb };
  return { kind: 'verb', name, verb, args: parseVerb(name, verb, rest) };
}

function findVerb(name: string): VerbEntry {
  const verb = Object.hasOwn(VERBS, name) ? VERBS[name] : undefined;
  if (verb !== undefined) return verb;
  const near = nearest(name, Object.keys(VERBS));
  throw new UsageError(
    name.startsWith('-') ? `${name} stands before any verb.` : `${name} is no verb.`,
    near === null ? 'rollcall --help lists them.' : `Did you mean rollcall ${near}?`,
  );
}

function parseVerb(name: string, verb: VerbEntry, words: string[]): Arguments {
  const options = Object.fromEntries(
    Object.entries(verb.flags).map(
      ([flag, { value }]) => [flag, { type: value === undefined ? 'boolean' : 'string' }] as const,
    ),
  );
  const usage = `Usage: rollcall ${verb.usage}`;
  // Tokens, not strict mode: its messages speak of positionals and of prefixing with "--".
  const { values, positionals, tokens } = parseArgs({
    args: words,
    options,
    strict: false,
    allowPositionals: true,
    tokens: true,
  });
  const seen = new Set<string>();
  for (const token of tokens) {
    if (token.kind !== 'option') continue;
    const flag = Object.hasOwn(verb.flags, token.name) ? verb.flags[token.name] : undefined;
    if (flag === undefined) {
      const near = nearest(token.name, Object.keys(verb.flags));
      throw new UsageError(
        `${token.rawName} is no flag of ${name}.`,
        near === null ? usage : `Did you mean --${near}? ${usage}`,
      );
    }
    if (seen.has(token.name)) throw new UsageError(`--${token.name} is given twice.`, usage);
    seen.add(token.name);
    if (flag.value === undefined && token.value !== undefined) {
      throw new UsageError(`--${token.name} takes no value.`, usage);
    }
    // A value that looks like a flag is a forgotten value; one that does is written --flag=value.
    const missing =
      token.value === undefined || token.value === '' || (!token.inlineValue && token.value.startsWith('-'));
    if (flag.value !== undefined && missing) throw new UsageError(`--${token.name} needs a ${flag.value}.`, usage);
  }
  if (positionals.length < verb.least) throw new UsageError(`${name} needs an argument.`, usage);
  if (positionals.length > verb.most) {
    throw new UsageError(`${positionals[verb.most] ?? ''} is one argument too many for ${name}.`, usage);
  }
  return {
    positionals,
    has: (flag) => values[flag] === true,
    value: (flag) => {
      const value = values[flag];
      return typeof value === 'string' ? value : undefined;
    },
  };
}

/** The known word that differs by at most 2 letters, or null. */
function nearest(word: string, known: readonly string[]): string | null {
  const ranked = known
    .map((name) => ({ name, distance: distance(word, name) }))
    .sort((a, b) => a.distance - b.distance);
  const best = ranked[0];
  return best !== undefined && best.distance <= 2 && best.distance < best.name.length ? best.name : null;
}

/** Levenshtein's edit distance; words longer than any of ours are simply far away. */
function distance(a: string, b: string): number {
  if (a.length > 30) return 99;
  let row = Array.from({ length: b.length + 1 }, (_, at) => at);
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const swap = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(swap, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 99;
}
