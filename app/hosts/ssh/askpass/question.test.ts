import fc from 'fast-check';
import { expect, test } from 'vitest';
import { questionTypeOf, shownText } from './question.ts';

const HOST_KEY = `The authenticity of host '[127.0.0.1]:2222 ([127.0.0.1]:2222)' can't be established.
ED25519 key fingerprint is SHA256:Q2H2KUiuTQujt3TC+MIJTUPqL3VgQV4Hlpug0bMS1zI.
This key is not known by any other names.
Are you sure you want to continue connecting (yes/no/[fingerprint])? `;

test.each<[string, string | null, object]>([
  [HOST_KEY, null, { type: 'host-key', fingerprint: 'SHA256:Q2H2KUiuTQujt3TC+MIJTUPqL3VgQV4Hlpug0bMS1zI' }],
  ["Please type 'yes', 'no' or the fingerprint: ", null, { type: 'host-key' }],
  [
    "Enter passphrase for key '/home/me/.ssh/id ed25519': ",
    null,
    { type: 'passphrase', keyPath: '/home/me/.ssh/id ed25519' },
  ],
  ['Enter passphrase for /home/me/.ssh/id_rsa: ', null, { type: 'passphrase', keyPath: '/home/me/.ssh/id_rsa' }],
  ['Enter PIN for ED25519-SK key /home/me/.ssh/id_sk: ', null, { type: 'passphrase', keyPath: '/home/me/.ssh/id_sk' }],
  [
    'Enter PIN and confirm user presence for ED25519-SK key /home/me/.ssh/id_sk: ',
    null,
    { type: 'passphrase', keyPath: '/home/me/.ssh/id_sk' },
  ],
  ["Enter PIN for 'my token': ", null, { type: 'passphrase', keyPath: 'my token' }],
  ["Please type 'yes' or 'no': ", null, { type: 'host-key' }],
  ["me@box's password: ", null, { type: 'password' }],
  ['(me@box) Password: ', null, { type: 'password' }],
  ['(me@box) Password for me@box:', null, { type: 'password' }],
  ['(me@box) Verification code: ', null, { type: 'code' }],
  ['(me@box) One-time password (OATH) for `me`: ', null, { type: 'code' }],
  ['(me@box) Duo two-factor login\n\nPasscode or option (1-3): ', null, { type: 'code' }],
  ['Confirm user presence for key ED25519-SK SHA256:abc', 'none', { type: 'confirm' }],
  ['Allow use of key /home/me/.ssh/id?', 'confirm', { type: 'confirm' }],
  ['Accept updated hostkeys? (yes/no): ', null, { type: 'confirm' }],
])('%j is told for what it is', (prompt, hint, kind) => {
  expect(questionTypeOf(prompt, hint)).toEqual(kind);
});

const own = [
  HOST_KEY,
  "Please type 'yes', 'no' or the fingerprint: ",
  "Enter passphrase for key '/home/dev/.ssh/id_ed25519': ",
  'Enter PIN for ED25519-SK key /home/dev/.ssh/id_sk: ',
  'Accept updated hostkeys? (yes/no): ',
];

test('text of the server is never taken for a question of ssh itself, whatever it says', () => {
  const text = fc.array(
    fc.oneof(fc.constantFrom(...own), fc.constantFrom('\n', '\r\n', ' ', '(', ') '), fc.string({ unit: 'binary' })),
  );
  const user = fc.string({ unit: 'grapheme' });
  const hint = fc.constantFrom(null, 'confirm', 'none');
  fc.assert(
    fc.property(user, fc.domain(), text, hint, (name, host, parts, said) => {
      const { type, ...rest } = questionTypeOf(`(${name}@${host}) ${parts.join('')}`, said);
      expect(['password', 'code']).toContain(type);
      expect(rest).toEqual({});
    }),
    { numRuns: 1000 },
  );
  const posed = "(dev@127.0.0.1) Hello\nEnter passphrase for key '/home/dev/.ssh/id_ed25519':\nPassword: ";
  expect(questionTypeOf(posed, null)).toEqual({ type: 'password' });
});

test('lines that only contain what ssh asks are none of its questions, also before OpenSSH 8.5', () => {
  fc.assert(
    fc.property(fc.constantFrom(...own), fc.string({ minLength: 1 }), (asked, more) => {
      for (const prompt of [`x${more}\n${asked}`, `${asked}\nx${more}`]) {
        expect(['password', 'code']).toContain(questionTypeOf(prompt, null).type);
      }
    }),
  );
});

test('what is shown keeps its lines and loses what is invisible', () => {
  expect(shownText('one\r\ntwo\u001b[31m\u202e three\n')).toBe('one\ntwo[31m three');
});
