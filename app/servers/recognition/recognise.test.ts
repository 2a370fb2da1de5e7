import { describe, expect, test } from 'vitest';
import type { CustomKind, Recognisable, Recognition } from '../kind.ts';
import { editorLabel, programLabel } from './labels.ts';
import { recognise as decide } from './recognise.ts';

const custom: readonly CustomKind[] = [
  { name: 'goosed', program: 'goosed', args: ['agent', 'serve'] },
  { name: 'house', program: '/opt/house/agent.py', args: [] },
];

/** What a process is for sure; null where it is no server, or its program is not known. */
function recognise(seen: Recognisable, kinds: readonly CustomKind[]): Recognition | null {
  const found = decide(seen, kinds);
  return found.state === 'server' ? found.recognition : null;
}

/** A process by its argv; the executable is what the kernel would show, null where it may not be read. */
function process(executablePath: string | null, ...argv: string[]): Recognisable {
  return { comm: (argv[0] ?? '').split('/').at(-1)?.slice(0, 15) ?? '', argv, executablePath };
}

const NODE = '/usr/bin/node';
const BUN = '/home/ann/.bun/bin/bun';
const OC = '/x/node_modules/opencode-ai/bin/opencode.exe';

function kindOf(executable: string | null, ...argv: string[]): string | null {
  const found = recognise(process(executable, ...argv), custom);
  return found === null ? null : `${found.kind} ${found.role}`;
}

describe('A19 every name that a server goes by', () => {
  const table: readonly [string, string | null, string[]][] = [
    ['opencode server', OC, ['opencode', 'serve']],
    ['opencode server', OC, ['/x/node_modules/.bin/opencode', 'serve', '--hostname', '127.0.0.1', '--port', '0']],
    ['opencode server', OC, ['../oc/node_modules/.bin/opencode', 'serve', '--port=14200']],
    ['opencode server', `${OC} (deleted)`, ['opencode', 'serve']],
    ['opencode server', '/x/opencode-ai/bin/.opencode', ['/x/opencode-ai/bin/.opencode', 'serve', '--port', '1']],
    ['opencode server', '/nix/store/h-opencode/bin/.opencode-wrapped', ['/run/sw/bin/opencode', 'serve']],
    ['opencode server', '/nix/store/h-opencode/bin/opencode-wrapped', ['opencode-wrapped', 'serve']],
    ['opencode server', OC, ['opencode.exe', 'serve']],
    ['opencode server', OC, ['opencode', '--print-logs', '--log-level', 'DEBUG', 'serve']],
    ['opencode server', OC, ['opencode', '--port', '4096', 'serve']],
    ['opencode server', OC, ['opencode', 'web']],
    ['opencode server', BUN, ['bun', '/src/opencode', 'serve', '--port=1']],
    ['opencode server', BUN, ['bun', 'run', '/src/opencode', 'serve']],
    ['opencode wrapper', NODE, ['node', '/x/bin/opencode', 'serve']],
    ['opencode wrapper', NODE, ['/usr/bin/node', '--no-warnings', '-r', './a.js', '/x/.bin/opencode', 'serve']],
    ['opencode wrapper', BUN, ['node', '/x/bin/opencode', 'serve']],
    ['opencode wrapper', '/usr/bin/dash', ['/bin/sh', '/usr/local/bin/opencode', 'serve']],
    ['kilo server', '/x/@kilocode/cli/bin/.kilo', ['/x/@kilocode/cli/bin/.kilo', 'serve', '--port', '1']],
    ['kilo wrapper', NODE, ['node', '/x/bin/kilo', 'serve']],
    ['kilo server', '/usr/bin/kilo', ['kilo', 'serve']],
    ['t3 server', NODE, ['node', '/x/node_modules/.bin/t3', 'serve', '--port', '3773']],
    ['t3 server', NODE, ['node', '/x/node_modules/t3/dist/bin.mjs', 'serve']],
    ['t3 server', '/usr/bin/t3', ['t3', 'serve', '--host', '127.0.0.1']],
    ['t3 wrapper', '/usr/bin/dash', ['/bin/sh', '/home/ann/.t3/ssh-launch/k/run-t3.sh', 'serve', '--port', '1']],
    ['goosed server', '/opt/goose/goosed', ['goosed', 'agent', 'serve', '--port', '9']],
    ['house server', '/usr/bin/python3.11', ['python3', '-u', '/opt/house/agent.py', '--fast']],
    ['goosed server', NODE, ['node', '/usr/local/bin/goosed', 'agent', 'serve']],
  ];
  test.each(table)('A19 %s: exe %s, argv %j', (expected, executable, argv) => {
    expect(kindOf(executable, ...argv)).toBe(expected);
  });
});

