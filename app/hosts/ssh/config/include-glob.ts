/** Expands the patterns of `Include` (ssh_config(5) takes glob(7)): `*`, `?` and brackets, within one part of a path. */
import { type Dirent, readdirSync } from 'node:fs';
import { join, parse, sep } from 'node:path';

const MAGIC = /[*?[]/u;

/** Existing paths that match an absolute pattern, sorted. Names that begin with a dot only match a dot. */
export function expandGlob(pattern: string): readonly string[] {
  const { root } = parse(pattern);
  let found = [root];
  for (const part of pattern.slice(root.length).split(sep)) {
    if (part === '') continue;
    found = MAGIC.test(part)
      ? found.flatMap((folder) => namesIn(folder, matcher(part)).map((name) => join(folder, name)))
      : found.map((folder) => join(folder, part));
  }
  return found.sort();
}

function namesIn(folder: string, matches: RegExp): string[] {
  let entries: Dirent[];
  try {
    entries = readdirSync(folder, { withFileTypes: true });
  } catch {
    // No folder there, or none for us: nothing in it matches.
    return [];
  }
  return entries.map(({ name }) => name).filter((name) => matches.test(name));
}

function matcher(part: string): RegExp {
  const body = part.replace(/\[(!?)([^\]]+)\]|[*?]|[\\^$.|+(){}[\]]/gu, (found, not?: string, set?: string) => {
    if (set !== undefined) return `[${not === '!' ? '^' : ''}${set.replace(/[\\\]^]/gu, '\\$&')}]`;
    if (found === '*') return '.*';
    return found === '?' ? '.' : `\\${found}`;
  });
  return new RegExp(`^${part.startsWith('.') ? '' : '(?!\\.)'}${body}$`, 'su');
}
