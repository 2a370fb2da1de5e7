import { expect, test } from 'vitest';
import type { Look, ProcessInfo } from '../../hosts/host.ts';
import { lookAt, process } from '../testing/look.ts';
import { survivorsOf } from './survivors.ts';

const NONCE = '5f0c3c1e-8f5e-4c55-9d0b-6c8f3a1d2e4b';
const carried = { ROLLCALL_NONCE: NONCE, ROLLCALL_KIND: 'opencode' };
/** Inherited by what a server's tools start. */
const inherited = { ...carried, OPENCODE_PID: '4711' };
const server = process(4711, 100, { marks: carried });
const tool = { comm: 'bash', argv: ['bash', '-c', 'make'], marks: inherited } as const;

function pidsOf(look: Look, processes: readonly ProcessInfo[] = []): number[] {
  const identities = [server, ...processes].map(({ identity }) => identity);
  const input = { look, nonce: NONCE, server: server.identity, processes: identities, uid: 1000 };
  return survivorsOf(input).map(({ pid }) => pid);
}

test('what it was seen with and what carries its mark is left, topmost first; what descends from them is theirs', () => {
  const shell = process(5000, 200, tool);
  const below = process(5001, 201, { ...tool, ppid: 5000 });
  const seenUnmarked = process(5002, 202, { comm: 'node', argv: ['node', 'x.js'] });
  expect(pidsOf(lookAt(shell, below, seenUnmarked), [seenUnmarked])).toEqual([5002, 5000]);
});

test('whoever has got a number since is nobody’s remains', () => {
  const child = process(5000, 200, { comm: 'node' });
  const stranger = process(5000, 900, { comm: 'postgres', argv: ['postgres'] });
  expect(pidsOf(lookAt(stranger), [child])).toEqual([]);
});

test('a mark that means somebody else is none: the number has another holder, or the process is older', () => {
  const marks = { OPENCODE_PID: '4711' };
  const child = process(5000, 200, { ...tool, marks });
  expect(pidsOf(lookAt(child))).toEqual([5000]);
  expect(pidsOf(lookAt(child, process(4711, 150)))).toEqual([]);
  expect(pidsOf(lookAt(process(5000, 50, { ...tool, marks })))).toEqual([]);
});

test('B15 what something else speaks for stays: a terminal, a shared daemon, another user, a living parent', () => {
  const stay = [
    process(5000, 200, { ...tool, tty: 34_817 }),
    process(5001, 200, { ...tool, comm: 'gpg-agent', argv: ['gpg-agent', '--daemon'] }),
    process(5002, 200, { ...tool, uid: 1001 }),
    process(5003, 200, { ...tool, ppid: 6000 }),
    process(6000, 10, { comm: 'tmux', argv: ['tmux'] }),
    process(5004, 200, { ...tool, ignoresHangup: true }),
  ];
  expect(pidsOf(lookAt(...stay))).toEqual([]);
});

test('another server that its tools have started has a standing of its own; one its wrapper started anew is its own', () => {
  const recognition = {
    role: 'server',
    declaredPort: null,
    transport: 'tcp',
    registeredService: false,
    subject: null,
    helper: false,
  } as const;
  const nested = process(5000, 200, { comm: 'codex', argv: ['codex', 'app-server'], marks: inherited });
  const anew = process(5001, 200, { marks: carried });
  const look = {
    ...lookAt(nested, anew),
    candidates: [
      { pid: 5000, recognition: { ...recognition, kind: 'codex' } },
      { pid: 5001, recognition: { ...recognition, kind: 'opencode' } },
    ],
  };
  expect(pidsOf(look)).toEqual([5001]);
});
