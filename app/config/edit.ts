/** Changes that a person makes in the window, written into the configuration file without touching the rest of it. */
import { mkdirSync, readFileSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import {
  applyEdits,
  findNodeAtLocation,
  getNodeValue,
  type JSONPath,
  modify,
  type Node,
  type ParseError,
  parseTree,
} from 'jsonc-parser';
import { atomicWrite } from './atomic-write.ts';
import type { HostSettings } from './schema.ts';

/** The file cannot be changed safely as it stands. */
export class ConfigUnreadable extends Error {
  override readonly name = 'ConfigUnreadable';
  readonly path: string;
  constructor(path: string, why: string, cause?: unknown) {
    super(`${path} was not changed: ${why}. Mend it by hand, then try again.`, { cause });
    this.path = path;
  }
}

const FORMATTING = { formattingOptions: { insertSpaces: true, tabSize: 2, eol: '\n' } } as const;

/**
 * Sets one value, or takes it away (`undefined`); comments and everything else stay as they are. Pure.
 *
 * @throws ConfigUnreadable when the text is no JSON with comments
 */
export function withSetting(text: string, path: JSONPath, value: unknown, name: string): string {
  const plain = text.startsWith('\ufeff') ? text.slice(1) : text;
  const base = plain.trim() === '' ? '{}\n' : plain;
  const root = parsed(base);
  if (root === null) throw new ConfigUnreadable(name, 'it is no JSON object');
  const changed = applyEdits(base, modify(base, path, value, FORMATTING));
  if (parsed(changed) !== null) return changed;
  // The editor trips over a comma behind a last member that is taken away: then the object around it is written anew.
  const around = path.slice(0, -1);
  const node = findNodeAtLocation(root, around);
  const members = Object.entries((node === undefined ? {} : getNodeValue(node)) as object);
  const kept = Object.fromEntries(members.filter(([key]) => key !== path.at(-1)));
  return applyEdits(base, modify(base, around, kept, FORMATTING));
}

function parsed(text: string): Node | null {
  const errors: ParseError[] = [];
  const root = parseTree(text, errors, { allowTrailingComma: true });
  return errors.length === 0 && root?.type === 'object' ? root : null;
}

/** Gives a member of an object another name, in its place. */
function renamed(text: string, path: JSONPath, name: string): string {
  const root = parsed(text);
  const key = root === null ? undefined : findNodeAtLocation(root, path)?.parent?.children?.[0];
  if (key === undefined) return text;
  return `${text.slice(0, key.offset)}${JSON.stringify(name)}${text.slice(key.offset + key.length)}`;
}

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
    if (code === 'ENOENT') return '';
    throw new ConfigUnreadable(file, `it could not be read (${code})`, error);
  }
}

/**
 * Saves a host, or changes a saved one. What the file says of it beyond these settings stays.
 *
 * @param was the name it had until now; null for a new one
 * @throws ConfigUnreadable, WriteFailed
 */
export async function saveHost(
  file: string,
  name: string,
  settings: Pick<HostSettings, 'alias' | 'connect'>,
  was: string | null,
): Promise<void> {
  let text = read(file);
  const label = basename(file);
  if (was !== null && was !== name) text = renamed(text, ['hosts', was], name);
  const alias = settings.alias === name ? undefined : settings.alias;
  text = withSetting(text, ['hosts', name, 'connect'], settings.connect, label);
  text = withSetting(text, ['hosts', name, 'alias'], alias, label);
  await write(file, text);
}

/** Takes a saved host out. @throws ConfigUnreadable, WriteFailed */
export async function removeHost(file: string, name: string): Promise<void> {
  await write(file, withSetting(read(file), ['hosts', name], undefined, basename(file)));
}

async function write(file: string, text: string): Promise<void> {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  await atomicWrite(file, text);
}
