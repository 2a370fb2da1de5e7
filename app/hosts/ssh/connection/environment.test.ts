import { expect, test } from 'vitest';
import { pauseBefore } from './connection-state.ts';
import { sshEnvironment } from './environment.ts';

test('ssh gets the person’s environment without our marks, in English, and asks nothing unless it is told how', () => {
  const env = {
    HOME: '/home/me',
    SSH_AUTH_SOCK: '/run/agent',
    LC_ALL: 'de_DE.UTF-8',
    LANGUAGE: 'de',
    SSH_ASKPASS: '/usr/bin/askpass',
    SSH_ASKPASS_REQUIRE: 'prefer',
    OPENCODE_PID: '1',
    ROLLCALL_NONCE: 'x',
    ROLLCALL_TEST_RUN: 'run',
    ELECTRON_RUN_AS_NODE: '1',
    NODE_OPTIONS: '--inspect',
    NOTHING: undefined,
  };
  expect(sshEnvironment(env)).toEqual({
    HOME: '/home/me',
    ROLLCALL_TEST_RUN: 'run',
    SSH_AUTH_SOCK: '/run/agent',
    LC_CTYPE: 'de_DE.UTF-8',
    LC_MESSAGES: 'C',
    SSH_ASKPASS_REQUIRE: 'never',
  });
  const asking = sshEnvironment(env, { SSH_ASKPASS: '/ours', SSH_ASKPASS_REQUIRE: 'force' });
  expect([asking['SSH_ASKPASS'], asking['SSH_ASKPASS_REQUIRE']]).toEqual(['/ours', 'force']);
});

test('pauses grow from none to half a minute and no further', () => {
  expect([1, 2, 3, 4, 5, 6, 7, 8, 100, 5000].map(pauseBefore)).toEqual([
    0, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000, 30_000, 30_000,
  ]);
});
