import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { commandText, REDACTED, redactArgv } from './redact.ts';

/** Characters of a secret where blanks and quotes would end it. */
const PLAIN = fc.string({
  unit: fc.constantFrom(...'abcxyzABCXYZ0189_-.~+=!$%^*@:,;&|/?#(){}[]<>é日'),
  minLength: 8,
  maxLength: 40,
});
/** What the alphabet of base64 and of keys allows. */
const KEY = fc.string({ unit: fc.constantFrom(...'abcxyzABCXYZ0189_-'), minLength: 8, maxLength: 40 });
const ANY = fc.string({ unit: 'binary', minLength: 8, maxLength: 40 });
const SPACED = fc.string({ unit: fc.constantFrom(...'aZ09 -=\t;&|$.é'), minLength: 8, maxLength: 40 });
const QUOTED = fc.string({ unit: fc.constantFrom(...'aZ09 -="\\\';é'), minLength: 8, maxLength: 40 });

const OPTIONS = [
  ...['--password', '--passwd', '--passphrase', '--secret', '--token', '--api-key', '--apikey', '--api_key'],
  ...['--access-key', '--private-key', '--credential', '--cookie', '--bearer', '--auth', '--auth-token', '-token'],
  ...['--openai-api-key', '--client-secret', '--server-password', '--AUTH_TOKEN', '-password', '--db.password'],
];
const NAMES = ['OPENAI_API_KEY', 'TOKEN', 'DB_PASSWORD', 'SECRET', 'x_token', 'SESSION_COOKIE', 'AUTH', 'PASSPHRASE'];

/** An option that takes a secret, in front of which others that were left without theirs may stand. */
const option = fc.constantFrom(...OPTIONS);
const name = fc.constantFrom(...NAMES);
const doubleQuoted = (secret: string): string => `"${secret.replace(/["\\$`]/gu, '\\$&')}"`;
const singleQuoted = (secret: string): string => `'${secret.replaceAll("'", "'\\''")}'`;

type Form = readonly [
  what: string,
  secrets: fc.Arbitrary<string>,
  argv: (secret: string, option: string, name: string) => string[],
];

const FORMS: readonly Form[] = [
  ['an argument after its option', ANY, (s, o) => ['x', 'serve', o, s, '--port', '1']],
  ['an argument after two options', ANY, (s, o) => ['x', '--auth', o, s]],
  ['an argument after a misspelt option', ANY, (s, o) => ['x', '-token', o, s, 'y']],
  ['within an option', ANY, (s, o) => ['x', `${o}=${s}`, 'y']],
  ['an assignment', ANY, (s, _, n) => ['env', `${n}=${s}`, 'x']],
  ['a shell’s text, plain', PLAIN, (s, o) => ['sh', '-c', `exec x serve ${o} ${s} --port 1`]],
  ['a shell’s text, after an equals sign', PLAIN, (s, o) => ['sh', '-c', `x ${o}=${s} y`]],
  ['a shell’s text, after two options', PLAIN, (s, o) => ['sh', '-c', `x --auth ${o}   ${s} y`]],
  ['a shell’s text, double quotes', QUOTED, (s, o) => ['sh', '-c', `x ${o} ${doubleQuoted(s)} && y`]],
  ['a shell’s text, double quotes and equals', QUOTED, (s, o) => ['sh', '-c', `x ${o}=${doubleQuoted(s)}`]],
  ['a shell’s text, single quotes', QUOTED, (s, o) => ['sh', '-c', `x ${o} ${singleQuoted(s)} && y`]],
  ['a shell’s text, all quoted', SPACED, (s, o) => ['sh', '-c', `x "${o}=${s}" '${o}=${s}' "${o}" "${s}"`]],
  ['a shell’s text, cut off', SPACED, (s, o) => ['sh', '-c', `x ${o} "${s}`]],
  ['a shell within a shell', KEY, (s, o) => ['sh', '-c', `sh -c "x ${o} ${s}" && y`]],
  ['an assignment in a shell’s text', PLAIN, (s, _, n) => ['sh', '-c', `cd /; ${n}=${s} x`]],
  ['a quoted assignment', QUOTED, (s, _, n) => ['sh', '-c', `export ${n}=${doubleQuoted(s)} A=b; x`]],
  ['an assignment all quoted', SPACED, (s, _, n) => ['sh', '-c', `env "${n}=${s}" '${n}=${s}' x`]],
  ['a rewritten title', PLAIN, (s, o) => [`opencode serve ${o} ${s} --port 1`]],
  ['a list in JSON', QUOTED, (s, o) => ['x', JSON.stringify({ cmd: ['x', o, s, '--port', '1'] })]],
  ['a value in JSON', QUOTED, (s) => ['x', JSON.stringify({ apiKey: s, client_secret: s, secretKey: s, a: 1 })]],
  ['a value in escaped JSON', KEY, (s) => ['sh', '-c', `x "{\\"apiKey\\":\\"${s}\\",\\"a\\":1}"`]],
  ['the password of a URL', fc.stringMatching(/^[\w.~@:!$-]{8,40}$/u), (s) => ['x', `https://ann:${s}@h:1/a`]],
  ['the user of a URL', KEY, (s) => ['git', 'clone', `https://${s}@h/a`]],
  ['a query', KEY, (s) => ['x', `http://h/?a=b&auth_token=${s}&c=d#access_token=${s}`]],
  ['a header', KEY, (s) => ['curl', '-H', `Authorization: Bearer ${s}`, '-H', `X-Api-Key: ${s}`]],
  ['a header of several words', SPACED, (s) => ['curl', '-H', `Authorization: Token x${s}`, '-H', `Cookie: a=x${s}`]],
  ['a header in a shell’s text', SPACED, (s) => ['sh', '-c', `curl -H 'authorization: Digest x${s}' http://h`]],
  ['a login', PLAIN, (s) => ['curl', '-u', `ann:${s}`, '--user', `ann:${s}`]],
  ['a login in a shell’s text', PLAIN, (s) => ['sh', '-c', `curl -u ann:${s} http://h`]],
];

/** Pieces of the secret that could betray it, except those that the rest of the command line holds anyway. */
function betrayed(secret: string, shown: string, argv: (secret: string) => readonly string[]): readonly string[] {
  const frame = `${argv('').join(' ')} ${argv(REDACTED).join(' ')}`;
  const pieces = Array.from({ length: Math.max(0, secret.length - 5) }, (_, at) => secret.slice(at, at + 6));
  return pieces.filter((piece) => /[^\s\\"']{4}/u.test(piece) && shown.includes(piece) && !frame.includes(piece));
}

/** Spelt exactly like the next option, so that nobody could tell. */
const looksLikeOption = (secret: string): boolean =>
  /^["']?--[a-z][a-z0-9]*(?:-[a-z0-9]+)*(?:["'=\s,]|$)/u.test(secret);

describe('F14 whatever the secret is, no six characters of it are shown', () => {
  test.each(FORMS)('F14 %s', (_, secrets, form) => {
    fc.assert(
      fc.property(secrets, option, name, (secret, opt, variable) => {
        fc.pre(!looksLikeOption(secret));
        const argv = form(secret, opt, variable);
        const of = (other: string): readonly string[] => form(other, opt, variable);
        expect(betrayed(secret, redactArgv(argv).join(' '), of)).toEqual([]);
        expect(betrayed(secret, commandText(argv), of)).toEqual([]);
      }),
      { numRuns: 300 },
    );
  });
});
