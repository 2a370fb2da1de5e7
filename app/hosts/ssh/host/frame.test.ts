import { spawnSync } from 'node:child_process';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { SHELLS } from '../testing/shells.ts';
import { compose, parseFrame, quoted } from './frame.ts';

const MARKER = 'rollcall-00112233445566778899aabbccddeeff';

function framed(sections: readonly (readonly [string, Buffer])[], status = 0): Buffer {
  const parts = [['begin', Buffer.alloc(0)] as const, ...sections].map(([name, bytes]) =>
    Buffer.concat([Buffer.from(`\n${MARKER} ${name}\n`), bytes]),
  );
  return Buffer.concat([...parts, Buffer.from(`\n${MARKER} end ${status}\n`)]);
}

const bytes = fc.uint8Array({ maxLength: 200 }).map((each) => Buffer.from(each));
const noise = fc.oneof(
  bytes,
  fc
    .constantFrom('Welcome!\n', 'no newline', '{"remotePort":4096}', '\n\n', 'rollcall-0011 begin\n')
    .map((text) => Buffer.from(text)),
);
const named = fc.tuple(
  fc.constantFrom('stat 17', 'files', 'links', 'boot'),
  bytes.filter((each) => !each.includes(MARKER)),
);

test('D1 whatever an account prints before and after, each part comes through byte for byte', () => {
  fc.assert(
    fc.property(noise, noise, fc.array(named), fc.nat(255), (before, after, parts, status) => {
      const frame = parseFrame(Buffer.concat([before, framed(parts, status), after]), MARKER);
      expect(frame).toEqual({
        found: 'answer',
        status,
        sections: parts.map(([name, content]) => {
          const [word, ...rest] = name.split(' ');
          return { name: word, rest: rest.join(' '), bytes: content };
        }),
      });
    }),
  );
});

test('an answer that was cut off anywhere is none', () => {
  const whole = framed([
    ['stat 17', Buffer.from('17 (sleep) S')],
    ['files', Buffer.from('a:b\n')],
  ]);
  for (let length = 0; length < whole.length; length += 1) {
    expect(parseFrame(whole.subarray(0, length), MARKER).found, `${length} bytes`).not.toBe('answer');
  }
});

test('another run with another marker is no answer', () => {
  expect(parseFrame(framed([]), 'rollcall-ff')).toEqual({ found: 'nothing' });
});

test('no name of a value can become a command', () => {
  for (const name of ['a b', 'x;id', 'PATH', 'rc_marker', '', '1a']) {
    expect(() => compose('true', { [name]: 'x' })).toThrow(TypeError);
  }
  expect(() => quoted('a\0b')).toThrow(TypeError);
});

describe.each(SHELLS)('$name', (shell) => {
  const run = (input: string | Buffer): Buffer => {
    const [program, ...args] = shell.argv;
    return spawnSync(program, args, { input, env: { PATH: shell.path ?? process.env['PATH'] } }).stdout;
  };

  test('values arrive as they are', (context) => {
    if (shell.missing !== null) context.skip(shell.missing);
    fc.assert(
      fc.property(fc.array(fc.string({ unit: 'binary' }).map((text) => text.replaceAll('\0', ''))), (values) => {
        const wellFormed = values.map((value) => value.toWellFormed());
        const parameters = Object.fromEntries(
          wellFormed.map((value, index) => [`v_${'abcdefghijkl'[index % 12] ?? ''}${'x'.repeat(index)}`, value]),
        );
        const script = Object.keys(parameters)
          .map((name) => `rc_section value; printf %s "$${name}"`)
          .join('\n');
        const { input, marker } = compose(script || 'true', parameters);
        const frame = parseFrame(run(input), marker);
        if (frame.found !== 'answer') throw new Error(frame.found);
        expect(frame.sections.map((each) => each.bytes.toString('utf8'))).toEqual(wellFormed);
      }),
      { numRuns: 20, examples: [[["'; echo x '", '$(id)', 'a\nb', '`', '\\', '*']]] },
    );
  });

  test('a script that was cut off anywhere runs nothing', (context) => {
    if (shell.missing !== null) context.skip(shell.missing);
    const { input } = compose('echo ran', { pid: 17 });
    expect(run(input).toString()).toContain('ran');
    // The last byte is the newline after the closing brace.
    for (const cut of [2, 3, 4, 5, 6, 20, 30, 40, 60, 80, 100, 140, 300, 1000, input.length - 5]) {
      expect(run(input.slice(0, input.length - cut)).toString(), `${cut} bytes missing`).toBe('');
    }
  });
});
