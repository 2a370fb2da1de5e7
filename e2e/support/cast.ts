/**
 * Everybody who must live on while leaked servers are reaped: servers that have an owner, that were detached on
 * purpose, that a unit runs, that another user runs; a look-alike and a stranger. All real processes.
 */
import { chmodSync, existsSync, mkdirSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { endMarked, eventually, lives, newMark, type Seen, seen, startMarked, startStranger } from './processes.ts';
import { type StartedServer, startByLauncher } from './servers.ts';

const CGROUPS = ['/sys/fs/cgroup/unified', '/sys/fs/cgroup'].find((path) => existsSync(join(path, 'cgroup.procs')));

/** What needs root here: another user's process, a cgroup of a service. Elsewhere the cast is smaller. */
export const asRoot = process.getuid?.() === 0;

export interface Cast {
  readonly owned: StartedServer;
  readonly detached: StartedServer;
  /** Null without root or cgroup 2. */
  readonly service: StartedServer | null;
  readonly otherUser: StartedServer | null;
  readonly lookAlike: Seen;
  readonly stranger: Seen;
  /** Names of those who do not live any more. */
  fallen(): string[];
  end(): Promise<void>;
}

function startLookAlike(mark: string): Seen {
  // `exec -a` gives a process any name it likes: this one calls itself a server and is sleep.
  const { child } = startMarked(mark, ['bash', '-c', 'exec -a "opencode serve --port 4096" sleep 600'], {
    stdio: 'ignore',
  });
  const one = child.pid === undefined ? null : seen(child.pid);
  if (one === null) throw new Error('the look-alike did not start');
  return one;
}

/** Kills the launcher, so that nobody owns the server. */
export async function orphan(server: StartedServer): Promise<void> {
  if (lives(server.launcher)) process.kill(server.launcher.pid, 'SIGKILL');
  await eventually(() => {
    if (lives(server.launcher)) throw new Error('the launcher still lives');
  });
}

/** Starts everybody; when one of them fails, those that were started are ended again. */
export async function assemble(root: string): Promise<Cast> {
  const marks: string[] = [];
  try {
    return await gather(root, marks);
  } catch (error) {
    for (const each of marks) await endMarked(each);
    throw error;
  }
}

async function gather(root: string, marks: string[]): Promise<Cast> {
  const start = (name: string, change: { prefix?: string; uid?: number } = {}): Promise<StartedServer> => {
    const mark = newMark();
    marks.push(mark);
    return startByLauncher({ mark, home: join(root, `home-${name}`), directory: join(root, name), ...change });
  };
  // The folders of a test are private; another user must be able to reach its own.
  if (asRoot) chmodSync(root, 0o711);
  const [owned, detached, service, otherUser] = await Promise.all([
    start('owned'),
    start('detached', { prefix: 'nohup' }),
    asRoot && CGROUPS !== undefined ? start('service') : null,
    asRoot ? start('other', { uid: 65534 }) : null,
  ]);
  const unit = join(CGROUPS ?? '/nowhere', `rollcall-e2e-${process.pid}.service`);
  if (service !== null) {
    mkdirSync(unit, { recursive: true });
    writeFileSync(join(unit, 'cgroup.procs'), String(service.listener.pid));
    await orphan(service);
  }
  await orphan(detached);
  const mark = newMark();
  marks.push(mark);
  const stranger = startStranger(mark);
  const lookAlike = startLookAlike(mark);
  const everybody: Readonly<Record<string, Seen | undefined>> = {
    owned: owned.listener,
    'its owner': owned.launcher,
    detached: detached.listener,
    service: service?.listener,
    'of another user': otherUser?.listener,
    'look-alike': lookAlike,
    stranger,
  };
  return {
    owned,
    detached,
    service,
    otherUser,
    lookAlike,
    stranger,
    fallen: () => Object.entries(everybody).flatMap(([name, one]) => (one === undefined || lives(one) ? [] : [name])),
    end: async () => {
      for (const each of marks) await endMarked(each);
      if (service !== null) await eventually(() => rmdirSync(unit));
    },
  };
}
