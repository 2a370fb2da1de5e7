import { expect, test } from 'vitest';
import { hashedHostId } from '../../local/process/observer.ts';
import { answering } from '../testing/answers.ts';
import { lingerProblem } from './linger.ts';
import { probePlatform } from './platform.ts';
import { RemoteShell } from './shell.ts';

const BOOT = '73cc29ee-8d1f-43e0-ae87-4d155d03a00b';
const LINUX = {
  system: 'Linux\n',
  name: 'box\n',
  uid: '1000\n',
  home: '/home/me',
  shell: '/usr/bin/fish',
  path: '/usr/bin:/bin',
  state: '/home/me/.local/state/rollcall',
  boot: BOOT,
  namespace: 'pid:[4026531836]\n',
  machine: 'abc',
  proc: 'all',
  line: ' 30 20 1 ',
  tools: 'grep\nls\nstat\nps\ngrep-nul\ngrep-z\nls-b\n',
  python: '/usr/bin/python3',
};
const contact = (parts: Readonly<Record<string, string>>, local: Parameters<typeof probePlatform>[1] = null) =>
  probePlatform(new RemoteShell('far', answering(parts)), local);

test('a first contact tells the machine, the account and what it has', async () => {
  expect(await contact(LINUX)).toEqual({
    observer: { hostId: hashedHostId('abc'), bootId: BOOT, pidNamespace: '4026531836' },
    isLocal: false,
    system: 'Linux',
    hostname: 'box',
    uid: 1000,
    home: '/home/me',
    loginShell: '/usr/bin/fish',
    path: '/usr/bin:/bin',
    stateDir: '/home/me/.local/state/rollcall',
    processes: 'all',
    selfAndAncestors: [30, 20, 1],
    tools: new Set(['grep', 'ls', 'stat', 'ps', 'grep-nul', 'grep-z', 'ls-b']),
    python: '/usr/bin/python3',
  });
});

test('a machine without an id of its own has the one that is kept there', async () => {
  const { observer } = await contact({ ...LINUX, machine: '', kept: 'k-1\n' });
  expect(observer.hostId).toBe(hashedHostId('k-1'));
});

test('this very machine is told by its boot and PID namespace, whatever id it goes by', async () => {
  const here = { hostId: 'kept here', bootId: BOOT, pidNamespace: '4026531836' };
  expect(await contact(LINUX, here)).toMatchObject({ isLocal: true, observer: here });
  expect((await contact(LINUX, { ...here, pidNamespace: '4026532000' })).isLocal).toBe(false);
  expect((await contact(LINUX, { ...here, bootId: 'another' })).isLocal).toBe(false);
});

test('D10 what cannot be supported is said in one sentence, with a way out', async () => {
  const cases: readonly (readonly [Readonly<Record<string, string>>, string, RegExp])[] = [
    [{ ...LINUX, system: 'MINGW64_NT-10.0-22631\n' }, 'windows', /it runs Windows\.$/u],
    [
      { ...LINUX, system: 'HP-UX\n', proc: 'none', tools: '' },
      'no-processes',
      /runs HP-UX and has neither \/proc nor ps\.$/u,
    ],
    [{ ...LINUX, tools: 'grep\nls\ngrep-z\n' }, 'tools', /its grep cuts lines at NUL bytes/u],
    [{ ...LINUX, tools: 'grep\nls\ngrep-nul\n' }, 'tools', /its grep knows no -z/u],
    [{ ...LINUX, machine: '' }, 'identity', /its machine cannot be told/u],
    [{ ...LINUX, boot: '' }, 'identity', /its boot cannot be told/u],
    [{ ...LINUX, home: '' }, 'identity', /its home folder cannot be told/u],
    [{ ...LINUX, uid: '' }, 'identity', /its account cannot be told/u],
  ];
  for (const [parts, code, message] of cases) {
    const failure = contact(parts);
    await expect(failure).rejects.toMatchObject({ step: 'shell', code, message: expect.stringMatching(message) });
    await expect(failure).rejects.toMatchObject({
      message: expect.stringMatching(/^far is not supported: [^\n]*\.$/u),
    });
    await expect(failure).rejects.toMatchObject({ remedy: expect.stringMatching(/\.$/u) });
  }
});

test('a machine without /proc is read by its ps', async () => {
  const mac = { ...LINUX, system: 'Darwin\n', proc: 'none', namespace: '', tools: 'ps\nstat\nlsof\n', python: '' };
  expect(await contact(mac)).toMatchObject({ processes: 'ps', python: null, observer: { pidNamespace: 'none' } });
});

test('D19 a system that ends what a login leaves behind is told, with the remedy', async () => {
  const problem = (linger: string, kill: string) =>
    lingerProblem(new RemoteShell('far', answering({ linger: `Linger=${linger}\n`, kill })));
  expect(await problem('no', '#\nKillUserProcesses=yes\n')).toMatch(/loginctl enable-linger/u);
  expect(await problem('no', 'KillUserProcesses=yes\nKillUserProcesses = no\n')).toBeNull();
  expect(await problem('yes', 'KillUserProcesses=yes\n')).toBeNull();
  expect(await problem('no', '')).toBeNull();
  expect(await lingerProblem(new RemoteShell('far', answering({})))).toBeNull();
});
