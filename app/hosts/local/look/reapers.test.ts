import { expect, test } from 'vitest';
import { isReaper } from './reapers.ts';

test.each([
  [1, 'anything', [], true],
  [900, 'systemd', ['/usr/lib/systemd/systemd', '--user'], true],
  [900, 'systemd', ['/usr/lib/systemd/systemd', '--system'], false],
  [7, 'tini', ['tini', '--', 'sh'], true],
  [7, 'containerd-shim', ['/usr/bin/containerd-shim-runc-v2'], true],
  [7, 'tiny', ['tiny'], false],
  [7, 'bash', ['bash', '--user'], false],
])('PID %i %s %j: reaper is %s', (pid, comm, argv, reaper) => {
  expect(isReaper({ pid, comm, argv })).toBe(reaper);
});
