/** The real command over a real sshd, without the app: each connects for itself alone and leaves nothing behind. */
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { beforeAll, expect, onTestFinished, test } from 'vitest';
import { until } from '../hosts/local/testing/processes.ts';
import { sshConfig, sshdProblem, testSshd } from '../hosts/ssh/testing/sshd.ts';
import { installFake } from '../supervisor/testing/fake-opencode.ts';
import { bundleCommand, CommandHome, type Ran, running } from './command.testing.ts';

const problem = sshdProblem();
let program = '';

beforeAll(async () => {
  if (problem === null) program = await bundleCommand();
});

test.skipIf(problem !== null)(
  `commands for a host connect for themselves, act there, and leave the servers and nothing else (${problem ?? 'real sshd'})`,
  async () => {
    const box = await testSshd({ machine: true });
    const project = join(box.folder, 'project');
    mkdirSync(project);
    const path = installFake(project);
    const home = join(box.folder, 'here');
    mkdirSync(home);
    const config = sshConfig({ box: [box], other: [box] });
    const FAKE = JSON.stringify({ sessions: [{ id: 'ses_far', title: 'Far away', busy: true }] });
    const own = new CommandHome(home, { hosts: { box: { start: { opencode: { path, env: { FAKE } } } } } });
    const env = { ...own.env, ROLLCALL_SSH_CONFIG: config };
    const rollcall = (...words: string[]): Promise<Ran> => running([process.execPath, program, ...words], env).ended;
    const json = async (...words: string[]) => JSON.parse((await rollcall(...words, '--json')).out);

    expect((await json('hosts')).hosts).toMatchObject([
      { name: 'local', state: 'connected', alias: null },
      { name: 'box', state: 'disconnected', alias: 'box', servers: 0, failure: null },
    ]);
    const connected = await rollcall('connect', 'box');
    expect(connected).toMatchObject({ code: 0, out: expect.stringContaining('box') });
    expect(connected.err).toContain('Sign in');
    const nowhere = await rollcall('connect', 'no-such-host.invalid');
    expect(nowhere).toMatchObject({ code: 1, out: '' });
    expect(nowhere.err).toContain('no-such-host.invalid');

    const started = await json('start', 'opencode', '--host', 'box', '--dir', project);
    expect(started.pid).toBeGreaterThan(1);
    // Also by an alias that nobody has saved.
    const listed = await json('list', '--host', 'other');
    expect(listed.servers).toMatchObject([{ id: started.id, pid: started.pid, standing: 'supervised' }]);
    expect((await rollcall('explain', String(started.pid), '--host', 'box')).code).toBe(0);
    const here = await rollcall('explain', String(started.pid));
    expect(here.code).toBe(1);
    expect(here.out).not.toContain('supervised');
    // Heard through a tunnel that opens only after the first look.
    const aborted = await rollcall('abort', 'ses_far', '--host', 'box', '--yes');
    expect(aborted).toMatchObject({ code: 0, out: expect.stringContaining('“Far away”') });
    const stopped = await rollcall('stop', String(started.pid), '--host', 'box');
    expect(stopped).toMatchObject({ code: 0 });
    expect((await rollcall('stop', String(started.pid), '--host', 'box')).code).toBe(1);

    await until('no connection is left', () => box.connections().length === 0);
    expect(readdirSync(join(own.paths.runtimeDir, 'ssh'))).toEqual([]);
  },
  240_000,
);

test.skipIf(problem !== null)(
  `F15 over SSH a look-alike is in no list and no plan, and refused by name, whatever the account's environment (${problem ?? 'real sshd'})`,
  async () => {
    // Each of these changes how a program there prints what is read.
    const env = {
      TIME_STYLE: 'long-iso',
      QUOTING_STYLE: 'c',
      BLOCK_SIZE: 'human-readable',
      GREP_OPTIONS: '--color=always',
    };
    const box = await testSshd({ machine: true, env });
    const config = sshConfig({ box: [box] });
    const project = join(box.folder, 'project');
    for (const folder of [project, join(box.folder, 'real')]) mkdirSync(folder);
    writeFileSync(join(project, 'serve'), '');
    const path = installFake(join(box.folder, 'real'));
    const there = async (line: string): Promise<string> => {
      const { code, out, err } = await running(['ssh', '-F', config, 'box', line], { PATH: process.env['PATH'] ?? '' })
        .ended;
      if (code !== 0) throw new Error(`${line} ended with ${code}: ${err}`);
      return out.trim();
    };
    const quiet = '</dev/null >/dev/null 2>&1 & echo $!';
    const alike = await there(`cd ${project}; setsid bash -c 'exec -a opencode tail serve -f /dev/null' ${quiet}`);
    const real = await there(`cd ${dirname(path)}; FAKE='{}' setsid ${path} serve --port 0 ${quiet}`);

    const home = join(box.folder, 'here');
    mkdirSync(home);
    const own = new CommandHome(home, { hosts: { box: {} }, leak: { graceSeconds: 0 } });
    const rollcall = (...words: string[]): Promise<Ran> =>
      running([process.execPath, program, ...words], { ...own.env, ROLLCALL_SSH_CONFIG: config }).ended;
    const listed = async () => JSON.parse((await rollcall('list', '--host', 'box', '--json')).out).servers;
    let servers: { pid: number; directory: string | null; standing: string }[] = [];
    await until('the real one is leaked', async () => {
      servers = await listed();
      return servers.some(({ standing }) => standing === 'leaked');
    });
    expect(servers).toMatchObject([{ pid: Number(real), directory: dirname(path), standing: 'leaked' }]);

    const named = await rollcall('reap', alike, '--host', 'box', '--yes');
    expect(named.code).not.toBe(0);
    expect(`${named.out}${named.err}`).toContain('no agent server');
    const forced = await rollcall('reap', alike, '--host', 'box', '--yes', '--force');
    expect(forced.code).not.toBe(0);
    const everything = await rollcall('reap', '--all', '--host', 'box', '--yes');
    expect(everything).toMatchObject({ code: 0 });
    expect(await there(`kill -0 ${alike} && echo alive`)).toBe('alive');
    // The machine's first process may not have collected it yet.
    expect(await there(`cut -d ' ' -f 3 /proc/${real}/stat 2>/dev/null || echo gone`)).toMatch(/^(?:Z|gone)$/u);
    expect(await listed()).toEqual([]);
  },
  240_000,
);

test.skipIf(problem !== null)(
  `a command that is interrupted while it connects takes its ssh with it (${problem ?? 'real ssh'})`,
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'rollcall-interrupted-'));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    // Takes the connection and never greets.
    const silent = createServer();
    onTestFinished(() => void silent.close());
    await new Promise<void>((done) => silent.listen(0, '127.0.0.1', done));
    const greeted = new Promise<Socket>((done) => silent.once('connection', done));
    const { port } = silent.address() as AddressInfo;
    const config = join(folder, 'ssh_config');
    writeFileSync(config, `Host silent\n  HostName 127.0.0.1\n  Port ${port}\n`);
    const own = new CommandHome(folder, {});
    const { child, ended } = running([process.execPath, program, 'list', '--host', 'silent'], {
      ...own.env,
      ROLLCALL_SSH_CONFIG: config,
    });
    const socket = await greeted;
    const gone = new Promise((done) => socket.once('close', done));
    socket.resume();
    child.kill('SIGINT');
    expect(await ended).toMatchObject({ code: 1, signal: null });
    // The other end of its connection is an ssh; when that has gone, so has the process.
    await gone;
    expect(readdirSync(join(own.paths.runtimeDir, 'ssh'))).toEqual([]);
  },
  120_000,
);
