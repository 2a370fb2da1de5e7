import { expect, test } from 'vitest';
import { parseTrace } from './strace.ts';

test('every way to send a signal is read, with the process behind a pidfd', () => {
  const sent = parseTrace(
    `
16269 pidfd_open(16270, 0)              = 3<pid:16270>
16269 pidfd_send_signal(3<pid:16270>, 0, NULL, 0) = 0
16269 pidfd_send_signal(3<pid:16270>, SIGTERM, NULL, 0) = 0
16269 pidfd_send_signal(3<anon_inode:[pidfd]>, SIGKILL, NULL, 0) = -1 ESRCH (No such process)
16269 kill(-99999, SIGTERM)             = -1 EPERM (Operation not permitted)
16269 tgkill(10, 12, SIGABRT)           = 0
16269 tkill(12, SIGUSR1)                = 0
16269 rt_sigqueueinfo(13, SIGHUP, {si_signo=SIGHUP}) = 0
16269 +++ exited with 0 +++
`.trim(),
  );
  expect(sent.map(({ call, pid, signal, result }) => [call, pid, signal, result])).toEqual([
    ['pidfd_send_signal', 16270, 'SIGTERM', 'ok'],
    ['pidfd_send_signal', 16270, 'SIGKILL', 'ESRCH'],
    ['kill', -99999, 'SIGTERM', 'EPERM'],
    ['tgkill', 10, 'SIGABRT', 'ok'],
    ['tkill', 12, 'SIGUSR1', 'ok'],
    ['rt_sigqueueinfo', 13, 'SIGHUP', 'ok'],
  ]);
});

test('calls that were cut in two by another thread’s are one, and one under way counts', () => {
  const sent = parseTrace(
    [
      '7 pidfd_open(50, 0 <unfinished ...>',
      '8 kill(60, SIGTERM <unfinished ...>',
      '7 <... pidfd_open resumed>)        = 9<pid:50>',
      '7 pidfd_send_signal(9<pid:50>, SIGKILL, NULL, 0 <unfinished ...>',
      '8 <... kill resumed>)              = 0',
    ].join('\n'),
  );
  expect(sent.map(({ pid, signal }) => `${signal} ${pid}`)).toEqual(['SIGTERM 60', 'SIGKILL 50']);
});