describe('a program that is not known', () => {
  test.each([
    ['opencode', ['opencode', 'serve']],
    ['opencode', ['node', '/x/bin/opencode', 'serve']],
    ['codex', ['codex', 'app-server']],
    ['claude-mcp', ['claude', 'mcp', 'serve']],
    ['t3', ['t3', 'serve']],
    ['goosed', ['goosed', 'agent', 'serve']],
    ['house', ['python3', '/opt/house/agent.py']],
  ])('%s is claimed by %j, and nothing more', (kind, argv) => {
    expect(decide(process(null, ...argv), custom)).toMatchObject({ state: 'unproved', claims: { kind } });
    expect(kindOf(null, ...argv)).toBeNull();
  });
  test('leaves open what its arguments do not name, and is not asked for where no kind could fit', () => {
    expect(decide(process(null, 'vim', 'opencode', 'serve.md'), custom)).toEqual({ state: 'unproved', claims: null });
    const sleep = { comm: 'sleep', argv: ['sleep', '1'], rawArgv: Buffer.from('sleep\x001\x00'), executablePath: null };
    expect(decide(sleep, [])).toEqual({ state: 'other' });
    // A custom kind may be told by its program alone.
    expect(decide(sleep, custom)).toEqual({ state: 'unproved', claims: null });
  });
});

describe('F15 what only mentions a server', () => {
  const table: readonly [string | null, string[]][] = [
    ['/usr/bin/vim', ['vim', 'opencode-serve.md']],
    ['/usr/bin/vim', ['vim', 'opencode', 'serve.md']],
    ['/usr/bin/vim', ['vim', 'opencode', 'serve']],
    ['/usr/bin/tail', ['tail', '-f', 'opencode-serve.log']],
    ['/usr/bin/bash', ['bash', '-c', 'opencode serve']],
    ['/usr/bin/bash', ['bash', '-lc', 'opencode', 'serve']],
    ['/usr/bin/dash', ['sh', '-c', 'opencode', 'serve']],
    ['/usr/bin/grep', ['grep', 'opencode', 'serve']],
    ['/usr/bin/env', ['env', 'opencode', 'serve']],
    ['/usr/bin/watch', ['watch', 'opencode', 'serve']],
    [OC, ['opencode', 'run', 'serve']],
    [OC, ['opencode', 'run', 'start', 'opencode serve']],
    [OC, ['opencode']],
    [OC, ['opencode', '/home/ann/serve']],
    [OC, ['opencode', 'attach', 'http://127.0.0.1:4096']],
    [OC, ['opencode', '--prompt', 'serve']],
    [OC, ['opencode', '--model', 'serve', '/project']],
    [OC, ['opencode', '--', 'serve']],
    [OC, ['opencode', 'auth', 'login', 'serve']],
    [NODE, ['node', '-e', 'x', '/x/opencode', 'serve']],
    [NODE, ['node', '/x/launcher.js', '/x/opencode', 'serve']],
    [NODE, ['node', '/x/opencode.test.js', 'serve']],
    [NODE, ['node', '-r', '/x/opencode', 'serve']],
    ['/usr/bin/python3', ['python3', '/x/opencode', 'serve']],
    [BUN, ['bun', 'x', 'opencode', 'serve']],
    ['/usr/bin/t3', ['t3', 'start']],
    [NODE, ['node', '/x/.bin/t3', 'report']],
    [NODE, ['node', '/x/t3/lib/serve.js', 'serve']],
    ['/opt/goose/goosed', ['goosed', 'agent']],
    ['/opt/goose/goosed', ['goosed', 'x', 'agent', 'serve']],
    ['/usr/bin/python3', ['python3', '/tmp/agent.py']],
    [null, []],
    [null, ['']],
  ];
  test.each(table)('F15 exe %s, argv %j is no server', (executable, argv) => {
    expect(kindOf(executable, ...argv)).toBeNull();
  });
});

