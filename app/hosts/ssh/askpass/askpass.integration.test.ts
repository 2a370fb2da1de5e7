import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { python, until } from '../../local/testing/processes.ts';
import { SshFailed } from '../../ssh-failed.ts';
import { testAskpass } from '../testing/askpass.ts';
import { sshConfig, sshdProblem, type TestSshd, testSshd } from '../testing/sshd.ts';
import { statuses, testTransport } from '../testing/transport.ts';
import type { SshQuestion } from './questions.ts';

const problem = sshdProblem();
beforeEach((context) => {
  if (problem !== null) context.skip(problem);
});

const PASSWORD = 'correct-horse-battery';

function passwordBox(): Promise<TestSshd> {
  return testSshd({ accounts: [{ name: 'root', password: PASSWORD }], config: ['PasswordAuthentication yes'] });
}

async function codeOf(act: Promise<unknown>): Promise<string> {
  try {
    await act;
    return 'no failure';
  } catch (error) {
    if (error instanceof SshFailed) return `${error.step} ${error.code}`;
    throw error;
  }
}

/** Places outside our own memory that hold a text: arguments and environments of all processes, files below folders. */
function placesOf(secret: string, folders: readonly string[]): readonly string[] {
  const holds = (path: string): boolean => {
    try {
      return readFileSync(path).includes(secret);
    } catch {
      return false; // ended meanwhile, or a socket
    }
  };
  const processes = readdirSync('/proc').filter((name) => /^\d+$/u.test(name));
  const files = folders.flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name)),
  );
  return [...processes.flatMap((pid) => [`/proc/${pid}/cmdline`, `/proc/${pid}/environ`]), ...files].filter(holds);
}

test('a password is asked for, asked again when wrong, and is nowhere but in memory', async () => {
  const box = await passwordBox();
  const questions: SshQuestion[] = [];
  const found: string[] = [];
  const { questioner, runtimeDir } = await testAskpass(async (question) => {
    questions.push(question);
    found.push(...placesOf(PASSWORD, [runtimeDir, box.folder]));
    return question.attempt === 1 ? 'wrong' : PASSWORD;
  });
  const config = sshConfig({ box: [box, 'PreferredAuthentications password'] });
  const { transport, states, closeAndCheck, folder } = await testTransport(config, { questioner, runtimeDir });
  const link = await transport.link('box');
  await link.connect();
  expect(questions.map(({ type, alias, attempt }) => [type, alias, attempt])).toEqual([
    ['password', 'box', 1],
    ['password', 'box', 2],
  ]);
  expect(statuses(states)).toEqual([
    'connecting',
    'authenticating',
    'connecting',
    'authenticating',
    'connecting',
    'connected',
  ]);
  expect((await link.exec('echo in', 60_000)).stdout.toString()).toBe('in\n');
  found.push(...placesOf(PASSWORD, [runtimeDir, box.folder]));
  expect(found).toEqual([]);
  // The search itself finds what is there.
  const careless = python('print("up", flush=True); input()', [PASSWORD], { env: { SECRET: PASSWORD } });
  await careless.line();
  expect(placesOf(PASSWORD, [])).toEqual([`/proc/${careless.pid}/cmdline`, `/proc/${careless.pid}/environ`]);
  expect(statSync(folder).mode & 0o777).toBe(0o700);
  const [socket = ''] = readdirSync(folder).filter((name) => name.startsWith('ask-'));
  expect(statSync(join(folder, socket)).mode & 0o777).toBe(0o600);
  await questioner.close();
  await closeAndCheck();
});

test('D12 a locked key asks for its passphrase by its file; without a person the failure says what it needs', async () => {
  const box = await testSshd();
  execFileSync('ssh-keygen', ['-q', '-p', '-P', '', '-N', PASSWORD, '-f', box.key]);
  const config = sshConfig({ box: [box] });
  const questions: SshQuestion[] = [];
  const { questioner, runtimeDir } = await testAskpass(async (question) => {
    questions.push(question);
    return PASSWORD;
  });
  const { transport } = await testTransport(config, { questioner, runtimeDir });
  await (await transport.link('box')).connect();
  expect(questions.map(({ type, keyPath }) => [type, keyPath])).toEqual([['passphrase', box.key]]);
  const alone = await testTransport(config);
  const link = await alone.transport.link('box');
  expect(await codeOf(link.connect())).toBe('authentication key-locked');
  if (link.state.status !== 'failed') throw new Error('unexpected state');
  expect(link.state.error.message).toContain(box.key);
  expect(link.state.error.remedy).toContain('ssh-add');
  await alone.closeAndCheck();
});

