import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, lstatSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { isAlive, temporaryFolder, until } from '../local/testing/processes.ts';
import { SshFailed } from '../ssh-failed.ts';
import { sshConfig, sshdProblem, testSshd } from './testing/sshd.ts';
import { statuses, testTransport } from './testing/transport.ts';

const problem = sshdProblem();
beforeEach((context) => {
  if (problem !== null) context.skip(problem);
});

async function failure(act: Promise<unknown>): Promise<SshFailed> {
  const error = await act.then(
    () => null,
    (why: unknown) => why,
  );
  if (!(error instanceof SshFailed)) throw new Error(`no SshFailed: ${String(error)}`);
  return error;
}

test('D11 each way to fail is told by its step, without a person and without a wait', async () => {
  const box = await testSshd({ config: ['PasswordAuthentication yes'] });
  const other = join(box.folder, 'other_hosts');
  execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', join(box.folder, 'other')]);
  const [type, key] = readFileSync(join(box.folder, 'other.pub'), 'utf8').split(' ');
  writeFileSync(other, `[127.0.0.1]:${box.port} ${type} ${key}\n`);
  // Takes connections and never says a word.
  const mute = createServer((socket) => socket.on('error', () => undefined));
  await new Promise<void>((resolve) => mute.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void mute.close());
  const address = mute.address();
  const mutePort = typeof address === 'object' && address !== null ? address.port : 0;
  const config = sshConfig({
    unknown: [box, 'UserKnownHostsFile /dev/null'],
    changed: [box, `UserKnownHostsFile ${other}`],
    denied: [box, 'PreferredAuthentications hostbased'],
    nameless: [box, 'HostName nowhere.invalid'],
    closed: [box, 'Port 1'],
    mute: [box, `Port ${mutePort}`],
    ciphers: [box, 'Ciphers aes128-cbc'],
  });
  const { transport, closeAndCheck } = await testTransport(config, { timing: { budgetMs: 2500 } });
  const names = ['unknown', 'changed', 'denied', 'nameless', 'closed', 'mute', 'ciphers'];
  const failures = await Promise.all(
    names.map(async (name) => {
      const link = await transport.link(name).catch(failAs);
      return link instanceof SshFailed ? link : failure(link.connect());
    }),
  );
  expect(failures.map(({ step, code }) => `${step} ${code}`)).toEqual([
    'host-key unknown-host-key',
    'host-key changed-host-key',
    'authentication permission-denied',
    'name name-not-found',
    'port refused',
    'port deadline',
    'port no-common-algorithms',
  ]);
  expect(failures[0]?.message).toContain(box.fingerprint);
  expect(failures[1]?.message).toContain(`Line 1 of ${other}`);
  await closeAndCheck();
});

function failAs(error: unknown): SshFailed {
  if (error instanceof SshFailed) return error;
  throw error;
}

test('D2 dead and stopped masters at the person’s own ControlPath neither slow us nor are touched', async () => {
  const box = await testSshd();
  const theirs = temporaryFolder();
  const lines = ['ControlMaster auto', `ControlPath ${theirs}/%n.sock`, 'ControlPersist 600'];
  const config = sshConfig({ dead: [box, ...lines], stopped: [box, ...lines], plain: [box] });
  const own = (alias: string) =>
    spawn('ssh', ['-F', config, '-o', 'ControlPersist=no', '-M', '-N', '--', alias], {
      stdio: 'ignore',
      detached: true,
    });
  const [dead, stopped] = [own('dead'), own('stopped')];
  onTestFinished(() => void stopped.kill('SIGKILL'));
  await until('both masters are up', () => ['dead', 'stopped'].every((name) => existsSync(`${theirs}/${name}.sock`)));
  const ended = once(dead, 'exit');
  dead.kill('SIGKILL');
  await ended;
  stopped.kill('SIGSTOP');
  for (const alias of ['plain', 'dead', 'stopped']) {
    // Aliases that differ in their masters alone share a link, so each has a transport.
    const { transport, closeAndCheck } = await testTransport(config);
    const link = await transport.link(alias);
    await link.connect();
    expect((await link.exec('echo in', 60_000)).stdout.toString()).toBe('in\n');
    await closeAndCheck();
  }
  for (const name of ['dead', 'stopped']) expect(lstatSync(`${theirs}/${name}.sock`).isSocket()).toBe(true);
  expect(stopped.exitCode ?? stopped.signalCode).toBeNull();
  expect(isAlive(stopped.pid ?? 0)).toBe(true);
});

