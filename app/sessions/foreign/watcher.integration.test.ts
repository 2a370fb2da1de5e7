/** Real files, real watches and real processes. */
import { execFileSync } from 'node:child_process';
import {
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { testHost } from '../../hosts/local/testing/hosts.ts';
import {
  endOrphanAfterTest,
  python,
  SPAWN_AT,
  start,
  startTicks,
  temporaryFolder,
  until,
} from '../../hosts/local/testing/processes.ts';
import { claudeFile, entireFile, OTHER, SESSION } from './fixtures.testing.ts';
import { localIo } from './io.ts';
import { ForeignSessions } from './watcher.ts';

interface Scene {
  readonly home: string;
  readonly folder: string;
  readonly foreign: ForeignSessions;
  /** Writes as a tool does that replaces its files. */
  write(path: string, text: string): void;
}

async function scene(): Promise<Scene> {
  const home = temporaryFolder();
  const folder = join(home, '.claude', 'sessions');
  mkdirSync(folder, { recursive: true });
  const host = await testHost();
  const foreign = new ForeignSessions({
    env: {},
    home,
    place: { observer: await host.observer(), hostname: hostname() },
    inspect: (pid) => host.inspect(pid),
    onChange: () => undefined,
  });
  onTestFinished(() => foreign.close());
  await foreign.refresh();
  return {
    home,
    folder,
    foreign,
    write: (path, text) => {
      writeFileSync(`${path}.tmp`, text);
      renameSync(`${path}.tmp`, path);
    },
  };
}

const PLAIN = { pidDomain: undefined };

test('W1 W4 a real process by field 22: told by event, ended when it dies, and again when its PID is reused', async () => {
  const { folder, foreign, write } = await scene();
  const spawner = python(
    `${SPAWN_AT}
import sys
first = spawn_at(int(sys.argv[1]), ['sleep', '60'])
print(first, flush=True)
sys.stdin.readline()
os.kill(first, signal.SIGKILL)
os.waitpid(first, 0)
print('gone', flush=True)
sys.stdin.readline()
print(spawn_at(first, ['sleep', '60']), flush=True)
sys.stdin.readline()`,
    ['29123'],
  );
  const pid = Number(await spawner.line());
  const path = join(folder, `${pid}.json`);
  const ticks = startTicks(pid);
  write(path, claudeFile({ ...PLAIN, pid, procStart: ticks }));
  // By event: the poll comes after ten seconds.
  await until('busy', () => foreign.sessions[0]?.state === 'busy');
  expect(foreign.sessions[0]?.identity).toMatchObject({ pid, startTime: `linux:${ticks}` });
  // In place and of the same length, as `idle` is: only the content tells.
  writeFileSync(path, claudeFile({ ...PLAIN, pid, procStart: ticks, status: 'idle' }));
  await until('idle', () => foreign.sessions[0]?.state === 'idle');

  spawner.tell('');
  await spawner.line();
  await foreign.refresh();
  expect(foreign.sessions[0]).toMatchObject({ state: 'ended', detail: expect.stringContaining(`PID ${pid}`) });

  rmSync(path);
  spawner.tell('');
  expect(Number(await spawner.line())).toBe(pid);
  endOrphanAfterTest(pid);
  write(path, claudeFile({ ...PLAIN, pid, procStart: ticks }));
  await foreign.refresh();
  expect(foreign.sessions[0]).toMatchObject({
    state: 'ended',
    detail: expect.stringContaining('PID 29123'),
    identity: null,
  });
});

test('W5 whatever lies in the folder is passed over, and stays as it is', async () => {
  const { home, folder, foreign, write } = await scene();
  const real = start('sleep', ['60']);
  const good = claudeFile({ ...PLAIN, pid: real.pid, procStart: startTicks(real.pid) });
  execFileSync('mkfifo', [join(folder, '101.json')]);
  mkdirSync(join(folder, '102.json'));
  writeFileSync(join(home, 'outside.json'), claudeFile({ pid: 103 }));
  symlinkSync(join(home, 'outside.json'), join(folder, '103.json'));
  symlinkSync('/dev/zero', join(folder, '104.json'));
  writeFileSync(join(folder, '105.json'), claudeFile({ pid: 105, sessionId: OTHER }));
  truncateSync(join(folder, '105.json'), 100 * 1024 * 1024);
  write(join(folder, `${real.pid}.json`), good);
  const before = readdirSync(folder).sort();
  const times = (): number[] => before.map((name) => statSync(join(folder, name), { throwIfNoEntry: true }).ctimeMs);
  const timesBefore = times();
  await foreign.refresh();
  expect(foreign.sessions.map(({ id, state }) => [id, state])).toEqual([[SESSION, 'busy']]);
  expect(foreign.problem).toBeNull();
  expect(readdirSync(folder).sort()).toEqual(before);
  expect(times()).toEqual(timesBefore);
});

test('W1 a folder that is a link is not followed, and one that is replaced is seen again', async () => {
  const { home, folder, foreign, write } = await scene();
  const real = start('sleep', ['60']);
  const good = claudeFile({ ...PLAIN, pid: real.pid, procStart: startTicks(real.pid) });
  renameSync(folder, join(home, 'elsewhere'));
  write(join(home, 'elsewhere', `${real.pid}.json`), good);
  symlinkSync(join(home, 'elsewhere'), folder);
  await foreign.refresh();
  expect(foreign.sessions).toEqual([]);
  rmSync(folder);
  renameSync(join(home, 'elsewhere'), folder);
  await foreign.refresh();
  expect(foreign.sessions).toHaveLength(1);
});

test('an unchanged file is not read again, one that just changed is', async () => {
  const folder = temporaryFolder();
  const path = join(folder, 'a.json');
  writeFileSync(path, 'busy');
  const fresh = await localIo.read(path, 100, null);
  // Too young: it may change again within one step of the clock.
  expect(fresh).toEqual({ same: false, text: 'busy', stamp: null });
  const settled = await localIo.read('/proc/self/comm', 100, null);
  expect(settled).toMatchObject({ same: false });
  const old = await localIo.read('/etc/passwd', 1024 * 1024, null);
  if (old === null || old.same) throw new Error('it was not read');
  expect(old.stamp).not.toBeNull();
  expect(await localIo.read('/etc/passwd', 1024 * 1024, old.stamp)).toEqual({ same: true });
});

test('entire is read from a worktree and a folder within, by the common folder of its repository', async () => {
  const { home, foreign } = await scene();
  const shop = join(home, 'shop');
  const git = (...args: string[]): void => {
    const identity = ['-c', 'user.name=Ann', '-c', 'user.email=ann@example.org'];
    execFileSync('git', ['-C', shop, ...identity, ...args], { env: { PATH: process.env['PATH'], HOME: home } });
  };
  mkdirSync(shop);
  git('init', '-q');
  git('commit', '-q', '--allow-empty', '-m', 'begin');
  git('worktree', 'add', '-q', '../further');
  const inside = join(home, 'further', 'web');
  mkdirSync(inside);
  expect(await localIo.commonDir(inside)).toBe(join(shop, '.git'));
  expect(await localIo.commonDir(join(home, 'nowhere'))).toBeNull();

  const real = start('sleep', ['60']);
  const owner = { pid: real.pid, start: startTicks(real.pid), host: hostname(), name: 'sleep' };
  mkdirSync(join(shop, '.git', 'entire-sessions'));
  writeFileSync(join(shop, '.git', 'entire-sessions', `${SESSION}.json`), entireFile({ owner }));
  foreign.lookIn([inside]);
  await foreign.refresh();
  expect(foreign.sessions).toMatchObject([{ tool: 'entire', id: SESSION, state: 'busy', identity: { pid: real.pid } }]);
});
