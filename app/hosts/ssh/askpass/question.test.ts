import { expect, test } from 'vitest';
import { kindOf, shownText } from './question.ts';

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
  expect(kindOf(prompt, hint)).toEqual(kind);
});

test('what is shown keeps its lines and loses what is invisible', () => {
  expect(shownText('one\r\ntwo\u001b[31m\u202e three\n')).toBe('one\ntwo[31m three');
});
