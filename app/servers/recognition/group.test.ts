import { describe, expect, test } from 'vitest';
import type { Candidate } from '../../hosts/host.ts';
import { type GroupInput, type GroupProcess, groupServers, ownPids, recognisable } from './group.ts';
import { recognise } from './recognise.ts';
import { soleCommand } from './shell-command.ts';
import { isPlainWrapper, wrapsOnly } from './wrappers.ts';

const NODE = '/usr/bin/node';
const SH = '/usr/bin/dash';
const OC = '/x/bin/opencode.exe';

function process(pid: number, ppid: number, path: string, ...argv: string[]): GroupProcess {
  return {
    pid,
    ppid,
    argv,
    comm: argv[0] ?? '',
    startedAt: pid * 1000,
    executable: { path, device: '1', inode: String(pid) },
    uid: 1000,
    session: 1,
    cwd: '/p',
    marks: {},
  };
}

/** A look in which everything that is recognised is a candidate. */
function look(...list: GroupProcess[]): GroupInput {
  const candidates = list.flatMap((entry): Candidate[] => {
    const found = recognise(recognisable(entry), []);
    return found.state === 'server' ? [{ pid: entry.pid, recognition: found.recognition }] : [];
  });
  return {
    processes: new Map(list.map((entry) => [entry.pid, entry])),
    candidates,
    listening: [],
    socketsReadable: true,
  };
}

/** Leaders with their PIDs, and helpers in parentheses. */
function shape(input: GroupInput): readonly string[] {
  return groupServers(input).map((group) => {
    const helpers = group.helpers.map((helper) => helper.leader).join(',');
    return `${group.recognition.kind} ${group.pids.join('+')}${helpers === '' ? '' : ` (${helpers})`}`;
  });
}

describe('A1 a wrapper chain and the process that listens are one server', () => {
  test('A1 node shim and native child', () => {
    const input = look(
      process(9, 1, NODE, 'node', '/x/launcher.js'),
      process(10, 9, NODE, 'node', '/x/bin/opencode', 'serve'),
      process(11, 10, '/x/bin/.opencode', '/x/bin/.opencode', 'serve'),
    );
    expect(shape(input)).toEqual(['opencode 10+11']);
    expect(groupServers(input)[0]).toMatchObject({ leader: 11, recognition: { role: 'server' }, within: null });
  });
  test('A1 npx, its shell, the shim and the native child', () => {
    const input = look(
      process(10, 1, NODE, 'npm exec opencode serve', '', ''),
      process(11, 10, SH, 'sh', '-c', "'opencode' serve --port 1"),
      process(12, 11, NODE, 'node', '/x/.bin/opencode', 'serve', '--port', '1'),
      process(13, 12, '/x/bin/.opencode', '/x/bin/.opencode', 'serve', '--port', '1'),
    );
    expect(shape(input)).toEqual(['opencode 10+11+12+13']);
  });
  test('A1 an orphaned shell of npx', () => {
    expect(
      shape(look(process(11, 1, SH, 'sh', '-c', 'opencode serve'), process(12, 11, OC, 'opencode', 'serve'))),
    ).toEqual(['opencode 11+12']);
  });
  test('A1 bun as a shim; bun as the server', () => {
    const shim = process(10, 1, '/b/bun', 'bun', '/x/bin/opencode', 'serve', '--port', '0');
    expect(shape(look(shim, process(11, 10, '/x/.opencode', '/x/.opencode', 'serve', '--port', '0')))).toEqual([
      'opencode 10+11',
    ]);
    expect(shape(look(shim, process(11, 10, OC, 'opencode', 'serve', '--port', '5')))).toEqual([
      'opencode 10',
      'opencode 11',
    ]);
  });
  test('A1 a shim alone is still seen; a shell script alone serves nothing', () => {
    expect(shape(look(process(10, 1, NODE, 'node', '/x/bin/opencode', 'serve')))).toEqual(['opencode 10']);
    expect(shape(look(process(10, 1, SH, 'sh', '/x/bin/opencode', 'serve')))).toEqual([]);
  });
  test('A1 a shell that does more than start it stays out', () => {
    const server = process(12, 11, OC, 'opencode', 'serve');
    for (const text of ['opencode serve & vite', 'while :; do opencode serve; done', 'opencode serve; date', 'vite']) {
      expect(shape(look(process(11, 1, SH, 'sh', '-c', text), server)), text).toEqual(['opencode 12']);
    }
  });
  test('A1 another kind’s wrapper is not adopted', () => {
    const input = look(process(10, 1, NODE, 'node', '/x/bin/kilo', 'serve'), process(11, 10, OC, 'opencode', 'serve'));
    expect(shape(input)).toEqual(['kilo 10', 'opencode 11']);
  });
});

