/** Real `opencode` servers for tests, each with a home of its own, and the ways they come to be where they are. */
import { mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { eventually, listeningPorts, marked, type Seen, startMarked } from './processes.ts';

const BINARY = resolve(import.meta.dirname, '../../node_modules/.bin/opencode');

/** Environment that keeps an `opencode` to a folder of the test and off the network. */
export function opencodeEnv(home: string): Record<string, string> {
  const folder = (name: string): string => {
    const path = join(home, name);
    mkdirSync(path, { recursive: true });
    return path;
  };
  return {
    HOME: folder('home'),
    XDG_CONFIG_HOME: folder('config'),
    XDG_DATA_HOME: folder('data'),
    XDG_STATE_HOME: folder('opencode-state'),
    XDG_CACHE_HOME: folder('cache'),
    OPENCODE_DISABLE_AUTOUPDATE: '1',
    OPENCODE_DISABLE_MODELS_FETCH: '1',
    OPENCODE_DISABLE_LSP_DOWNLOAD: '1',
  };
}

export interface StartedServer {
  /** The process that listens. */
  readonly listener: Seen;
  readonly port: number;
  /** The process it was started by. */
  readonly launcher: Seen;
}

/**
 * A launcher (plain Node) starts `opencode serve` on a free port in a session of its own, as tools do. SIGKILL the
 * launcher and the server is an orphan.
 */
export async function startByLauncher(mark: string, home: string, directory: string): Promise<StartedServer> {
  mkdirSync(directory, { recursive: true });
  const script = `require('node:child_process').spawn(process.argv[1], ['serve', '--port', '0'], { detached: true, stdio: 'ignore' }); setInterval(() => {}, 1e6);`;
  const { child, output } = startMarked(mark, [process.execPath, '-e', script, BINARY], {
    cwd: directory,
    env: opencodeEnv(home),
  });
  return eventually(
    () => {
      const all = marked(mark);
      const launcher = all.find((one) => one.pid === child.pid);
      if (launcher === undefined) throw new Error(`the launcher ended: ${output()}`);
      for (const one of descendants(all, launcher)) {
        const port = listeningPorts(one.pid)[0];
        if (port !== undefined) return { listener: one, port, launcher };
      }
      throw new Error(`no opencode listens yet: ${output()}`);
    },
    30_000,
    200,
  );
}

/** The processes of `all` below `root`. */
function descendants(all: readonly Seen[], root: Seen): Seen[] {
  return all.filter((one) => one.ppid === root.pid).flatMap((one) => [one, ...descendants(all, one)]);
}
