/** Hosts that can be offered to a person: the aliases of the SSH configuration and the names of known_hosts. */
import { isAbsolute, join } from 'node:path';

/** What is read, passed in so that it can be told for any folder. */
export interface OfferedInput {
  readonly home: string;
  /** The configuration that is read first, `~/.ssh/config` as a rule. */
  readonly configFile: string;
  readonly knownHostsFiles: readonly string[];
  /** Text of a file; null when it cannot be read. */
  readonly readFile: (path: string) => string | null;
  /** Paths that match an absolute pattern with `*`, `?` or brackets, sorted. */
  readonly glob: (pattern: string) => readonly string[];
}

export interface OfferedHost {
  readonly alias: string;
  readonly from: 'config' | 'known_hosts';
}

/** As deep as ssh itself follows Include. */
const DEEPEST = 16;
const MAX_FILES = 256;
const MAX_HOSTS = 2000;
/** Longer files are no configuration a person wrote. */
const MAX_FILE = 4_000_000;

/** Every host, those of the configuration first, each once, in the order they stand there. */
export function hostSuggestions(input: OfferedInput): readonly OfferedHost[] {
  const found = new Map<string, OfferedHost>();
  const add = (alias: string, from: OfferedHost['from']): void => {
    if (found.size < MAX_HOSTS && !found.has(alias)) found.set(alias, { alias, from });
  };
  for (const alias of configAliases(input)) add(alias, 'config');
  for (const path of input.knownHostsFiles) {
    for (const name of knownNames(read(input, path))) add(name, 'known_hosts');
  }
  return [...found.values()];
}

function read({ readFile }: OfferedInput, path: string): string {
  const text = readFile(path);
  return text === null || text.length > MAX_FILE ? '' : text;
}

function configAliases(input: OfferedInput): readonly string[] {
  const aliases: string[] = [];
  const seen = new Set<string>();
  const visit = (path: string, depth: number): void => {
    // Once is enough to learn the names, and ends circles.
    if (depth > DEEPEST || seen.size >= MAX_FILES || seen.has(path)) return;
    seen.add(path);
    for (const line of read(input, path).split('\n')) {
      const [keyword, ...words] = splitLine(line);
      if (keyword === 'host') aliases.push(...words.filter((word) => isName(word)));
      else if (keyword === 'include') {
        for (const word of words) for (const file of included(input, word)) visit(file, depth + 1);
      }
    }
  };
  visit(input.configFile, 0);
  return aliases;
}

/** A pattern or a negation is no host. `%` and the like would be refused later anyway. */
function isName(word: string): boolean {
  return word !== '' && !/[*?!\s\p{C}]/u.test(word) && !word.startsWith('-');
}

function included(input: OfferedInput, word: string): readonly string[] {
  // Also a configuration that stands elsewhere includes from ~/.ssh, see ssh_config(5).
  const base = join(input.home, '.ssh');
  const home = word === '~' || word.startsWith('~/') ? join(input.home, word.slice(1)) : word;
  const path = isAbsolute(home) ? home : join(base, home);
  return /[*?[]/u.test(path) ? input.glob(path) : [path];
}

/**
 * The keyword in lower case and the words of a line, as ssh_config(5) has them: blanks or one `=` after the keyword,
 * words in double or single quotes, a comment from a `#` that begins a word.
 */
export function splitLine(line: string): readonly string[] {
  const match = /^\s*(?<keyword>[A-Za-z]\w*)(?:\s*=\s*|\s+)(?<rest>.*?)\s*$/u.exec(line);
  if (match?.groups === undefined) return [];
  const { keyword = '', rest = '' } = match.groups;
  const words: string[] = [];
  for (const found of rest.matchAll(/"(?<double>[^"]*)"|'(?<single>[^']*)'|(?<plain>[^\s"']+)/gu)) {
    const { double, single, plain } = found.groups ?? {};
    if (plain?.startsWith('#')) break;
    words.push(double ?? single ?? plain ?? '');
  }
  return [keyword.toLowerCase(), ...words];
}

/** Names of a known_hosts file; hashed lines, patterns and lines with a marker name nobody. */
function knownNames(text: string): readonly string[] {
  const names: string[] = [];
  for (const line of text.split('\n')) {
    const [hosts = ''] = line.trim().split(/\s+/u);
    if (hosts === '' || /^[#@|]/u.test(hosts)) continue;
    for (const name of hosts.split(',')) {
      const ported = /^\[(?<host>[^\]]+)\]:(?<port>\d+)$/u.exec(name)?.groups;
      // ssh takes a port only in this form of a name.
      const alias = ported === undefined ? name : withPort(ported['host'] ?? '', ported['port'] ?? '');
      if (isName(alias) && !alias.startsWith('|')) names.push(alias);
    }
  }
  return names;
}

function withPort(host: string, port: string): string {
  return `ssh://${host.includes(':') ? `[${host}]` : host}:${port}`;
}
