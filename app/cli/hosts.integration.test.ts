/** The real command over a real sshd, without the app: each connects for itself alone and leaves nothing behind. */
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, expect, onTestFinished, test } from 'vitest';
import { until } from '../hosts/local/testing/processes.ts';
import { sshConfig, sshdTrouble, testSshd } from '../hosts/ssh/testing/sshd.ts';
import { installFake } from '../supervisor/fake-opencode.testing.ts';
import { bundleCommand, CommandHome, type Ran, running } from './command.testing.ts';

const trouble = sshdTrouble();
let program = '';

beforeAll(async () => {
  if (trouble === null) program = await bundleCommand();
});

test.skipIf(trouble !== null)(
  `commands for a host connect for themselves, act there, and leave the servers and nothing else (${trouble ?? 'real sshd'})`,
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
    expect(connected).toMatchObject({ code: 0, out: 'Connected to box.\n' });
    expect(connected.err).toContain('Sign in');
    expect(connected.err).toContain('The connection ends with this command');
    const nowhere = await rollcall('connect', 'no-such-host.invalid');
    expect(nowhere).toMatchObject({ code: 1, out: '' });
    expect(nowhere.err).toMatch(/The name no-such-host\.invalid .* was not found/u);

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
    expect(aborted).toMatchObject({ code: 0, out: 'Session “Far away” was interrupted.\n' });
    const stopped = await rollcall('stop', String(started.pid), '--host', 'box');
    expect(stopped).toMatchObject({ code: 0 });
    expect((await rollcall('stop', String(started.pid), '--host', 'box')).code).toBe(1);

    await until('no connection is left', () => box.connections().length === 0);
    expect(readdirSync(join(own.paths.runtimeDir, 'ssh'))).toEqual([]);
  },
  240_000,
);

test.skipIf(trouble !== null)(
  `a command that is interrupted while it connects takes its ssh with it (${trouble ?? 'real ssh'})`,
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
