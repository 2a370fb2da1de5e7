/** The whole command, with everything in it, on numbers that must never be signalled; a trace tells what it sent. */
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, beforeEach, expect, test } from 'vitest';
import {
  endOrphanAfterTest,
  isAlive,
  python,
  start,
  temporaryFolder,
  until,
} from '../hosts/local/testing/processes.ts';
import { newTrace, straceProblem } from '../hosts/local/testing/strace.ts';
import { installFake, installProgram } from '../supervisor/testing/fake-opencode.ts';
import { bundleCommand } from './command.testing.ts';

const problem = straceProblem();
let program = '';
let env: NodeJS.ProcessEnv = {};

beforeAll(async () => {
  program = await bundleCommand();
});
beforeEach((context) => {
  if (problem !== null) return context.skip(problem);
  const folder = temporaryFolder();
  env = {
    ...process.env,
    HOME: folder,
    ROLLCALL_CONFIG_DIR: join(folder, 'config'),
    ROLLCALL_STATE_DIR: join(folder, 'state'),
    XDG_RUNTIME_DIR: join(folder, 'run'),
  };
});

interface Ran {
  readonly code: number | null;
  readonly said: string;
}

/** Runs something to its end. */
function ran(words: readonly string[]): Promise<Ran> {
  const [first = '', ...rest] = words;
  const child = spawn(first, rest, { env, stdio: ['ignore', 'pipe', 'pipe'] });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => {
      said += chunk.toString();
    });
  }
  return new Promise((resolve) => child.on('close', (code) => resolve({ code, said })));
}

const FORCED = ['--yes', '--force'];

test('C27 F12 `rollcall reap` of what is no PID, no server, this very shell or nobody sends nothing', async () => {
  const bystander = start('sleep', ['600']);
  const holder = python(`
import threading, time
thread = threading.Thread(target=lambda: time.sleep(600), daemon=True); thread.start()
print(thread.native_id, flush=True); time.sleep(600)
`);
  const thread = await holder.line();
  const lookalike = start('sleep', ['600'], { argv0: 'opencode serve --port 4096' });
  const words = [
    '0',
    '1',
    String(bystander.pid),
    thread,
    String(lookalike.pid),
    String(process.pid),
    '4194305',
    '2147483648',
  ];
  const wrong = ['-1', `-${bystander.pid}`, '1.5', '1e3', '0x10', 'opencode', ''];
  for (const word of words) {
    const trace = newTrace();
    const { code, said } = await ran([...trace.prefix, process.execPath, program, 'reap', word, ...FORCED]);
    expect(trace.signals(), word).toEqual([]);
    expect(code, `${word}: ${said}`).toBe(1);
    expect(said).toMatch(/[Nn]othing was signalled|never signalled/u);
  }
  for (const word of wrong) {
    const trace = newTrace();
    const { code, said } = await ran([...trace.prefix, process.execPath, program, 'reap', ...FORCED, '--', word]);
    expect(trace.signals(), word).toEqual([]);
    expect(code, `${word}: ${said}`).toBe(2);
  }
  // Its own shell, by the number that the shell knows.
  const trace = newTrace();
  const script = `"$@" $$ ${FORCED.join(' ')}; echo "ended with $?, and $$ lives"`;
  const own = await ran(['bash', '-c', script, 'sh', ...trace.prefix, process.execPath, program, 'reap']);
  expect(own.said).toMatch(/never signalled[\s\S]*ended with 1, and \d+ lives/u);
  expect(trace.signals()).toEqual([]);
  expect([bystander.pid, holder.pid, lookalike.pid].map(isAlive)).toEqual([true, true, true]);
}, 180_000);

test('a command given inside a server, by the agent that it carries, does not end that server', async () => {
  const folder = temporaryFolder();
  const trace = newTrace();
  const words = [...trace.prefix, process.execPath, program, 'reap'];
  const out = join(folder, 'said');
  const server = start(
    installProgram(
      join(folder, 'inner'),
      'opencode',
      'serve',
      `const { spawn } = require('node:child_process');
       const [first, ...rest] = ${JSON.stringify(words)};
       require('node:http').createServer().listen(0, '127.0.0.1', () => {
         const out = require('node:fs').openSync(${JSON.stringify(out)}, 'a');
         spawn(first, [...rest, String(process.pid), '--yes', '--force'], { stdio: ['ignore', out, out] })
           .on('exit', (code) => require('node:fs').writeFileSync(${JSON.stringify(`${out}.code`)}, String(code)));
       });`,
    ),
    ['serve', '--port', '0'],
    { cwd: join(folder, 'inner'), env },
  );
  await until('the command has ended', () => existsSync(`${out}.code`), 60_000);
  expect(readFileSync(out, 'utf8')).toContain('Rollcall itself or one of its parents');
  expect(readFileSync(`${out}.code`, 'utf8')).toBe('1');
  expect(trace.signals()).toEqual([]);
  expect(isAlive(server.pid)).toBe(true);
});

test('`rollcall reap --all` signals what is leaked, each by its own number, and nobody else', async () => {
  const folder = join(temporaryFolder(), 'servers');
  const fake = installFake(folder);
  mkdirSync(env['ROLLCALL_CONFIG_DIR'] ?? '', { recursive: true, mode: 0o700 });
  const config = join(env['ROLLCALL_CONFIG_DIR'] ?? '', 'config.json');
  writeFileSync(config, '{"leak":{"graceSeconds":0}}', { mode: 0o600 });
  const trace = newTrace();
  const owned = start(fake, ['serve', '--port', '0'], { cwd: folder });
  // Its shell goes when it is up.
  const up = join(folder, 'up');
  const { said } = await ran([
    'bash',
    '-c',
    'cd "$1"; setsid "$2" serve --port 0 >up 2>&1 & echo $!',
    'sh',
    folder,
    fake,
  ]);
  const leaked = Number(said);
  endOrphanAfterTest(leaked);
  await until('it serves', () => existsSync(up) && readFileSync(up, 'utf8').includes('listening'));
  const listed = await ran([process.execPath, program, 'list', '--json']);
  const { servers } = JSON.parse(listed.said) as { servers: { pid: number; standing: string }[] };
  const others = servers.filter(({ pid }) => pid !== leaked && pid !== owned.pid);
  // A developer's machine may have real leaks, which are none of a test's business.
  if (others.some(({ standing }) => standing === 'leaked')) throw new Error(`not ours: ${JSON.stringify(others)}`);
  const { code } = await ran([...trace.prefix, process.execPath, program, 'reap', '--all', '--yes']);
  expect([code, isAlive(leaked), isAlive(owned.pid)]).toEqual([0, false, true]);
  expect(trace.signals()).toEqual([`SIGTERM ${leaked}`]);
});
