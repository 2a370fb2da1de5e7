import { parseArgs } from 'node:util';
import { type CliCommand, COMMANDS } from './commands.ts';
import { type Arguments, UsageError } from './io.ts';

export type Parsed =
  | { readonly kind: 'version' }
  | { readonly kind: 'help'; readonly entry: CliCommand | null }
  | { readonly kind: 'command'; readonly name: string; readonly entry: CliCommand; readonly args: Arguments };

/**
 * Reads the words after `rollcall`.
 *
 * @throws UsageError for anything that is not exactly a command with its own options and arguments
 */
export function parseCommandLine(words: readonly string[]): Parsed {
  const [name, ...rest] = words;
  if (name === '--version' || name === '-V') return { kind: 'version' };
  if (name === '--help' || name === '-h') return { kind: 'help', entry: null };
  if (name === undefined) throw new UsageError('No command given.', 'Try rollcall list, or rollcall --help.');
  if (name === 'help') {
    const about = rest[0];
    return { kind: 'help', entry: about === undefined ? null : findCommand(about) };
  }
  const entry = findCommand(name);
  if (rest.includes('--help') || rest.includes('-h')) return { kind: 'help', entry };
  return { kind: 'command', name, entry, args: parseArguments(name, entry, rest) };
}

function findCommand(name: string): CliCommand {
  const entry = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  if (entry !== undefined) return entry;
  if (name.startsWith('-')) throw new UsageError(`${name} must follow a command.`, 'rollcall --help lists commands.');
  const near = nearest(name, Object.keys(COMMANDS));
  throw new UsageError(
    `Unknown command: ${name}.`,
    near === null ? 'rollcall --help lists commands.' : `Did you mean rollcall ${near}?`,
  );
}

function parseArguments(name: string, entry: CliCommand, words: string[]): Arguments {
  const options = Object.fromEntries(
    Object.entries(entry.options).map(
      ([option, { value }]) => [option, { type: value === undefined ? 'boolean' : 'string' }] as const,
    ),
  );
  const usage = `Usage: rollcall ${entry.usage}`;
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
    const option = Object.hasOwn(entry.options, token.name) ? entry.options[token.name] : undefined;
    if (option === undefined) {
      const near = nearest(token.name, Object.keys(entry.options));
      throw new UsageError(
        `Unknown option for ${name}: ${token.rawName}.`,
        near === null ? usage : `Did you mean --${near}? ${usage}`,
      );
    }
    if (seen.has(token.name)) throw new UsageError(`--${token.name} is given twice.`, usage);
    seen.add(token.name);
    if (option.value === undefined && token.value !== undefined) {
      throw new UsageError(`--${token.name} takes no value.`, usage);
    }
    // A value that looks like an option is a forgotten value; one that does is written --option=value.
    const missing =
      token.value === undefined || token.value === '' || (!token.inlineValue && token.value.startsWith('-'));
    if (option.value !== undefined && missing) throw new UsageError(`--${token.name} needs a ${option.value}.`, usage);
  }
  if (positionals.length < entry.minArgs) throw new UsageError(`${name} needs an argument.`, usage);
  if (positionals.length > entry.maxArgs) {
    throw new UsageError(`Too many arguments for ${name}: ${positionals[entry.maxArgs] ?? ''}.`, usage);
  }
  return {
    positionals,
    has: (option) => values[option] === true,
    value: (option) => {
      const value = values[option];
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
