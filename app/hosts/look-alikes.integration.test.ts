/**
 * What is a server and what only looks like one, the same on every kind of host: evidence that is missing never counts
 * as agreement, in the first look as little as in later ones.
 */
import { chmodSync, chownSync, copyFileSync, existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import type { CustomKind } from '../servers/kind.ts';
import { recognise } from '../servers/recognition/recognise.ts';
import type { Host, Look } from './host.ts';
import { inlineLooker } from './local/look/looker.ts';
import { NOTHING_ASKED, testHost } from './local/testing/hosts.ts';
import { PYTHON, start, type TestProcess, temporaryFolder } from './local/testing/processes.ts';
import { remoteHost } from './ssh/testing/remote.ts';
import { LocalExec, SIGNAL_SHELLS, type TestShell } from './ssh/testing/shells.ts';

const STRANGER = 12_345;
const CUSTOM: readonly CustomKind[] = [
  { name: 'house', program: '/opt/house/agent.py', args: [] },
  { name: 'goosed', program: 'goosed', args: ['agent'] },
];

interface Place {
  readonly name: string;
  /** Why it cannot be tested here; null when it can. */
  readonly missing: string | null;
  /** @param uid account that looks; absent for ours */
  readonly open: (uid?: number) => Promise<Host>;
  /** It can look as another account. */
  readonly anyUid: boolean;
  /** Custom kinds are told by their programs alone, too. */
  readonly byProgram: boolean;
}

const looker = () => inlineLooker(recognise);
const far = (shell: TestShell, withoutProc = false): Place => ({
  name: `${withoutProc ? 'a machine without /proc' : 'over ssh'}, ${shell.name}`,
  missing: shell.missing,
  open: async (uid) => {
    const home = temporaryFolder();
    if (uid !== undefined) chownSync(home, uid, uid);
    const account = { env: { HOME: home }, ...(uid === undefined ? {} : { uid }) };
    return (await remoteHost(new LocalExec(shell, account), { recognise, withoutProc })).host;
  },
  anyUid: true,
  byProgram: !withoutProc,
});
const near = (name: string, options: Parameters<typeof testHost>[0], byProgram = true): Place => ({
  name,
  missing: null,
  open: () => testHost(options),
  anyUid: false,
  byProgram,
});

const PLACES: readonly Place[] = [
  near('this machine', { looker: looker() }),
  near('this machine without pidfds', { looker: looker(), usePidfds: false }),
  near('this machine by ps', { portable: true }, false),
  ...SIGNAL_SHELLS.map((shell) => far(shell)),
  ...SIGNAL_SHELLS.filter(({ name }) => name === 'bash').map((shell) => far(shell, true)),
];

/** Every program can be started under every name. */
const ALIKE: readonly (readonly [string, ...string[]])[] = [
  ['opencode', 'serve'],
  ['opencode', 'serve', '--port', '4096'],
  ['/usr/local/bin/opencode', 'serve'],
  ['.opencode-wrapped', 'serve'],
  ['opencode serve --port 4123'],
  ['kilo', 'serve'],
  ['node', '/x/node_modules/.bin/opencode', 'serve'],
  ['bun', '/x/opencode', 'serve'],
  ['sh', '/usr/local/bin/opencode', 'serve'],
  ['codex', 'app-server'],
  ['claude', 'mcp', 'serve'],
  ['claude', '--resume=5b1d', '--print'],
  ['t3', 'serve'],
  ['node', '/x/node_modules/.bin/t3', 'serve'],
  ['python3', '/opt/house/agent.py'],
  ['goosed', 'agent'],
];

/** What the tool itself does beside serving, in its own program. */
const NO_SERVER: readonly (readonly [string, ...string[]])[] = [
  ['opencode', 'run', 'serve'],
  ['opencode', 'attach', 'http://127.0.0.1:4096'],
  ['opencode', '--prompt', 'serve'],
  ['opencode', '--', 'serve'],
  ['vim', 'opencode', 'serve.md'],
];

/** Runs a program under a name of its own; waits until it does. */
async function run(program: string, argv: readonly [string, ...string[]], options: object = {}): Promise<TestProcess> {
  const [argv0, ...args] = argv;
  const process = start(program, args, { argv0, detached: true, stdio: 'ignore', ...options });
  return process;
}

/** A program that waits and takes any arguments. */
const SLEEP = '/usr/bin/tail';
const WAITING = ['-f', '/dev/null'] as const;

function programNamed(name: string, mode = 0o755): string {
  const folder = join(temporaryFolder(), 'bin');
  mkdirSync(folder);
  const path = join(folder, name);
  copyFileSync(SLEEP, path);
  chmodSync(path, mode);
  for (const each of [folder, join(folder, '..')]) chmodSync(each, 0o755);
  return path;
}

async function looks(host: Host): Promise<readonly Look[]> {
  const request = { ...NOTHING_ASKED, customKinds: CUSTOM };
  const first = await host.look(request);
  const everyone = { ...request, include: [...first.processes.keys()] };
  return [first, await host.look(request), await host.look(everyone), await host.look(request)];
}

const kindsIn = (look: Look, pid: number): readonly string[] =>
  look.candidates.filter((candidate) => candidate.pid === pid).map(({ recognition }) => recognition.kind);

describe.each(PLACES)('$name', ({ missing, open, anyUid, byProgram }) => {
  beforeEach((context) => {
    if (missing !== null) context.skip(missing);
  });

  test('A19 F15 a look-alike is no server in any look, and the real one beside it is', async () => {
    const alike = await Promise.all(ALIKE.map((argv) => run(SLEEP, [...argv, ...WAITING])));
    const real = programNamed('opencode');
    const others = await Promise.all(NO_SERVER.map((argv) => run(real, [...argv, ...WAITING])));
    const servers = [
      await run(real, ['opencode', 'serve', ...WAITING]),
      await run(real, ['something else', 'serve', ...WAITING]),
      await run(programNamed('codex'), ['codex', 'app-server', ...WAITING]),
    ];
    const hidden = await run(programNamed('goosed'), ['x', 'agent', ...WAITING]);
    const host = await open();
    for (const [index, look] of (await looks(host)).entries()) {
      for (const [each, { pid }] of alike.entries()) {
        expect(kindsIn(look, pid), `look ${index}, ${ALIKE[each]?.join(' ')}`).toEqual([]);
        expect(look.unproved.filter((process) => process.pid === pid)).toEqual([]);
      }
      expect(others.map(({ pid }) => kindsIn(look, pid))).toEqual(NO_SERVER.map(() => []));
      expect(servers.map(({ pid }) => kindsIn(look, pid))).toEqual([['opencode'], [], ['codex']]);
      if (byProgram) expect(kindsIn(look, hidden.pid)).toEqual(['goosed']);
    }
  });

  test('one that runs something else by now is a server no longer, although it calls itself the same', async () => {
    const folder = temporaryFolder();
    const program = join(folder, 'opencode');
    copyFileSync(PYTHON, program);
    chmodSync(program, 0o755);
    writeFileSync(
      join(folder, 'serve'),
      [
        'import os, sys',
        `if not os.path.exists('changed'):`,
        `    print('ready', flush=True)`,
        `    sys.stdin.readline()`,
        `    open('changed', 'w').close()`,
        `    os.execv('${PYTHON}', ['opencode', 'serve'])`,
        `open('/proc/self/comm', 'w').write('opencode')`,
        `print('changed', flush=True)`,
        `sys.stdin.readline()`,
      ].join('\n'),
    );
    const process = start(program, ['serve'], { argv0: 'opencode', cwd: folder });
    expect(await process.line()).toBe('ready');
    const host = await open();
    for (const look of await looks(host)) expect(kindsIn(look, process.pid)).toEqual(['opencode']);
    process.tell('go');
    expect(await process.line()).toBe('changed');
    for (const look of await looks(host)) expect(kindsIn(look, process.pid)).toEqual([]);
  });

  test('whose program cannot be read is not recognised, and said to be so', async (context) => {
    if (!anyUid)
      context.skip('this process cannot look as another account; the collector is tested with a table of its own');
    if (process.getuid?.() !== 0) context.skip('only root may start programs as another account');
    const folder = temporaryFolder();
    chmodSync(folder, 0o755);
    // The kernel hides what runs a file that its user may not read.
    const unreadable = await run(programNamed('opencode', 0o711), ['opencode', 'serve', ...WAITING], {
      uid: STRANGER,
      gid: STRANGER,
      cwd: folder,
    });
    const readable = await run(programNamed('opencode'), ['opencode', 'serve', ...WAITING], {
      uid: STRANGER,
      gid: STRANGER,
      cwd: folder,
    });
    const host = await open(STRANGER);
    for (const look of await looks(host)) {
      expect(kindsIn(look, unreadable.pid)).toEqual([]);
      expect(look.unproved).toEqual([{ pid: unreadable.pid, kind: 'opencode', why: 'denied' }]);
      expect(kindsIn(look, readable.pid)).toEqual(['opencode']);
    }
  });
});

test('without a tool that reads programs nothing is recognised, and the remedy is known', async (context) => {
  const dash = SIGNAL_SHELLS.find(({ name }) => name === 'dash without python');
  if (dash === undefined || dash.missing !== null) return context.skip('there is no dash here');
  const real = await run(programNamed('opencode'), ['opencode', 'serve', ...WAITING]);
  const path = temporaryFolder();
  for (const tool of [
    'cat',
    'grep',
    'id',
    'ls',
    'readlink',
    'sed',
    'sleep',
    'tr',
    'uname',
    'head',
    'sha256sum',
    'ps',
  ]) {
    const program = [`/usr/bin/${tool}`, `/bin/${tool}`].find((each) => existsSync(each));
    if (program !== undefined) symlinkSync(program, join(path, tool));
  }
  const shell = { ...dash, path };
  for (const [withoutProc, why] of [
    [false, 'no-stat'],
    [true, 'no-lsof'],
  ] as const) {
    const home = temporaryFolder();
    const { host } = await remoteHost(new LocalExec(shell, { env: { HOME: home } }), { recognise, withoutProc });
    const look = await host.look(NOTHING_ASKED);
    expect(kindsIn(look, real.pid)).toEqual([]);
    expect(look.unproved).toEqual([{ pid: real.pid, kind: 'opencode', why }]);
  }
});
