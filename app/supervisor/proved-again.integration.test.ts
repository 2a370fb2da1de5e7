/** What a row was when it was judged is proved again before the first signal; what only looks alike is left alone. */
import { spawn } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Look, LookRequest } from '../hosts/host.ts';
import { inlineLooker, type Looker } from '../hosts/local/look/looker.ts';
import { PYTHON, until } from '../hosts/local/testing/processes.ts';
import { recognise } from '../servers/recognition/recognise.ts';
import { isAlive, Started } from './testing/processes.ts';
import { openWorld, type World } from './testing/world.ts';

let folder: string;
let program: string;
let started: Started;
let world: World | null;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'rollcall-proved-'));
  program = join(folder, 'opencode');
  copyFileSync(PYTHON, program);
  chmodSync(program, 0o755);
  started = new Started();
  world = null;
});
afterEach(async () => {
  await world?.dispose();
  await started.endAll();
  rmSync(folder, { recursive: true, force: true });
});

/** Listens, then says its PID in a file of this name. */
const listening = (name: string): string => `
import os, socket, subprocess, time
s = socket.socket(); s.bind(('127.0.0.1', 0)); s.listen()
open('${name}.new', 'w').write(str(os.getpid())); os.rename('${name}.new', '${name}')
`;
const waitFor = (file: string): string => `while not os.path.exists('${file}'): time.sleep(0.05)\n`;

async function pidIn(file: string): Promise<number> {
  await until(`${file} is there`, () => existsSync(file));
  const pid = Number(readFileSync(file, 'utf8'));
  started.note(pid);
  return pid;
}

/** Runs a script called `serve` in a folder as the server that its program looks like. */
function serve(script: string, at = folder, file = program): void {
  writeFileSync(join(at, 'serve'), script);
  spawn(file, ['serve'], { argv0: 'opencode', stdio: 'ignore', detached: true, cwd: at }).unref();
}

const runs = (pid: number): string => readFileSync(`/proc/${pid}/cmdline`, 'latin1').split('\0')[0] ?? '';