test('D2 D16 a stopped master of ours is noticed by the first command that waits in vain, and replaced', async () => {
  const box = await testSshd();
  const { transport, states, closeAndCheck } = await testTransport(sshConfig({ box: [box] }));
  const link = await transport.link('box');
  await link.connect();
  const before = link.processRef?.identity.pid ?? 0;
  process.kill(before, 'SIGSTOP');
  expect((await failure(link.exec('true', 500))).code).toBe('deadline');
  await until(
    'it is connected again',
    () => link.state.status === 'connected' && link.processRef?.identity.pid !== before,
  );
  expect((await link.exec('echo in', 60_000)).stdout.toString()).toBe('in\n');
  const why = states.flatMap((state) => (state.status === 'reconnecting' ? state.why.code : []));
  expect(why).toEqual(['stuck-master']);
  expect(isAlive(before)).toBe(false);
  // Neither a disconnect waits for it, nor the end of everything.
  const stop = async (end: () => Promise<void>): Promise<void> => {
    const pid = link.processRef?.identity.pid ?? 0;
    process.kill(pid, 'SIGSTOP');
    await end();
    expect([link.state.status, link.processRef, isAlive(pid)]).toEqual(['disconnected', null, false]);
  };
  await stop(() => link.disconnect());
  await link.connect();
  await stop(closeAndCheck);
});

test('D16 a half-open connection is noticed by itself, and at once after a resume', async () => {
  const box = await testSshd();
  const { transport, states, closeAndCheck } = await testTransport(sshConfig({ box: [box] }), {
    timing: { aliveSeconds: 1, aliveCount: 2 },
  });
  const link = await transport.link('box');
  await link.connect();
  box.signalConnections('SIGSTOP');
  // With the usual times it would take three quarters of a minute.
  await until('its loss is noticed', () => link.state.status !== 'connected');
  await until('it is connected again', () => link.state.status === 'connected');
  box.signalConnections('SIGCONT');
  const slow = await testTransport(sshConfig({ box: [box] }));
  const other = await slow.transport.link('box');
  await other.connect();
  await slow.transport.wake();
  expect(statuses(slow.states)).toEqual(['connecting', 'connected']);
  box.signalConnections('SIGSTOP');
  await slow.transport.wake();
  await until('it is connected again', () => other.state.status === 'connected');
  expect(statuses(slow.states).slice(2)).toEqual(['reconnecting', 'connecting', 'connected']);
  expect(statuses(states)).toContain('reconnecting');
  box.signalConnections('SIGCONT');
  await slow.closeAndCheck();
  await closeAndCheck();
});

test('D13 a jump works and takes no master of the person’s, nor leaves one behind', async () => {
  const [gate, box] = await Promise.all([testSshd(), testSshd({ machine: true })]);
  const theirs = temporaryFolder();
  const lines = ['ControlMaster auto', `ControlPath ${theirs}/%n.sock`, 'ControlPersist 600'];
  const config = sshConfig({ gate: [gate, ...lines], box: [box, 'ProxyJump gate', ...lines] });
  const { transport, closeAndCheck } = await testTransport(config);
  const link = await transport.link('box');
  await link.connect();
  expect((await link.exec('hostname', 60_000)).stdout.toString()).toMatch(/^box-/u);
  await closeAndCheck();
  expect(['gate', 'box'].filter((name) => existsSync(`${theirs}/${name}.sock`))).toEqual([]);
  await until('the gate has no connection left', () => gate.connections().length === 0);
});

test('D19 a machine that lets us in and closes at once says so, and is not hammered', async () => {
  const box = await testSshd();
  const { transport, states, closeAndCheck } = await testTransport(sshConfig({ box: [box] }), {
    onChange: (link) => {
      if (link.state.status === 'connected') box.signalConnections('SIGKILL');
    },
  });
  const link = await transport.link('box');
  await link.connect().catch(failAs);
  await until('it is tried the third time', () => link.state.status === 'reconnecting' && link.state.attempt === 3);
  const why = states.flatMap((state) => (state.status === 'reconnecting' ? `${state.why.step} ${state.why.code}` : []));
  expect(new Set(why)).toEqual(new Set(['shell closed-at-once']));
  await closeAndCheck();
});

test('an ssh that was gone before it could be read has said itself why', async () => {
  const box = await testSshd();
  const { transport, closeAndCheck } = await testTransport(sshConfig({ box: [box] }), {
    capture: async (pid) => {
      await until('that ssh is gone', () => !isAlive(pid));
      throw new Error('it vanished while it was read');
    },
  });
  const link = await transport.link('box');
  await box.down();
  await expect(link.connect()).rejects.toMatchObject({ code: 'refused' });
  await closeAndCheck();
});