test('a server inside another server stays its own', () => {
  const input = look(
    process(10, 1, OC, 'opencode', 'serve'),
    process(11, 10, '/usr/bin/bash', '/bin/bash', '-c', 'opencode serve --port 2'),
    process(12, 11, OC, 'opencode', 'serve', '--port', '2'),
  );
  expect(shape(input)).toEqual(['opencode 10', 'opencode 11+12']);
  expect(groupServers(input)[1]?.within).toBe(10);
});

test('B2 claude helpers are grouped under the live server, orphans stand alone', () => {
  const mcp = (pid: number, ppid: number): GroupProcess => process(pid, ppid, '/c/claude', 'claude', 'mcp', 'serve');
  const input = look(
    process(10, 1, '/c/codex', 'codex', 'app-server', '--listen', 'ws://127.0.0.1:0'),
    mcp(11, 10),
    process(12, 10, SH, 'sh', '-c', 'claude mcp serve'),
    mcp(13, 12),
    mcp(20, 1),
    process(30, 1, '/usr/share/code/code', '/usr/share/code/code', '--type=utility'),
    mcp(31, 30),
  );
  expect(shape(input)).toEqual(['codex 10 (11,13)', 'claude-mcp 20', 'claude-mcp 31']);
});

test('everything that belongs to a server is named: leader, wrappers, helpers and their wrappers, nothing else', () => {
  const input = look(
    process(5, 1, '/usr/bin/bash', '-bash'),
    process(6, 5, SH, 'sh', '-c', 'opencode serve'),
    process(10, 6, OC, 'opencode', 'serve'),
    process(11, 10, '/usr/bin/bash', '/bin/bash', '-c', 'sleep 9'),
    process(12, 10, SH, 'sh', '-c', 'opencode serve --port 2'),
    process(13, 12, OC, 'opencode', 'serve', '--port', '2'),
    process(20, 10, SH, 'sh', '-c', 'claude mcp serve'),
    process(21, 20, '/c/claude', 'claude', 'mcp', 'serve'),
  );
  expect([...ownPids(groupServers(input))].sort((a, b) => a - b)).toEqual([6, 10, 12, 13, 20, 21]);
  expect(ownPids([])).toEqual(new Set());
});

test('a circle of parents ends', () => {
  const input = look(process(10, 11, OC, 'opencode', 'serve'), process(11, 10, SH, 'sh', '-c', 'opencode serve'));
  expect(shape(input)).toEqual(['opencode 11+10']);
});

