import { describe, expect, test } from 'vitest';
import { commandText, oneLine, REDACTED, redactArgv, redactText } from './redact.ts';

/** Stands in every secret below; no redacted text may hold it. */
const S = 'hunter2hunter2';

describe('F14 secrets in argv', () => {
  test.each([
    [
      ['opencode', 'serve', '--password', S, '--port', '1'],
      ['opencode', 'serve', '--password', REDACTED, '--port', '1'],
    ],
    [
      ['x', `--password=${S}`],
      ['x', `--password=${REDACTED}`],
    ],
    [
      ['x', '--token', `-${S}`],
      ['x', '--token', REDACTED],
    ],
    [
      ['x', '--api-key', S, 'y'],
      ['x', '--api-key', REDACTED, 'y'],
    ],
    [
      ['x', `--openai-api-key=${S}`],
      ['x', `--openai-api-key=${REDACTED}`],
    ],
    [
      ['x', '--auth-token', S],
      ['x', '--auth-token', REDACTED],
    ],
    [
      ['x', '--auth', S],
      ['x', '--auth', REDACTED],
    ],
    [
      ['x', '--token', '--port', '1'],
      ['x', '--token', '--port', '1'],
    ],
    [
      ['env', `OPENAI_API_KEY=${S}`, 'x'],
      ['env', `OPENAI_API_KEY=${REDACTED}`, 'x'],
    ],
    [
      ['x', `DB_PASSWORD=${S}`],
      ['x', `DB_PASSWORD=${REDACTED}`],
    ],
    [
      ['x', `http://ann:${S}@127.0.0.1:4096/a`],
      ['x', `http://${REDACTED}@127.0.0.1:4096/a`],
    ],
    [
      ['x', `postgres://${S}@db/a`],
      ['x', `postgres://${REDACTED}@db/a`],
    ],
    [
      ['x', `http://h/?auth_token=${S}&a=b`],
      ['x', `http://h/?auth_token=${REDACTED}&a=b`],
    ],
    [
      ['x', '-H', `Authorization: Bearer ${S}`],
      ['x', '-H', `Authorization: ${REDACTED} ${REDACTED}`],
    ],
    [
      ['x', `sk-ant-${S}${S}`],
      ['x', REDACTED],
    ],
    [
      ['sh', '-c', `exec env TOKEN=${S} x --password '${S}' --port 1`],
      ['sh', '-c', `exec env TOKEN=${REDACTED} x --password ${REDACTED} --port 1`],
    ],
    [
      ['x', `{"apiKey":"${S}","a":1}`],
      ['x', `{"apiKey":${REDACTED},"a":1}`],
    ],
  ])('F14 %j', (argv, expected) => {
    const redacted = redactArgv(argv);
    expect(redacted.join(' ')).not.toContain(S);
    // How much of a header or a JSON text goes is not the point; that the rest stays readable is.
    if (!argv.includes('-H')) expect(redacted).toEqual(expected);
  });

  test('F14 what is no secret stays', () => {
    for (const argv of [
      ['opencode', 'serve', '--hostname', '127.0.0.1', '--port', '4096'],
      ['x', '--max-tokens', '100', '--author', 'ann', '--ws-auth', 'none', '--token-file', '/etc/t', '--no-auth', 'y'],
      ['x', 'http://127.0.0.1:4096/session?directory=/p', 'mail@example.org', 'A=b', '/home/ann/keys'],
    ]) {
      expect(redactArgv(argv)).toEqual(argv);
    }
  });

  test('F14 much of anything is done in linear time', () => {
    for (const text of [
      ...['a', 'token', '-a', 'eyJ-', 'a.', '?k', '"a', '--x ', ' ', 'x://a', 'cookie: ', '-u ', '\\"', "'"],
      ...['--token ', '--token "', '--token -token ', 'TOKEN=', 'TOKEN="', 'TOKEN="\\"', '"--token","', '"token":"'],
    ]) {
      const long = text.repeat(Math.ceil(300_000 / text.length));
      redactArgv([long, long]);
      redactText(long);
    }
  });
});

describe('F4 rows stay one line', () => {
  test('F4 control characters and marks that reorder text become visible', () => {
    expect(oneLine('a\nb\tc\r\u0000\u001b[31m\u202ed\u2028e')).toBe('a\\nb\\tc\\r\\u0000\\u001b[31m\\u202ed\\u2028e');
    expect(oneLine('\ud800x')).toBe('\\ud800x');
    expect(oneLine('naïve 日本 👍')).toBe('naïve 日本 👍');
  });
  test('F4 a bound on the length holds, and cuts no character in two', () => {
    expect(oneLine('abcdef', 4)).toBe('abc…');
    expect(oneLine('abcd', 4)).toBe('abcd');
    expect(oneLine('ab👍👍', 4)).toBe('ab…');
    expect(oneLine('\n'.repeat(10), 5).length).toBeLessThanOrEqual(5);
    expect(oneLine('x'.repeat(2_000_000), 200).length).toBe(200);
  });
  test('F4 empty arguments and blanks are seen in a command', () => {
    expect(commandText(['opencode', '', 'a b', 'c\nd', 'C:\\x y'])).toBe('opencode "" "a b" "c\\nd" "C:\\x y"');
    expect(commandText(['x', '--password', S])).toBe(`x --password ${REDACTED}`);
  });
});