test('D11 an unknown host key is shown with its fingerprint, accepted by yes alone, and noted where ssh notes it', async () => {
  const box = await testSshd();
  writeFileSync(box.knownHosts, '');
  const answers = ['no', 'yes'];
  const questions: SshQuestion[] = [];
  const { questioner, runtimeDir } = await testAskpass(async (question) => {
    questions.push(question);
    return answers.shift() ?? null;
  });
  const { transport } = await testTransport(sshConfig({ box: [box] }), { questioner, runtimeDir });
  const link = await transport.link('box');
  expect(await codeOf(link.connect())).toBe('host-key unknown-host-key');
  expect(readFileSync(box.knownHosts, 'utf8')).toBe('');
  await link.connect();
  expect(questions.map(({ type, fingerprint }) => [type, fingerprint])).toEqual([
    ['host-key', box.fingerprint],
    ['host-key', box.fingerprint],
  ]);
  expect(questions[0]?.text).toContain('authenticity of host');
  expect(readFileSync(box.knownHosts, 'utf8')).toContain('ssh-ed25519');
  await link.disconnect();
  await link.connect();
  expect(questions.length).toBe(2);
});

test('D13 a machine on the way may ask, too', async () => {
  const [gate, box] = await Promise.all([passwordBox(), testSshd()]);
  writeFileSync(box.knownHosts, '');
  const questions: SshQuestion[] = [];
  const { questioner, runtimeDir } = await testAskpass(async (question) => {
    questions.push(question);
    return question.type === 'password' ? PASSWORD : 'yes';
  });
  const config = sshConfig({
    gate: [gate, 'PreferredAuthentications password'],
    box: [box, 'ProxyJump gate'],
  });
  const { transport } = await testTransport(config, { questioner, runtimeDir });
  await (await transport.link('box')).connect();
  expect(questions.map(({ type, alias }) => [type, alias])).toEqual([
    ['password', 'box'],
    ['host-key', 'box'],
  ]);
  // Without a person the way is refused as fast as the machine itself would be.
  const alone = await testTransport(config);
  expect(await codeOf((await alone.transport.link('box')).connect())).toBe('authentication permission-denied');
  await alone.closeAndCheck();
});

test('a question that nobody answers times out, one that is given up ends the attempt, a disconnect takes it back', async () => {
  const box = await passwordBox();
  const config = sshConfig({ box: [box, 'PreferredAuthentications password'] });
  let answer: () => Promise<string | null> = () => new Promise(() => undefined);
  let withdrawn = 0;
  const { questioner, runtimeDir } = await testAskpass((_question, signal) => {
    signal.addEventListener('abort', () => {
      withdrawn += 1;
    });
    return answer();
  }, 1500);
  const { transport, closeAndCheck } = await testTransport(config, { questioner, runtimeDir });
  const link = await transport.link('box');
  expect(await codeOf(link.connect())).toBe('authentication timeout');
  expect(withdrawn).toBe(1);
  answer = async () => null;
  expect(await codeOf(link.connect())).toBe('authentication cancelled');
  answer = () => new Promise(() => undefined);
  const connecting = codeOf(link.connect());
  await until('the question is there', () => link.state.status === 'authenticating');
  await link.disconnect();
  expect(await connecting).toBe('link disconnected');
  expect([withdrawn, link.state.status]).toEqual([3, 'disconnected']);
  await questioner.close();
  await closeAndCheck();
});

test('whoever else connects to the socket gets nothing, whatever it knows', async () => {
  const box = await passwordBox();
  const asked: SshQuestion[] = [];
  let give: (answer: string) => void = () => undefined;
  const { questioner, runtimeDir } = await testAskpass((question) => {
    asked.push(question);
    return new Promise((resolve) => {
      give = resolve;
    });
  });
  const config = sshConfig({ box: [box, 'PreferredAuthentications password'] });
  const { transport, folder } = await testTransport(config, { questioner, runtimeDir });
  const link = await transport.link('box');
  const connecting = link.connect();
  await until('the question is there', () => asked.length === 1);
  const name = readdirSync(folder).find((entry) => entry.startsWith('ask-')) ?? '';
  const environ = readFileSync(`/proc/${link.processRef?.identity.pid}/environ`, 'latin1');
  const id = /ROLLCALL_ASKPASS_ID=([\w-]+)/u.exec(environ)?.[1] ?? '';
  expect(id).not.toBe('');
  const lines = [`{"id":"${id}","prompt":"root@box's password: ","hint":null}`, '{"id":"x"}', 'x'.repeat(100_000), ''];
  for (const line of lines) expect(await said(join(folder, name), line)).toBe('');
  // Nor another process of this user that is no descendant of that ssh.
  const stranger = python(
    `import socket, sys
s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); s.sendall(sys.argv[2].encode() + b"\\n")
print(repr(s.recv(100)), flush=True)`,
    [join(folder, name), lines[0] ?? ''],
  );
  expect(await stranger.line()).toBe("b''");
  expect(asked.length).toBe(1);
  give(PASSWORD);
  await connecting;
  expect(link.state.status).toBe('connected');
});

function said(path: string, line: string): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(path, () => socket.write(`${line}\n`));
    let text = '';
    socket.on('data', (chunk: Buffer) => {
      text += chunk.toString();
    });
    socket.on('error', () => undefined);
    // A line that says nothing is closed by the server, after its patience at the latest.
    socket.once('close', () => resolve(text));
  });
}
