/** Hosts over SSH against the person's own `ssh` to the same machine: a real sshd on the loopback, a machine of its own. */
import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { resolvePaths } from '../app/config/paths.ts';
import { openLocalCore } from '../app/core/local-core.ts';
import { createLocalHost } from '../app/hosts/local/local-host.ts';
import { workerLooker } from '../app/hosts/local/look/look-client.ts';
import { refOf } from '../app/hosts/process-info.ts';
import { Transport } from '../app/hosts/ssh/connection/transport.ts';
import { createSshHost } from '../app/hosts/ssh/host/ssh-host.ts';
import { replaceOn } from '../app/hosts/ssh/testing/replace.ts';
import { sshConfig, sshdProblem, startSshd, type TestSshd } from '../app/hosts/ssh/testing/sshd.ts';
import type { LocalCore } from '../app/supervisor/core.ts';
import { installFake } from '../app/supervisor/testing/fake-opencode.ts';
import { against, median, type Row, within } from './table.ts';

const run = promisify(execFile);
const ROUNDS = 15;
const IDLE_MS = 20_000;

async function timed(work: () => Promise<unknown>): Promise<number> {
  const begun = performance.now();
  await work();
  return performance.now() - begun;
}

async function medianOf(work: () => Promise<unknown>): Promise<number> {
  const times: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) times.push(await timed(work));
  return median(times);
}

