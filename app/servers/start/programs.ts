/** Programs among the files of this machine. */
import { constants } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { delimiter, isAbsolute, join } from 'node:path';
import type { ProgramFinder } from '../kind.ts';
import { loginPath } from './login-path.ts';

type Env = Readonly<Record<string, string | undefined>>;

/** True for a file that may be run. A missing or unreadable one is simply none. */
export async function isProgramFile(path: string): Promise<boolean> {
  try {
    await access(path, constants.X_OK);
    return (await stat(path)).isFile();
  } catch {
    // Not there, not ours to run, or a broken link: the search goes on with the next folder.
    return false;
  }
}

/** First program of that name in a PATH. Relative entries are passed over: they depend on where we happen to stand. */
export async function findOnPath(path: string, name: string): Promise<string | null> {
  const file = process.platform === 'win32' && !name.toLowerCase().endsWith('.exe') ? `${name}.exe` : name;
  for (const folder of path.split(delimiter)) {
    if (!isAbsolute(folder)) continue;
    const program = join(folder, file);
    if (await isProgramFile(program)) return program;
  }
  return null;
}

/** Looks on this machine: the PATH of an environment, then that of its login shell. */
export function localFinder(env: Env): ProgramFinder {
  return {
    isProgram: isProgramFile,
    onPath: (name) => findOnPath(env['PATH'] ?? '', name),
    onLoginPath: async (name) => {
      const login = await loginPath(env);
      return login === null ? 'unasked' : findOnPath(login, name);
    },
    place: 'on PATH',
  };
}
