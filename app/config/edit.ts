/** Changes that a person makes in the window, written into the configuration file without touching the rest of it. */

import { lstatSync, mkdirSync, readFileSync, readlinkSync, realpathSync } from 'node:fs';
import { basename, dirname, resolve } from 'node:path';
import { atomicWrite } from '../util/atomic-write.ts';
import { codeOf } from '../util/errors.ts';
import { edited, NotEditable, renamed } from './jsonc-edit.ts';
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

/** Changes the text of the file, or says why it cannot be. An empty file counts as an empty object. */
async function change(file: string, edit: (text: string) => string): Promise<void> {
  const text = read(file).replace(/^\ufeff/u, '');
  let changed: string;
  try {
    changed = edit(text.trim() === '' ? '{}\n' : text);
  } catch (error) {
    if (error instanceof NotEditable) throw new ConfigUnreadable(basename(file), error.message, error);
    throw error;
  }
  await write(file, changed);
}

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    const code = codeOf(error) ?? 'unknown';
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
  await change(file, (before) => {
    const text = was === null || was === name ? before : renamed(before, ['hosts', was], name);
    const connecting = edited(text, ['hosts', name, 'connect'], settings.connect);
    return edited(connecting, ['hosts', name, 'alias'], settings.alias === name ? undefined : settings.alias);
  });
}

/** Takes a saved host out. @throws ConfigUnreadable, WriteFailed */
export async function removeHost(file: string, name: string): Promise<void> {
  await change(file, (text) => edited(text, ['hosts', name], undefined));
}

/** Where a chain of links leads, whether or not something is there: the file may be kept in another folder. */
function behindLinks(file: string): string {
  try {
    return realpathSync(file);
  } catch (error) {
    const code = codeOf(error) ?? 'unknown';
    if (code !== 'ENOENT') throw new ConfigUnreadable(file, `it could not be followed (${code})`, error);
  }
  if (lstatSync(file, { throwIfNoEntry: false })?.isSymbolicLink() !== true) return file;
  return behindLinks(resolve(dirname(file), readlinkSync(file)));
}

async function write(file: string, text: string): Promise<void> {
  const target = behindLinks(file);
  mkdirSync(dirname(target), { recursive: true, mode: 0o700 });
  await atomicWrite(target, text);
}