describe('F4 rewritten argv', () => {
  test('F4 a title under the right executable is split', () => {
    const found = recognise(process(OC, 'opencode serve --port 4123   '), []);
    expect(found).toMatchObject({ kind: 'opencode', role: 'server', declaredPort: 4123 });
    expect(kindOf('/a b/opencode', '/a b/opencode serve --port=1')).toBe('opencode server');
    expect(kindOf(OC, 'opencode serve', '', '', '')).toBe('opencode server');
  });
  test('F4 a title is not enough where the executable is another program', () => {
    for (const exe of [NODE, '/usr/bin/python3.11', '/usr/bin/perl', '/usr/bin/sleep', '/usr/bin/bash', BUN, null]) {
      expect(kindOf(exe, 'opencode serve'), String(exe)).toBeNull();
      expect(kindOf(exe, 'opencode serve', '', ''), String(exe)).toBeNull();
      expect(kindOf(exe, 'node /x/bin/opencode serve'), String(exe)).toBeNull();
    }
  });
  test('F4 argv[0] is not believed against the executable', () => {
    for (const exe of [NODE, '/usr/bin/python3.11', '/usr/bin/sleep', '/tmp/opencodex', '/usr/bin/postgres']) {
      expect(kindOf(exe, 'opencode', 'serve'), exe).toBeNull();
      expect(kindOf(exe, 'codex', 'app-server'), exe).toBeNull();
      expect(kindOf(exe, 'claude', 'mcp', 'serve'), exe).toBeNull();
      expect(kindOf(exe, 't3', 'serve'), exe).toBeNull();
    }
    expect(kindOf(NODE, 'goosed', 'agent', 'serve')).toBeNull();
    expect(kindOf('/usr/bin/python3', 'node', '/x/opencode', 'serve')).toBeNull();
  });
  test('F4 blanks, newlines, tabs and empty arguments do not confuse it', () => {
    expect(kindOf(OC, 'opencode', 'serve', '', 'a\nb', '\t', '--port', '7')).toBe('opencode server');
    expect(kindOf(OC, '/home/ann/my tools/opencode', 'serve')).toBe('opencode server');
    expect(kindOf(OC, 'opencode', 'serve '), 'an argument with a blank is another argument').toBeNull();
    expect(kindOf(OC, 'opencode', '', 'serve'), 'an empty project is a TUI').toBeNull();
  });
});

test('F3 serve and its port are found at the end of 100 kB of arguments', () => {
  const cors = Array.from({ length: 4000 }, (_, index) => [`--cors`, `https://origin-${index}.example`]).flat();
  expect(cors.join(' ').length).toBeGreaterThan(100_000);
  const found = recognise(process(OC, 'opencode', ...cors, 'serve', '--port', '14999'), []);
  expect(found).toMatchObject({ kind: 'opencode', declaredPort: 14_999 });
});

test('declared ports: both forms, the last one, none for 0 and for nonsense', () => {
  const port = (...args: string[]): number | null | undefined =>
    recognise(process(OC, 'opencode', 'serve', ...args), [])?.declaredPort;
  expect(port('--port', '1234')).toBe(1234);
  expect(port('--hostname=::1', '--port=1234', '--port', '1235')).toBe(1235);
  expect(port('--port', '0')).toBeNull();
  expect(port('--port', '70000')).toBeNull();
  expect(port('--port')).toBeNull();
  expect(port('--', '--port', '1')).toBeNull();
  expect(port()).toBeNull();
});

test('a service that its own tool registered says so', () => {
  expect(recognise(process(OC, 'opencode', 'serve', '--service'), [])?.registeredService).toBe(true);
  expect(recognise(process(OC, 'opencode', 'serve'), [])?.registeredService).toBe(false);
});

test('opencode acp is a helper of the editor at its standard streams', () => {
  expect(recognise(process(OC, 'opencode', 'acp'), [])).toMatchObject({ helper: true, transport: 'stdio' });
});

describe('B1 codex app-server', () => {
  const CODEX = '/x/vendor/x86_64-unknown-linux-musl/codex/codex';
  test('B1 its transports, its wrapper and its managed daemon', () => {
    const read = (executable: string, ...argv: string[]) => recognise(process(executable, ...argv), []);
    expect(read(CODEX, 'codex', 'app-server', '--listen', 'ws://127.0.0.1:0')).toMatchObject({
      kind: 'codex',
      role: 'server',
      transport: 'tcp',
      declaredPort: null,
    });
    expect(read(CODEX, CODEX, 'app-server', '--listen=ws://[::1]:14600')).toMatchObject({
      transport: 'tcp',
      declaredPort: 14_600,
    });
    expect(read(CODEX, 'codex', '-c', 'model="app-server"', 'app-server')).toMatchObject({ transport: 'stdio' });
    expect(read(NODE, 'node', '/x/.bin/codex', 'app-server')).toMatchObject({ kind: 'codex', role: 'wrapper' });
    expect(
      read(CODEX, CODEX, 'app-server', '--listen', 'unix://', '--analytics-default-enabled', '--managed-daemon'),
    ).toMatchObject({ transport: 'socket', registeredService: true });
  });
  test('B1 a TUI, exec and what is no server are not listed', () => {
    for (const args of [
      [],
      ['exec', 'app-server'],
      ['exec', 'x'],
      ['resume'],
      ['mcp-server'],
      ['app-server', 'proxy'],
      ['app-server', 'daemon', 'pid-update-loop'],
      ['app-server', '--experimental', 'generate-ts'],
      ['-m', 'app-server'],
      ['app-server', '--analytics-default-enabled', 'daemon', 'start'],
    ]) {
      expect(kindOf(CODEX, 'codex', ...args), args.join(' ')).toBeNull();
    }
  });
});

