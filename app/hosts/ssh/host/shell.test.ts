import { expect, test } from 'vitest';
import type { ExecResult, RemoteExec } from '../contract.ts';
import { compose } from './frame.ts';
import { RemoteShell } from './shell.ts';

function saying(stdout: string, stderr = '', code: number | null = 1): RemoteExec {
  return { exec: async (): Promise<ExecResult> => ({ stdout: Buffer.from(stdout), stderr, code }) };
}

const run = (exec: RemoteExec): Promise<unknown> => new RemoteShell('far', exec).run('true', {}, 1000);

test.each([
  ['', "'sh' is not recognized as an internal or external command,\r\noperable program or batch file.", 'windows'],
  ["sh : The term 'sh' is not recognized as the name of a cmdlet", '', 'powershell'],
  ['This account is currently not available.\n', '', 'no-login'],
  ['', 'fatal: Interactive git shell is not enabled.', 'git-only'],
  ["Hi you! You've successfully authenticated, but GitHub does not provide shell access.", '', 'git-only'],
  ['This service allows sftp connections only.\n', '', 'sftp-only'],
  ['', 'bash: line 1: sh: command not found', 'no-shell'],
  ['{"remotePort":4096}\n', '', 'no-answer'],
  ['', '', 'no-answer'],
])('D10 an account without a POSIX shell is refused in one sentence: %j %j', async (stdout, stderr, code) => {
  const failure = await run(saying(stdout, stderr)).catch((error: unknown) => error);
  expect(failure).toMatchObject({ name: 'SshFailed', alias: 'far', step: 'shell', code });
  expect((failure as Error).message).toMatch(/^far [^\n]+\.$/u);
  expect(failure).toMatchObject({
    output:
      (stdout + stderr).trim() === ''
        ? null
        : expect.stringContaining((stdout + stderr).trim().split(/\r?\n/u)[0] ?? ''),
  });
});

test('a script that failed, or whose answer was cut off, is no answer', async () => {
  const answering = (text: (marker: string) => string): RemoteExec => ({
    exec: async (input) => {
      const marker = /rollcall-[0-9a-f]{32}/u.exec(String(input))?.[0] ?? '';
      return { stdout: Buffer.from(text(marker)), stderr: 'sh: kaput', code: 0 };
    },
  });
  expect(compose('true', {}).marker).not.toBe(compose('true', {}).marker);
  await expect(run(answering((marker) => `\n${marker} begin\n\n${marker} end 3\n`))).rejects.toMatchObject({
    step: 'probe',
    code: 'script-failed',
    output: 'sh: kaput',
  });
  await expect(run(answering((marker) => `\n${marker} begin\n\n${marker} left\n17:5`))).rejects.toMatchObject({
    step: 'probe',
    code: 'cut-off',
  });
});
