import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { isAlive, temporaryFolder, until } from '../../local/testing/processes.ts';
import { SshFailed } from '../../ssh-failed.ts';
import { type Resolved, resolveAlias } from './resolve.ts';

function configured(text: string): (alias: string, deadlineMs?: number) => Promise<Resolved> {
  const sshConfig = join(temporaryFolder(), 'config');
  writeFileSync(sshConfig, text);
  return (alias, deadlineMs) => resolveAlias(alias, { program: 'ssh', sshConfig, env: process.env }, deadlineMs);
}

async function failure(act: Promise<unknown>): Promise<SshFailed> {
  const error = await act.then(
    () => null,
    (why: unknown) => why,
  );
  if (!(error instanceof SshFailed)) throw new Error(`no SshFailed: ${String(error)}`);
  return error;
}

test('aliases of one account by one way have one key; another user, port, way, check or login another', async () => {
  const resolve = configured(`
Host a b c user port jump proxy named1 named2 login unchecked
  HostName Box.Example.org
Host user
  User somebody
Host port
  Port 2222
Host jump
  ProxyJump gate
Host proxy
  ProxyCommand nc %h %p
Host named1 named2
  ProxyCommand nc %n %p
Host login
  IdentityFile /another/key
Host unchecked
  StrictHostKeyChecking no
Host b
  ControlMaster auto
  ControlPath ~/.ssh/%n
  LocalForward 1 127.0.0.1:2
  ServerAliveInterval 7
Host *
  User me
`);
  const a = await resolve('a');
  expect([a.hostname, a.user, a.port, a.proxyJump]).toEqual(['box.example.org', 'me', 22, null]);
  const keys = await Promise.all(
    ['b', 'c', 'me@a', 'box.example.org'].map(async (alias) => (await resolve(alias)).key),
  );
  expect(new Set([a.key, ...keys]).size).toBe(1);
  const others = await Promise.all(
    ['user', 'port', 'jump', 'proxy', 'named1', 'named2', 'login', 'unchecked', 'you@a'].map(
      async (alias) => (await resolve(alias)).key,
    ),
  );
  expect(new Set([a.key, ...others]).size).toBe(10);
});

test('a Match exec that does not end costs its deadline, and is ended with everything it started', async () => {
  const folder = temporaryFolder();
  const pidFile = join(folder, 'pid');
  const resolve = configured(`Match exec "sleep 600 & echo $! > ${pidFile}; wait"\n  User x\n`);
  const error = await failure(resolve('box', 700));
  expect([error.step, error.code]).toEqual(['resolve', 'deadline']);
  const pid = Number(readFileSync(pidFile, 'utf8'));
  await until('the sleep is gone', () => !isAlive(pid));
});

test('what ssh says of a broken configuration is the detail, not the message', async () => {
  const error = await failure(configured('Host box\n  NoSuchOption yes\n')('box'));
  expect([error.step, error.code]).toEqual(['resolve', 'bad-configuration']);
  expect(error.message).not.toContain('NoSuchOption');
  expect(error.output).toContain('nosuchoption');
});

test('a missing ssh, an ssh that is none and an alias that is an option are told apart', async () => {
  const none = await failure(resolveAlias('box', { program: '/no/ssh', sshConfig: null, env: process.env }));
  expect([none.step, none.code]).toEqual(['resolve', 'no-ssh']);
  const other = await failure(resolveAlias('box', { program: 'echo', sshConfig: null, env: process.env }));
  expect([other.step, other.code]).toEqual(['resolve', 'bad-configuration']);
  const folder = temporaryFolder();
  mkdirSync(join(folder, 'x'));
  const option = await failure(
    resolveAlias(`-oProxyCommand=touch\t${folder}/hit`, { program: 'ssh', sshConfig: null, env: process.env }),
  );
  expect(option.step).toBe('alias');
});