describe('B2 and B3 claude', () => {
  const CLAUDE = '/home/ann/.local/share/claude/versions/2.1.197';
  test('B2 claude mcp serve is a helper at its standard streams', () => {
    expect(recognise(process(CLAUDE, 'claude', 'mcp', 'serve'), [])).toMatchObject({
      kind: 'claude-mcp',
      role: 'server',
      helper: true,
      transport: 'stdio',
    });
    expect(kindOf(NODE, 'node', '/x/node_modules/@anthropic-ai/claude-code/cli.js', '--debug', 'mcp', 'serve')).toBe(
      'claude-mcp server',
    );
  });
  test('B3 the session is the subject, the daemon has none', () => {
    const home = '/home/ann/.claude/remote';
    const cli = `${home}/ccd-cli/2.1.247`;
    expect(recognise(process(cli, cli, '--resume=5b1d', '--verbose'), [])).toMatchObject({
      kind: 'claude',
      subject: '5b1d',
      helper: true,
    });
    expect(recognise(process('/opt/ccd-cli', 'ccd-cli', '--resume', '5b1d'), [])?.subject).toBe('5b1d');
    expect(recognise(process(CLAUDE, 'claude', '--print', '--resume=5b1d'), [])?.subject).toBe('5b1d');
    const server = `${home}/srv/0a1b/server`;
    expect(kindOf(server, server, '--serve')).toBe('claude-serve server');
    expect(kindOf(CLAUDE, 'claude', 'server', '--serve')).toBe('claude-serve server');
  });
  test('B3 a TUI and somebody else’s server are not listed', () => {
    expect(kindOf(CLAUDE, 'claude')).toBeNull();
    expect(kindOf(CLAUDE, 'claude', '--resume', '5b1d')).toBeNull();
    expect(kindOf(CLAUDE, 'claude', 'mcp', 'list')).toBeNull();
    expect(kindOf(CLAUDE, 'claude', 'mcp', 'add', 'serve')).toBeNull();
    expect(kindOf('/srv/app/server', '/srv/app/server', '--serve')).toBeNull();
    expect(kindOf('/srv/app/server', '/home/ann/.claude/remote/srv/0/server', '--serve')).toBeNull();
  });
});

test('B16 an editor’s remote server is labelled and is no server of ours', () => {
  const node = '/home/ann/.vscode-server/cli/servers/Stable-1/server/node';
  const vscode = process(node, node, '/home/ann/.vscode-server/cli/servers/Stable-1/server/out/server-main.js');
  expect(recognise(vscode, custom)).toBeNull();
  expect(editorLabel(vscode)).toBe('VS Code server');
  expect(editorLabel(process(NODE, 'node', '/home/ann/.cursor-server/bin/x/out/server-main.js'))).toBe('Cursor server');
  expect(editorLabel(process(NODE, 'node', '/x/launcher.js'))).toBeNull();
});

test('programs are called as a person would call them', () => {
  expect(programLabel(process(NODE, 'node', '/x/launcher.js', '--secret'))).toBe('node launcher.js');
  expect(programLabel(process('/usr/bin/tmux', 'tmux: server'))).toBe('tmux');
  expect(programLabel(process('/usr/sbin/sshd', 'sshd: ann@pts/3'))).toBe('sshd');
  expect(programLabel(process('/usr/share/code/code', '/usr/share/code/code', '--type=x'))).toBe('VS Code');
  expect(programLabel(process('/usr/bin/bash', '-bash'))).toBe('bash');
  expect(programLabel({ comm: 'kthreadd', argv: [], executablePath: null })).toBe('kthreadd');
});
