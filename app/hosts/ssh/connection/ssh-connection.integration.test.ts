import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { connect, createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { temporaryFolder, until } from '../../local/testing/processes.ts';
import { SshFailed } from '../../ssh-failed.ts';
import type { At } from '../contract.ts';
import { sshConfig, sshdProblem, testSshd } from '../testing/sshd.ts';
import { statuses, testTransport } from '../testing/transport.ts';
import type { SshConnection } from './ssh-connection.ts';

const problem = sshdProblem();
beforeEach((context) => {
  if (problem !== null) context.skip(problem);
});

async function failure(act: Promise<unknown>): Promise<SshFailed> {
  try {
    await act;
  } catch (error) {
    if (error instanceof SshFailed) return error;
    throw error;
  }
  throw new Error('it did not fail');
}

/** A listener that says `hello` to everybody and ends. */
async function greeter(): Promise<{ address: string; port: number }> {
  const server: Server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.end('hello');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const address = server.address();
  if (typeof address !== 'object' || address === null) throw new Error('no port');
  return { address: '127.0.0.1', port: address.port };
}

function heard(at: At): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = at.type === 'socket' ? connect(at.path) : connect(at.port, at.address);
    let text = '';
    socket.on('data', (chunk: Buffer) => {
      text += chunk.toString();
    });
    socket.once('error', reject);
    socket.once('close', () => resolve(text));
  });
}

async function output(link: SshConnection, script: string, deadlineMs = 60_000): Promise<string> {
  return (await link.exec(script, deadlineMs)).stdout.toString().trim();
}

test('a connection carries commands: bytes as they are, streams apart, every exit code its own', async () => {
  const box = await testSshd();
  const { transport, closeAndCheck, states } = await testTransport(sshConfig({ box: [box] }));
  const link = await transport.link('box');
  await link.connect();
  expect(statuses(states)).toEqual(['connecting', 'connected']);
  const steps = states.flatMap((state) => (state.status === 'connecting' ? state.step : []));
  expect([...new Set(steps)]).toEqual(['name', 'port', 'host-key', 'authentication', 'link']);
  const said = await link.exec('printf "a\\000\\377b"; echo trouble >&2; exit 7', 60_000);
  expect(said).toEqual({ stdout: Buffer.from([0x61, 0, 0xff, 0x62]), stderr: 'trouble\n', code: 7 });
  expect((await link.exec('exit 255', 60_000)).code).toBe(255);
  expect((await link.exec('kill -9 $PPID $$', 60_000)).code).toBeNull();
  const large = await link.exec(
    `head -c 20000000 /dev/zero; cat >/dev/null <<'END'\n${'x'.repeat(500_000)}\nEND\n`,
    60_000,
  );
  expect([large.stdout.length, large.code]).toEqual([20_000_000, 0]);
  // A thread that is busy while everything arrives still reads all of it.
  const go = join(temporaryFolder(), 'go');
  const busy = link.exec(`until [ -e '${go}' ]; do sleep 0.05; done; head -c 3000000 /dev/zero`, 60_000);
  await until('it is under way', () => clients() === 1);
  writeFileSync(go, '');
  const end = performance.now() + 1500;
  while (performance.now() < end) Math.random();
  expect((await busy).stdout.length).toBe(3_000_000);
  expect(link.processRef?.identity.pid).toBeGreaterThan(1);
  await closeAndCheck();
  expect(link.state.status).toBe('disconnected');
  expect((await failure(link.exec('true', 1000))).code).toBe('not-connected');
});

test('no more than 8 sessions at once, and a server that allows 2 is never asked over another connection', async () => {
  const few = await testSshd({ config: ['MaxSessions 2'] });
  const many = await testSshd();
  const { transport, closeAndCheck } = await testTransport(sshConfig({ few: [few], many: [many] }));
  const [fewLink, manyLink] = await Promise.all([transport.link('few'), transport.link('many')]);
  await Promise.all([fewLink.connect(), manyLink.connect()]);
  const accepted = (log: string): number =>
    log.split('\n').filter((line) => line.includes('Accepted publickey')).length;
  await Promise.all(Array.from({ length: 6 }, () => output(fewLink, 'sleep 0.1; echo done')));
  expect(accepted(few.log())).toBe(1);
  let most = 0;
  const probe = setInterval(() => {
    most = Math.max(most, clients());
  }, 10);
  const said = await Promise.all(Array.from({ length: 20 }, () => output(manyLink, 'sleep 0.2; echo done')));
  clearInterval(probe);
  expect(said).toEqual(Array.from({ length: 20 }, () => 'done'));
  expect(most).toBe(8);
  expect(accepted(many.log())).toBe(1);
  await closeAndCheck();
});