describe('plain wrappers', () => {
  const plain = (path: string, ...argv: string[]): boolean =>
    isPlainWrapper(recognisable(process(2, 1, path, ...argv)));
  test('who passes a command on', () => {
    expect(plain(SH, 'sh', '-c', 'x')).toBe(true);
    expect(plain('/usr/bin/bash', '-bash', '-lic', 'x')).toBe(true);
    expect(plain(NODE, 'npm exec opencode serve')).toBe(true);
    expect(plain(NODE, 'npm run dev', '')).toBe(true);
    expect(plain(NODE, 'node', '/usr/bin/npx', 'opencode')).toBe(true);
    expect(plain('/b/bun', 'bun', 'x', 'opencode', 'serve')).toBe(true);
  });
  test('who owns', () => {
    expect(plain('/usr/bin/bash', '-bash')).toBe(false);
    expect(plain('/usr/bin/bash', 'bash', 'start.sh', '-c')).toBe(false);
    expect(plain('/usr/bin/python3', 'npm exec opencode')).toBe(false);
    expect(plain('/usr/bin/python3', 'sh', '-c', 'x')).toBe(false);
    expect(plain(NODE, 'node', 'launcher.js')).toBe(false);
    expect(plain(NODE, 'npm install')).toBe(false);
  });
  test('who exists for one child alone', () => {
    const child = recognisable(process(3, 2, OC, 'opencode', 'serve'));
    const only = (...argv: string[]): boolean => wrapsOnly(recognisable(process(2, 1, SH, ...argv)), child);
    expect(only('sh', '-c', 'exec "/x/opencode" serve >>log 2>&1')).toBe(true);
    expect(only('sh', '-c', 'A=1 opencode serve')).toBe(true);
    expect(only('sh', '-c', 'vite')).toBe(false);
    expect(only('sh', '-c', 'opencode serve || true')).toBe(false);
  });
  test('shell command strings', () => {
    expect(soleCommand("'opencode' serve --port 1")).toEqual(['opencode', 'serve', '--port', '1']);
    expect(soleCommand('T=x exec my\\ tool "a b" 2>/dev/null <in')).toEqual(['my tool', 'a b']);
    for (const text of ['a; b', 'a && b', 'a & ', '$(a) b', '`a`', 'a\nb', 'if a', "a 'b", '', 'X=1', '{ a']) {
      expect(soleCommand(text), text).toBeNull();
    }
  });
});

describe('workers that a server forked', () => {
  const forked = (pid: number, ppid: number, ...argv: string[]): GroupProcess => ({
    ...process(pid, ppid, OC, ...argv),
    executable: { path: OC, device: '1', inode: '7' },
  });
  test('are one server with it, the leader first', () => {
    const input = look(
      forked(10, 1, OC, 'serve', '--port', '1'),
      forked(8, 10, OC, 'serve', '--port', '1'),
      forked(11, 8, OC, 'serve', '--port', '1'),
    );
    expect(shape(input)).toEqual(['opencode 10+8+11']);
    expect(groupServers(input)[0]?.leader).toBe(10);
  });
  test('share a port with their server, or one of the two has none', () => {
    const input = look(forked(10, 1, OC, 'serve'), forked(11, 10, OC, 'serve'));
    const at = (pid: number, port: number) => ({ pid, address: '127.0.0.1', port });
    const shapeOf = (...listening: GroupInput['listening']) => shape({ ...input, listening });
    expect(shapeOf(at(10, 1), at(11, 1))).toEqual(['opencode 10+11']);
    expect(shapeOf(at(11, 1))).toEqual(['opencode 10+11']);
    expect(shapeOf(at(10, 1))).toEqual(['opencode 10+11']);
    expect(shapeOf(at(10, 1), at(11, 2))).toEqual(['opencode 10', 'opencode 11']);
    expect(shape({ ...input, socketsReadable: false })).toEqual(['opencode 10', 'opencode 11']);
  });
  test('other arguments, another program or a process between make it a server of its own', () => {
    const server = forked(10, 1, OC, 'serve');
    expect(shape(look(server, forked(11, 10, OC, 'serve', '--port', '2')))).toEqual(['opencode 10', 'opencode 11']);
    expect(shape(look(server, process(11, 10, OC, OC, 'serve')))).toEqual(['opencode 10', 'opencode 11']);
    for (const other of [
      { uid: 1001 },
      { uid: null },
      { session: 11 },
      { cwd: '/elsewhere' },
      { cwd: null },
      { marks: { OPENCODE_PID: '10' } },
      { marks: null },
    ]) {
      const child = { ...forked(11, 10, OC, 'serve'), ...other };
      expect(shape(look(server, child)), JSON.stringify(other)).toEqual(['opencode 10', 'opencode 11']);
    }
    const between = process(11, 10, SH, 'sh', '-c', 'x; y');
    expect(shape(look(server, between, forked(12, 11, OC, 'serve')))).toEqual(['opencode 10', 'opencode 12']);
  });
});
