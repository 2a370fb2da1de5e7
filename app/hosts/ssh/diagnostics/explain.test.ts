import { expect, test } from 'vitest';
import { explainEnd, isPermanent } from './explain.ts';
import { type Progress, SshLog } from './ssh-log.ts';

function logOf(text: string): { log: SshLog; steps: readonly Progress[] } {
  const steps: Progress[] = [];
  const log = new SshLog((progress) => steps.push(progress));
  // In pieces, as a pipe gives it.
  for (let at = 0; at < text.length; at += 7) log.push(text.slice(at, at + 7));
  log.finish();
  return { log, steps };
}

const LOGIN = `debug1: Connecting to box.example.org [10.0.0.1] port 22.
debug1: Connection established.
debug1: Remote protocol version 2.0, remote software version OpenSSH_9.2p1
debug1: Server host key: ssh-ed25519 SHA256:abc
debug1: Next authentication method: publickey
`;

const CASES: readonly (readonly [string, string, string, string, boolean])[] = [
  ['ssh: Could not resolve hostname nowhere: Name or service not known', 'name', 'name-not-found', 'nowhere', false],
  ['ssh: connect to host box port 22: Connection refused', 'port', 'refused', 'box port 22', false],
  ['ssh: connect to host box port 22: Connection timed out', 'port', 'timed-out', 'did not answer', false],
  ['ssh: connect to host box port 22: No route to host', 'port', 'no-route', 'no route', false],
  ['ssh: connect to host box port 22: Network is unreachable', 'port', 'no-network', 'unreachable', false],
  ['kex_exchange_identification: Connection closed by remote host', 'port', 'closed-early', 'before any login', false],
  ['Connection timed out during banner exchange', 'port', 'timed-out', 'did not answer', false],
  [
    'Unable to negotiate with 10.0.0.1 port 22: no matching key exchange method found. Their offer: old',
    'port',
    'no-common-algorithms',
    'no matching key exchange',
    true,
  ],
  [
    `${LOGIN}me@box: Permission denied (publickey,password).`,
    'authentication',
    'permission-denied',
    'tried: publickey',
    true,
  ],
  [
    `${LOGIN}debug1: Server accepts key: /home/me/my key ED25519 SHA256:k explicit\nme@box: Permission denied (publickey).`,
    'authentication',
    'key-locked',
    '/home/me/my key',
    true,
  ],
  [
    `${LOGIN}debug1: get_agent_identities: ssh_get_authentication_socket: No such file or directory\nme@box: Permission denied (publickey).`,
    'authentication',
    'permission-denied',
    'agent that SSH_AUTH_SOCK names does not answer',
    true,
  ],
  [
    `${LOGIN}Received disconnect from 10.0.0.1 port 22:2: Too many authentication failures\nDisconnected from 10.0.0.1`,
    'authentication',
    'too-many-keys',
    'too many attempts',
    true,
  ],
  [`${LOGIN}Connection closed by 10.0.0.1 port 22`, 'authentication', 'closed-during-login', 'during the login', false],
  [`${LOGIN}Host key verification failed.`, 'host-key', 'unknown-host-key', 'ED25519 SHA256:abc', true],
  [
    'channel 0: open failed: connect failed: No route\nstdio forwarding failed',
    'port',
    'jump-failed',
    'on the way',
    false,
  ],
  [
    `${LOGIN}Authenticated to box ([10.0.0.1]:22) using "publickey".\nTimeout, server box not responding.`,
    'link',
    'timed-out',
    'stopped answering',
    false,
  ],
  [
    `${LOGIN}Authenticated to box ([10.0.0.1]:22) using "publickey".\nConnection to box closed by remote host.`,
    'link',
    'closed',
    'closed from the other side',
    false,
  ],
  ['something else', 'name', 'ended', 'ended', false],
];

test.each(CASES.map(([text, ...rest]) => [...rest, text] as const))(
  '%s %s: %s',
  (step, code, words, permanent, text) => {
    const error = explainEnd('box', logOf(`${text}\r\n`).log);
    expect([error.step, error.code]).toEqual([step, code]);
    expect(error.message).toContain(words);
    expect(error.message).toMatch(/[^.]\.$/u);
    expect(error.remedy).toMatch(/[^.]\.$|ssh-add/u);
    expect(isPermanent(error)).toBe(permanent);
  },
);

test('a changed host key is told loudly, with fingerprint, line and remedy', () => {
  const { log } = logOf(`${LOGIN}@@@@@@@@
@    WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!     @
Offending ED25519 key in /home/me/.ssh/known_hosts:12
  remove with:
  ssh-keygen -f "/home/me/.ssh/known_hosts" -R "box"
Host key verification failed.
`);
  const error = explainEnd('box', log);
  expect(error.code).toBe('changed-host-key');
  expect(error.message).toContain('HAS CHANGED');
  expect(error.message).toContain('ED25519 SHA256:abc');
  expect(error.message).toContain('Line 12 of /home/me/.ssh/known_hosts');
  expect(error.remedy).toContain('ssh-keygen -f "/home/me/.ssh/known_hosts" -R "box"');
});

test('steps are told in order, a jump’s before the machine’s, and the output keeps no command and no control character', () => {
  const { log, steps } = logOf(
    `debug1: Executing proxy command: exec connect --token s3cret box\n${LOGIN}\u001b[31mred\n`,
  );
  expect(steps.map(({ step }) => step)).toEqual(['port', 'host-key', 'host-key', 'authentication']);
  expect(log.text).not.toContain('s3cret');
  expect(log.text).not.toContain('\u001b');
  expect(log.told.fingerprint).toBe('SHA256:abc');
});

test('an endless output stays bounded', () => {
  const { log } = logOf('x'.repeat(100_000));
  for (let n = 0; n < 10_000; n += 1) log.push(`line ${n} ${'y'.repeat(100)}\n`);
  expect(log.text.length).toBeLessThan(20_000);
  expect(log.text).toContain('line 9999');
});
