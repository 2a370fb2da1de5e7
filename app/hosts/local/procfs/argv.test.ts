import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decodeArgv, hashArgv, pickVariables } from './argv.ts';

const raw = (...args: string[]): Buffer => Buffer.from(args.map((arg) => `${arg}\0`).join(''));

describe('decodeArgv', () => {
  test.each<[string, Buffer, string[]]>([
    ['nothing', Buffer.alloc(0), []],
    ['one argument', raw('opencode'), ['opencode']],
    ['an empty argument in the middle', raw('a', '', 'b'), ['a', '', 'b']],
    ['an empty argument at the end', raw('a', ''), ['a', '']],
    ['empty arguments at the end of several', raw('a', 'b', '', ''), ['a', 'b', '', '']],
    ['one empty argument', raw(''), ['']],
    ['blanks, tabs and newlines stay inside', raw('a b', 'c\td\ne'), ['a b', 'c\td\ne']],
    ['a title padded with NULs', Buffer.from(`opencode serve${'\0'.repeat(40)}`), ['opencode serve']],
    ['a title padded with blanks', Buffer.from(`opencode serve${' '.repeat(40)}\0`), ['opencode serve']],
    ['a title that no NUL ends', Buffer.from('opencode serve'), ['opencode serve']],
    ['bytes that are no UTF-8', Buffer.from([0x61, 0xff, 0xfe, 0, 0x62, 0]), ['a\ufffd\ufffd', 'b']],
  ])('F4 %s', (_, bytes, argv) => {
    expect(decodeArgv(bytes)).toEqual(argv);
  });

  test('gives back any arguments of a program with at least two non-empty ones', () => {
    const arg = fc
      .string({ unit: 'binary' })
      .filter((text) => !text.includes('\0') && Buffer.from(text).toString() === text);
    fc.assert(
      fc.property(
        fc.string({ minLength: 1 }).filter((t) => !t.includes('\0')),
        fc.array(arg),
        (last, args) => {
          const argv = ['program', ...args, last];
          expect(decodeArgv(raw(...argv))).toEqual(argv);
        },
      ),
    );
  });

  test('F3 a megabyte of arguments stays whole', () => {
    const argv = ['node', 'x'.repeat(1_000_000), 'serve', '--port'];
    expect(decodeArgv(raw(...argv))).toEqual(argv);
  });
});

test('hashArgv tells bytes apart that decode to the same text', () => {
  expect(hashArgv(Buffer.from([0xff, 0]))).not.toBe(hashArgv(Buffer.from([0xfe, 0])));
});

describe('pickVariables', () => {
  const names = ['OPENCODE_PID', 'SSH_CONNECTION'] as const;

  test('takes the named ones and nothing else', () => {
    const environ = raw('SECRET=x', 'OPENCODE_PID=12', 'XSSH_CONNECTION=no', 'SSH_CONNECTION=a b=c');
    expect(pickVariables(environ, names)).toEqual({ OPENCODE_PID: '12', SSH_CONNECTION: 'a b=c' });
  });

  test.each([
    ['inside a value', raw('A=OPENCODE_PID=1')],
    ['as the end of a longer name', raw('MY_OPENCODE_PID=1')],
    ['without a value sign', raw('OPENCODE_PID')],
    ['nothing', Buffer.alloc(0)],
  ])('is not fooled by the name %s', (_, environ) => {
    expect(pickVariables(environ, names)).toEqual({});
  });

  test('finds the true one behind a false one, first of two, also at the very end', () => {
    expect(pickVariables(Buffer.from('A=OPENCODE_PID=1\0OPENCODE_PID=2\0OPENCODE_PID=3'), names)).toEqual({
      OPENCODE_PID: '2',
    });
    expect(pickVariables(Buffer.from('OPENCODE_PID=7'), names)).toEqual({ OPENCODE_PID: '7' });
  });
});
