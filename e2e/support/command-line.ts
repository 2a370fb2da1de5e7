/** The built command line, run with a test's folders. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { Folders } from './app.ts';
import { MARK } from './processes.ts';
import { opencodeEnv } from './servers.ts';

const run = promisify(execFile);

/** @returns what it printed; rejects where it fails */
export async function rollcall(
  folders: Pick<Folders, 'root' | 'state' | 'config' | 'runtime'>,
  mark: string,
  ...args: string[]
): Promise<string> {
  const env = {
    ...process.env,
    ...opencodeEnv(folders.root),
    ROLLCALL_STATE_DIR: folders.state,
    ROLLCALL_CONFIG_DIR: folders.config,
    XDG_RUNTIME_DIR: folders.runtime,
    [MARK]: mark,
  };
  const { stdout } = await run(process.execPath, ['out/cli.js', ...args], { env });
  return stdout;
}
