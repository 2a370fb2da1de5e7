import { describe, expect, test } from 'vitest';
import { loopsOver } from './wrappers.ts';

const shell = (text: string) => ({ comm: 'bash', argv: ['bash', '-c', text], executablePath: '/usr/bin/bash' });

describe('a shell that goes round in a loop', () => {
  test.each([
    'while :; do opencode serve; done',
    'while true; do opencode serve --port 0; sleep 1; done',
    'cd /tmp && while :\ndo\n  opencode serve\ndone',
    'until false; do opencode serve; done',
    'for i in 1 2 3; do opencode serve; done',
    'x=1; { while :; do opencode serve || sleep 1; done; }',
    `while :; do "/opt/my tools/opencode" serve; done >'/tmp/a log' 2>&1`,
  ])('%s', (text) => {
    expect(loopsOver(shell(text))).toBe(true);
  });

  test.each([
    'opencode serve',
    'opencode serve; echo done',
    'opencode serve --title "while :; do x; done"',
    "opencode serve # 'while :; do x; done'",
    'meanwhile x; do; done',
    './run-for-ever.sh',
    'opencode serve for a while; done',
  ])('%s is none', (text) => {
    expect(loopsOver(shell(text))).toBe(false);
  });

  test('nothing but a shell with a command string is one', () => {
    const loop = 'while :; do opencode serve; done';
    expect(loopsOver({ comm: 'node', argv: ['node', '-c', loop], executablePath: '/usr/bin/node' })).toBe(false);
    expect(loopsOver({ comm: 'bash', argv: ['bash', 'loop.sh', loop], executablePath: '/usr/bin/bash' })).toBe(false);
    expect(loopsOver({ comm: 'x', argv: ['bash', '-c', loop], executablePath: '/opt/x' })).toBe(false);
  });
});