/** Looks with something that happens right before the look of an ending, and with what becomes of that look. */
function lookingAtEnding(
  pid: number,
  before: () => Promise<void>,
  after: (look: Look) => Look = (look) => look,
): Looker {
  const real = inlineLooker(recognise);
  const look = async (request: LookRequest): Promise<Look> => {
    if (request.trees?.includes(pid) !== true) return real.look(request);
    await before();
    return after(await real.look(request));
  };
  return new Proxy(real, {
    get: (target, name) => {
      if (name === 'look') return look;
      const value: unknown = Reflect.get(target, name);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

async function reap(on: World, pid: number) {
  const targets = [on.server(pid)?.id ?? ''];
  return (await on.core.run({ command: 'reap', targets, confirmed: true, force: true }, 'cli')).results;
}

test('a server that a tool started with the same program and arguments has a row of its own, and stays', async () => {
  mkdirSync(join(folder, 'sub'));
  writeFileSync(join(folder, 'sub', 'serve'), `${listening(join(folder, 'b'))}time.sleep(600)`);
  serve(`${listening(join(folder, 'a'))}
env = {**os.environ, 'PATH': '${folder}:' + os.environ['PATH'], 'OPENCODE_PID': str(os.getpid())}
subprocess.Popen(['/bin/bash', '-c', 'opencode serve'], cwd='${folder}/sub', start_new_session=True, env=env)
time.sleep(600)`);
  const [a, b] = [await pidIn(join(folder, 'a')), await pidIn(join(folder, 'b'))];
  const here = await openWorld();
  world = here;
  await here.until('each has a row', () => here.server(a)?.pid === a && here.server(b)?.pid === b);
  expect(await reap(here, a)).toMatchObject([{ pid: a, outcome: 'gone' }]);
  expect([isAlive(a), isAlive(b)]).toEqual([false, true]);
});

test('a worker of another user is no part of its server', async (context) => {
  if (process.getuid?.() !== 0) context.skip('only root may become another user');
  serve(`${listening(join(folder, 'a'))}
if os.fork() == 0:
    os.setgid(12345); os.setuid(12345)
    open('/proc/self/comm').close(); time.sleep(600)
open('${join(folder, 'forked')}', 'w').close()
time.sleep(600)`);
  const a = await pidIn(join(folder, 'a'));
  const here = await openWorld();
  world = here;
  await here.until('the worker is listed for itself', () =>
    here.core.roll.servers.some(({ pid, ownUid }) => pid !== a && !ownUid && here.server(a)?.pids.length === 1),
  );
  const worker = here.core.roll.servers.find(({ ownUid }) => !ownUid)?.pid ?? 0;
  started.note(worker);
  const results = await reap(here, a);
  expect(isAlive(a)).toBe(false);
  expect(isAlive(worker)).toBe(true);
  expect(results).toMatchObject([{ outcome: 'survived', message: expect.stringContaining(`PID ${worker}`) }]);
});

test('a wrapper that runs something else by now is not signalled', async () => {
  const wrapper = join(folder, 'w', 'opencode');
  mkdirSync(join(folder, 'w'));
  writeFileSync(
    wrapper,
    `#!/bin/bash\ncd ${folder}\necho $$ > wpid.new; mv wpid.new wpid\n${program} serve &\nwhile [ ! -e go ]; do sleep 0.05; done\nexec tail -f /dev/null\n`,
  );
  chmodSync(wrapper, 0o755);
  writeFileSync(join(folder, 'serve'), `${listening(join(folder, 'a'))}time.sleep(600)`);
  spawn(wrapper, ['serve'], { stdio: 'ignore', detached: true, cwd: folder }).unref();
  const [wpid, a] = [await pidIn(join(folder, 'wpid')), await pidIn(join(folder, 'a'))];
  const changes = async (): Promise<void> => {
    writeFileSync(join(folder, 'go'), '');
    await until('it runs tail', () => runs(wpid) === 'tail');
  };
  const here = await openWorld({ looker: lookingAtEnding(a, changes) });
  world = here;
  await here.until('both are one row', () => here.server(a)?.pids.join() === `${wpid},${a}`);
  expect(await reap(here, a)).toMatchObject([{ outcome: 'refused', signals: [] }]);
  expect([isAlive(wpid), isAlive(a)]).toEqual([true, true]);
});

test.each([
  ['shows it', (look: Look) => look],
  [
    'cannot read it',
    (look: Look, pid: number): Look => ({
      ...look,
      processes: new Map([...look.processes].filter(([each]) => each !== pid)),
      candidates: look.candidates.filter((each) => each.pid !== pid),
      gaps: [{ pid, why: 'reading it does not return' }],
    }),
  ],
])('a server that became something else is not signalled, whether the look %s', async (_, changed) => {
  serve(`${listening(join(folder, 'a'))}${waitFor(join(folder, 'go'))}
s.set_inheritable(True)
os.execv('/usr/bin/tail', ['tail', '-f', '/dev/null'])`);
  const a = await pidIn(join(folder, 'a'));
  const changes = async (): Promise<void> => {
    writeFileSync(join(folder, 'go'), '');
    await until('it runs tail', () => runs(a) === 'tail');
  };
  const here = await openWorld({ looker: lookingAtEnding(a, changes, (look) => changed(look, a)) });
  world = here;
  await here.until('it is seen', () => here.server(a) !== undefined);
  expect(await reap(here, a)).toMatchObject([{ outcome: 'refused', signals: [] }]);
  expect(isAlive(a)).toBe(true);
});

test('a leftover that has taken another environment is none any more, although its arguments are the same', async () => {
  const script = join(folder, 'd.py');
  writeFileSync(
    script,
    `${listening(join(folder, 'a'))}
if os.environ.get('OPENCODE_PID'):
${waitFor(join(folder, 'go')).replace(/^/gmu, '    ')}
    env = dict(os.environ); del env['OPENCODE_PID']
    os.execve('${PYTHON}', ['${PYTHON}', '${script}'], env)
open('${join(folder, 'changed')}', 'w').close()
time.sleep(600)`.replace(/^ +$/gmu, ''),
  );
  const dead = spawn('/bin/true');
  await new Promise((done) => dead.once('exit', done));
  const env = { ...process.env, OPENCODE_PID: String(dead.pid) };
  spawn('/bin/bash', ['-c', `setsid ${PYTHON} ${script} >/dev/null 2>&1 &`], { env, stdio: 'ignore' });
  const a = await pidIn(join(folder, 'a'));
  const here = await openWorld();
  world = here;
  await here.until('it is a leftover', () => here.leftover(a) !== undefined);
  // Older than what is read again at every look in any case.
  await until('it is no young process', () => uptime() - startOf(a) > 11);
  writeFileSync(join(folder, 'go'), '');
  await until('it has changed', () => existsSync(join(folder, 'changed')));
  await here.until('it is no leftover any more', () => here.leftover(a) === undefined);
  expect(isAlive(a)).toBe(true);
});

/** Seconds since the boot, and those at which a process started. */
const uptime = (): number => Number.parseFloat(readFileSync('/proc/uptime', 'utf8'));
const startOf = (pid: number): number => {
  const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
  return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19]) / 100;
};