/** Our clients that run now. */
function clients(): number {
  const children = readFileSync(`/proc/${process.pid}/task/${process.pid}/children`, 'latin1').trim().split(' ');
  return children.filter((pid) => {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, 'latin1').includes('ProxyCommand=false');
    } catch {
      return false; // ended
    }
  }).length;
}

test('D14 D18 forwards: a private socket, a wanted port, another one when it is taken; taken away again', async () => {
  const box = await testSshd();
  const far = await greeter();
  const forwards = ['LocalForward 127.0.0.1:1 127.0.0.1:2', 'RemoteForward 1 127.0.0.1:2', 'ExitOnForwardFailure yes'];
  const { transport, closeAndCheck, folder } = await testTransport(sshConfig({ box: [box, ...forwards] }));
  const link = await transport.link('box');
  await link.connect();
  const socket = await link.socket(far);
  expect(await heard(socket.at)).toBe('hello');
  const first = await link.port(far, null);
  expect(await heard(first.at)).toBe('hello');
  const second = await link.port(far, first.at.port);
  expect(second.at.port).not.toBe(first.at.port);
  expect(await heard(second.at)).toBe('hello');
  await Promise.all([first.close(), first.close(), socket.close()]);
  await expect(heard(first.at)).rejects.toThrow('ECONNREFUSED');
  await expect(heard(socket.at)).rejects.toThrow('ENOENT');
  const again = await link.port(far, first.at.port);
  expect(again.at.port).toBe(first.at.port);
  expect(readdirSync(folder).length).toBe(1);
  await closeAndCheck();
  await expect(heard(again.at)).rejects.toThrow('ECONNREFUSED');
});

test('a dropped connection is tried again at once, on the same port, and its commands say what happened', async () => {
  const box = await testSshd();
  const far = await greeter();
  const pauses: number[] = [];
  const onChange = ({ state }: SshConnection): void => {
    if (state.status === 'reconnecting') pauses.push(state.retryAt.monotonic - performance.now());
  };
  const { transport, closeAndCheck, states } = await testTransport(sshConfig({ box: [box] }), { onChange });
  const link = await transport.link('box');
  await link.connect();
  const forward = await link.port(far, null);
  const running = failure(link.exec('sleep 60', 60_000));
  await until('the command runs', () => clients() === 1);
  box.signalConnections('SIGKILL');
  expect((await running).code).toBe('link-lost');
  await until('it is connected again', () => link.state.status === 'connected');
  const again = await link.port(far, forward.at.port);
  expect(await heard(again.at)).toBe('hello');
  expect(again.at.port).toBe(forward.at.port);
  await forward.close();
  expect(await heard(again.at)).toBe('hello');
  expect(statuses(states)).toEqual(['connecting', 'connected', 'reconnecting', 'connecting', 'connected']);
  // What is promised, a second plus the time of the link, is more than this one pause.
  expect(pauses).toHaveLength(1);
  expect(pauses[0]).toBeLessThan(500);
  await closeAndCheck();
});

test('a machine that is down is tried again with growing pauses, at once when told, and never after a disconnect', async () => {
  const box = await testSshd();
  let changedAt = 0;
  const changed: string[] = [];
  const onChange = ({ alias }: SshConnection): void => {
    changedAt = performance.now();
    changed.push(alias);
  };
  const config = sshConfig({ box: [box], other: [box, 'Compression yes'] });
  const { transport, closeAndCheck } = await testTransport(config, { onChange });
  const link = await transport.link('box');
  await link.connect();
  await box.down();
  await until('two attempts failed', () => link.state.status === 'reconnecting' && link.state.attempt === 3);
  if (link.state.status !== 'reconnecting') throw new Error('unexpected state');
  expect(link.state.why.code).toBe('refused');
  // From when it was lost: how late this line comes depends on what else the machine does.
  expect(link.state.retryAt.monotonic - changedAt).toBeGreaterThan(1000);
  // Somebody who asks in between hears how it is, and it goes on coming back.
  for (const attempt of [4, 5, 6, 7]) {
    expect((await failure(link.connect())).code).toBe('refused');
    expect(link.state).toMatchObject({ status: 'reconnecting', attempt });
  }
  await box.up();
  // The next attempt by itself is half a minute away by now.
  const announced = link.state.status === 'reconnecting' ? link.state.retryAt.monotonic : 0;
  link.retryNow();
  await until('it is connected', () => link.state.status === 'connected');
  expect(announced).toBeGreaterThan(performance.now());
  await box.down();
  await until('it is lost', () => link.state.status === 'reconnecting');
  await link.disconnect();
  const before = changed.length;
  link.retryNow();
  await transport.wake();
  // Another one is tried again meanwhile, twice, with the pauses that this one would have had.
  const other = await transport.link('other');
  expect((await failure(other.connect({ keepTrying: true }))).code).toBe('refused');
  await until('it is tried again', () => other.state.status === 'reconnecting' && other.state.attempt === 3);
  expect(link.state.status).toBe('disconnected');
  expect(changed.slice(before)).not.toContain('box');
  await closeAndCheck();
});

