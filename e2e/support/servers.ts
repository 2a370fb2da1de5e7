/** Real `opencode` servers for tests, each with a home of its own, and the ways they come to be where they are. */
import { chownSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { opencodeFolders } from '../../app/servers/opencode-home.testing.ts';
import { endMarked, eventually, listeningPorts, marked, type Seen, startMarked } from './processes.ts';

const BINARY = resolve(import.meta.dirname, '../../node_modules/.bin/opencode');

/** Environment that keeps an `opencode` to a folder of the test and off the network. */
export function opencodeEnv(home: string): Record<string, string> {
  const HOME = join(home, 'home');
  mkdirSync(HOME, { recursive: true });
  return { HOME, ...opencodeFolders(home) };
}

export interface StartedServer {
  /** The process that listens. */
  readonly listener: Seen;
  readonly port: number;
  /** The process it was started by. */
  readonly launcher: Seen;
}

export interface LaunchAs {
  readonly mark: string;
  /** Folder for the server's own home; a new one for each server. */
  readonly home: string;
  /** Where it works. */
  readonly directory: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly uid?: number;
  /** Words put before `opencode serve`, `nohup` for example; run by bash, as a person would type it. */
  readonly prefix?: string;
}

/** Real servers start slowly beside other work, in milliseconds. */
const LISTEN_MS = 120_000;

/**
 * A launcher (plain Node) starts `opencode serve` on a free port in a session of its own, as tools do. SIGKILL the
 * launcher and the server is an orphan. Resolves when the server answers: a request that comes before that can be lost.
 */
export async function startByLauncher(as: LaunchAs): Promise<StartedServer> {
  const { mark, home, directory } = as;
  mkdirSync(directory, { recursive: true });
  const env = { ...opencodeEnv(home), ...as.env };
  const ids = as.uid === undefined ? {} : { uid: as.uid, gid: as.uid };
  if (as.uid !== undefined) giveTo(as.uid, home, directory);
  const command =
    as.prefix === undefined
      ? [BINARY, 'serve', '--port', '0']
      : ['bash', '-c', `${as.prefix} ${BINARY} serve --port 0 & wait`];
  const log = join(home, 'server.log');
  const script = `const [program, ...args] = process.argv.slice(1);
    const log = require('node:fs').openSync(${JSON.stringify(log)}, 'a');
    const stdio = ['ignore', log, log];
    require('node:child_process').spawn(program, args, { detached: true, stdio, ...${JSON.stringify(ids)} });
    setInterval(() => {}, 1e6);`;
  const launch = async (): Promise<StartedServer> => {
    const { child, output } = startMarked(mark, [process.execPath, '-e', script, ...command], { cwd: directory, env });
    return await eventually(
      () => {
        const all = marked(mark);
        const launcher = all.find((one) => one.pid === child.pid);
        if (launcher === undefined) throw new Error(`the launcher ended: ${output()}`);
        for (const one of descendants(all, launcher)) {
          const port = listeningPorts(one.pid)[0];
          if (port !== undefined) return { listener: one, port, launcher };
        }
        throw new Error(`no opencode listens yet: ${readFileSync(log, 'utf8').slice(-2000)}`);
      },
      LISTEN_MS,
      200,
    );
  };
  // Of some hundred starts of four at a time, one in which opencode itself never listened was seen twice.
  const found = await launch().catch(async () => {
    await endMarked(mark);
    return await launch();
  });
  await eventually(async () => {
    const answer = await fetch(`http://127.0.0.1:${found.port}/global/health`, { signal: AbortSignal.timeout(1000) });
    if (!answer.ok) throw new Error(`it answered with ${answer.status}`);
  });
  return found;
}

function giveTo(uid: number, ...folders: string[]): void {
  for (const folder of folders) {
    chownSync(folder, uid, uid);
    for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' }))
      chownSync(join(folder, name), uid, uid);
  }
}

/** The processes of `all` below `root`. */
function descendants(all: readonly Seen[], root: Seen): Seen[] {
  return all.filter((one) => one.ppid === root.pid).flatMap((one) => [one, ...descendants(all, one)]);
}