/** Rows, or none with the reason on the terminal where no sshd can be had. */
export async function benchSsh(workerUrl: URL): Promise<Row[]> {
  const problem = sshdProblem();
  if (problem !== null) {
    console.log(`bench: hosts over SSH are left out: ${problem}`);
    return [];
  }
  const box = await startSshd({ machine: true });
  const folder = mkdtempSync(join(tmpdir(), 'rcb-'));
  try {
    return [...(await warm(box, folder, workerUrl)), ...(await whole(box, folder, workerUrl))];
  } finally {
    await box.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** One operation over a connection that stands, against one command of `ssh` over a master that stands. */
async function warm(box: TestSshd, folder: string, workerUrl: URL): Promise<Row[]> {
  const here = await createLocalHost({ looker: workerLooker({ workerUrl }), stateDir: folder });
  const config = sshConfig({ box: [box] });
  const transport = await Transport.open({
    runtimeDir: join(folder, 'warm'),
    sshConfig: config,
    env: process.env,
    capture: async (pid) => {
      const info = await here.inspect(pid);
      return info === null ? null : refOf(info);
    },
    questioner: null,
    onChange: () => undefined,
  });
  const control = join(folder, 'peer');
  const peer = ['-F', config, '-o', `ControlPath=${control}`];
  try {
    const link = await transport.link('box');
    await link.connect();
    const made = await createSshHost({
      name: 'box',
      exec: link,
      forwards: link,
      onReach: () => undefined,
      localObserver: null,
    });
    await run('ssh', [...peer, '-o', 'ControlMaster=yes', '-o', 'ControlPersist=yes', '-N', '-f', '--', 'box']);
    const { stdout } = await run('ssh', [...peer, '--', 'box', 'sleep 600 >/dev/null 2>&1 </dev/null & echo $!']);
    const info = await made.host.inspect(Number(stdout));
    if (info === null) throw new Error('no process to verify');
    const held = await made.host.hold(refOf(info));
    const roundTrip = await medianOf(() => run('ssh', [...peer, '--', 'box', 'sh -c true']));
    const signal = await medianOf(async () => {
      const outcome = await held.signal('SIGCONT');
      if (!outcome.sent) throw new Error(JSON.stringify(outcome));
    });
    const verify = await medianOf(() => held.verify());
    await held.signal('SIGKILL');
    await made.host.close();
    return [
      against('warm verify + signal', signal, 'ssh over an open master, sh -c true', roundTrip, 1.3),
      against('warm verify', verify, 'the same', roundTrip, 1.3),
    ];
  } finally {
    await run('ssh', [...peer, '-O', 'exit', '--', 'box']).catch(() => undefined);
    await transport.close();
    await here.close();
  }
}

/** Through the whole core: connect, lose, stale records, idling. */
async function whole(box: TestSshd, folder: string, workerUrl: URL): Promise<Row[]> {
  const project = join(box.folder, 'project');
  mkdirSync(project);
  const paths = resolvePaths({
    env: {
      ROLLCALL_CONFIG_DIR: join(folder, 'config'),
      ROLLCALL_STATE_DIR: join(folder, 'state'),
      XDG_RUNTIME_DIR: join(folder, 'run'),
    },
    platform: process.platform,
    uid: process.getuid?.() ?? null,
    home: folder,
  });
  const hosts = { box: { start: { opencode: { path: installFake(project) } } } };
  mkdirSync(paths.configDir, { recursive: true, mode: 0o700 });
  writeFileSync(paths.configFile, JSON.stringify({ hosts }), { mode: 0o600 });
  const config = sshConfig({ box: [box] });
  const core = await openLocalCore({
    paths,
    lock: null,
    looker: workerLooker({ workerUrl }),
    env: { ...process.env, ROLLCALL_SSH_CONFIG: config },
  });
  core.watchedWhile(() => false);
  try {
    const cold = await medianOf(() => run('ssh', ['-F', config, '--', 'box', 'true']));
    await must(core, { command: 'connect', host: 'box' });
    const begin = await start(core, project);
    await stop(core, begin.id);
    const fresh = await timed(async () => begin.again());
    const stale: number[] = [];
    for (const way of ['process', 'thread'] as const) {
      await replaceOn(box, config, 'box', begin.pid(), way);
      stale.push(await timed(async () => begin.again()));
    }
    await stop(core, begin.current());
    const lost = new Promise<number>((resolve) => {
      const stopped = core.subscribe((roll) => {
        if (roll.hosts.find(({ name }) => name === 'box')?.state === 'connected') return;
        stopped();
        resolve(performance.now());
      });
    });
    box.signalConnections('SIGKILL');
    const at = await lost;
    await until(() => core.roll.hosts.some(({ name, state }) => name === 'box' && state === 'connected'));
    const back = performance.now() - at;
    await delay(3000);
    const before = process.cpuUsage();
    await delay(IDLE_MS);
    const used = process.cpuUsage(before);
    return [
      against('dropped connection → looked at again', back, 'ssh box true, cold', cold, 4),
      within('the same', back, 'ms', 1000),
      against('start with a stale record (PID reused, thread id)', Math.max(...stale), 'start with none', fresh, 1.3),
      within(
        'this machine and one idle host, no window: CPU of a core',
        (used.user + used.system) / 10 / IDLE_MS,
        '%',
        2,
      ),
    ];
  } finally {
    await core.close(false, 5000);
  }
}

type Order = Parameters<LocalCore['run']>[0];

async function must(core: LocalCore, command: Order): Promise<{ id: string; pid: number } | null> {
  const result = await core.run(command, 'cli');
  if (!result.ok) throw new Error(JSON.stringify(result.failure));
  return result.server;
}

async function stop(core: LocalCore, id: string): Promise<void> {
  await must(core, { command: 'stop', server: id, force: true });
}

/** Starts the server; `again` starts it once more and remembers the new one. */
async function start(
  core: LocalCore,
  directory: string,
): Promise<{ id: string; again(): Promise<void>; pid(): number; current(): string }> {
  const once = async (): Promise<{ id: string; pid: number }> => {
    const wish = { kind: 'opencode', directory, port: null, forPid: null, keepRunning: true } as const;
    const server = await must(core, { command: 'start', host: 'box', ...wish });
    if (server === null) throw new Error('no server');
    return server;
  };
  let latest = await once();
  return {
    id: latest.id,
    again: async () => {
      latest = await once();
    },
    pid: () => latest.pid,
    current: () => latest.id,
  };
}

async function until(holds: () => boolean): Promise<void> {
  for (let waited = 0; !holds(); waited += 5) {
    if (waited > 60_000) throw new Error('it did not come back');
    await delay(5);
  }
}
