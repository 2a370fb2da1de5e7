import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { CustomKind, Recognisable } from '../kind.ts';
import { mayBeServer } from './may-be-server.ts';
import { recognise } from './recognise.ts';

const CUSTOM: CustomKind[] = [
  { name: 'own', program: 'agentd', args: ['up'] },
  { name: 'other', program: '/opt/übung/run', args: [] },
];
const ARGUMENTS = [
  ...['opencode', 'kilo', 't3', 'codex', 'claude', 'server', 'agentd', 'node', 'bun', 'sh', 'sleep', '-c', '--port'],
  ...['serve', 'web', 'app-server', 'mcp', '--serve', '--resume=1', 'up', '60', '', '/opt/übung/run', '--service'],
  ...['/usr/bin/.opencode-wrapped', 'opencode.exe', '/x/t3/dist/bin.mjs', 'codex-x86_64', 'opencode serve --port 1'],
  ...['/h/.claude/remote/server', '/c/ccd-cli/2.1.1', '/n/@anthropic-ai/claude-code/cli.js', 'run-t3.sh', '\ufffd'],
];
const EXECUTABLES = [null, '/usr/bin/node', '/usr/bin/sleep', '/x/opencode', '/x/agentd', '/opt/übung/run', '/x/codex'];

test('whatever is recognised passes, so that a process passed over by its bytes is never a server', () => {
  let recognised = 0;
  fc.assert(
    fc.property(
      fc.array(fc.constantFrom(...ARGUMENTS), { maxLength: 4 }),
      fc.constantFrom(...EXECUTABLES),
      fc.constantFrom(CUSTOM, []),
      (argv, executablePath, custom) => {
        const decoded: Recognisable = { comm: 'x', argv, executablePath };
        const raw = { ...decoded, rawArgv: Buffer.from(argv.map((arg) => `${arg}\0`).join('')) };
        const found = recognise(decoded, custom);
        if (found.state === 'server') recognised += 1;
        const told = recognise(raw, custom);
        // What its bytes alone rule out is settled without its program.
        if (found.state !== 'unproved' || found.claims !== null) expect(told).toEqual(found);
      },
    ),
    { numRuns: 20_000 },
  );
  expect(recognised).toBeGreaterThan(20);
});

test('what names no kind is passed over without its executable, and with custom kinds not by name alone', () => {
  const sleep = { comm: 'sleep', argv: ['sleep', '60'], rawArgv: Buffer.from('sleep\x0060\x00') };
  const unasked: Recognisable = {
    ...sleep,
    get executablePath(): string | null {
      throw new Error('must not be asked');
    },
  };
  expect(mayBeServer(unasked, [])).toBe(false);
  expect(mayBeServer({ ...sleep, executablePath: '/x/agentd' }, CUSTOM)).toBe(true);
  expect(mayBeServer({ ...sleep, executablePath: '/usr/bin/sleep' }, CUSTOM)).toBe(false);
});