test('D16 a host that connects at start is tried until it can be reached, and one that is asked for fails once', async () => {
  const box = await testSshd();
  // Two ways to one machine: one keeps trying, the other is tried when told.
  const config = sshConfig({ start: [box], asked: [box, 'Compression yes'] });
  let startAt = 0;
  const { transport, closeAndCheck } = await testTransport(config, {
    onChange: (link) => {
      if (link.alias === 'start') startAt = performance.now();
    },
  });
  const [start, asked] = await Promise.all([transport.link('start'), transport.link('asked')]);
  expect(start).not.toBe(asked);
  await box.down();
  const failures = await Promise.all([failure(start.connect({ keepTrying: true })), failure(asked.connect())]);
  expect(failures.map(({ code }) => code)).toEqual(['refused', 'refused']);
  expect(start.state).toMatchObject({ status: 'reconnecting', attempt: 2, why: { code: 'refused' } });
  if (start.state.status !== 'reconnecting') throw new Error('unexpected state');
  expect(start.state.retryAt.monotonic - startAt).toBeGreaterThan(500);
  expect(asked.state.status).toBe('failed');
  await box.up();
  await until('it is connected by itself', () => start.state.status === 'connected');
  expect(asked.state.status).toBe('failed');
  await asked.wake();
  await until('a wake was enough', () => asked.state.status === 'connected');
  // What was connected once comes back, whatever failed since.
  await box.down();
  await until('both are lost', () => [start, asked].every(({ state }) => state.status === 'reconnecting'));
  await asked.disconnect();
  expect((await failure(asked.connect())).code).toBe('refused');
  expect(asked.state.status).toBe('failed');
  await closeAndCheck();
});

test('D11 what only a person can mend is tried neither again nor after a wake', async () => {
  const box = await testSshd();
  const config = sshConfig({ box: [box, 'PreferredAuthentications hostbased'], other: [box] });
  const { transport, states, closeAndCheck } = await testTransport(config);
  const link = await transport.link('box');
  expect((await failure(link.connect({ keepTrying: true }))).code).toBe('permission-denied');
  await transport.wake();
  expect(statuses(states)).toEqual(['connecting', 'failed']);
  // In the time in which another one is connected, this one would be tried.
  const before = states.length;
  await (await transport.link('other')).connect();
  expect(states.slice(before).map(({ status }) => status)).not.toContain('failed');
  expect(link.state.status).toBe('failed');
  await closeAndCheck();
});

test('a server that forbids every forward is not taken for dead, and says so only of forwards', async () => {
  const box = await testSshd({ config: ['DisableForwarding yes'] });
  const { transport, closeAndCheck, states } = await testTransport(sshConfig({ box: [box] }));
  const link = await transport.link('box');
  await link.connect();
  await transport.wake();
  expect(await output(link, 'echo in')).toBe('in');
  expect(statuses(states)).toEqual(['connecting', 'connected']);
  const forward = await link.port({ address: '127.0.0.1', port: 9 }, null);
  expect(await heard(forward.at)).toBe('');
  await closeAndCheck();
});

test('a quit in the middle of connecting leaves nothing, and nothing comes back after it', async () => {
  const box = await testSshd();
  for (const at of ['name', 'port', 'host-key', 'authentication', 'link'] as const) {
    let arrived = (): void => undefined;
    const there = new Promise<void>((resolve) => {
      arrived = resolve;
    });
    const onChange = ({ state }: SshConnection): void => {
      if (state.status === 'connecting' && state.step === at) arrived();
    };
    const { transport, closeAndCheck } = await testTransport(sshConfig({ box: [box] }), { onChange });
    const link = await transport.link('box');
    const connecting = failure(link.connect().then(() => link.exec('sleep 60', 60_000)));
    await there;
    await closeAndCheck();
    expect((await connecting).step).toBe('link');
    expect((await failure(link.connect())).code).toBe('disconnected');
    link.retryNow();
    expect((await failure(transport.link('box'))).code).toBe('disconnected');
    expect(link.state.status).toBe('disconnected');
  }
  await until('the machine has no connection left', () => box.connections().length === 0);
});
