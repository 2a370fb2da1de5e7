import { expect, test } from 'vitest';
import { faultsOf, type Problems } from './faults.ts';

const NONE: Problems = {
  host: 'local',
  look: null,
  audit: null,
  records: null,
  aside: null,
  guard: null,
  unproved: [],
};

test('a guard that does not run says how much a crash would leave behind, and why it does not run', () => {
  const of = (unguarded: number) => faultsOf({ ...NONE, guard: { why: 'It ended with code 1.', unguarded } })[0];
  expect(of(2)).toMatchObject({
    title: 'The guard does not run',
    detail: 'If Rollcall crashed now, 2 local servers would be left behind. It ended with code 1.',
    level: 'fault',
    act: 'start-guard',
  });
  expect(of(1)?.detail).toContain('1 local server would be left behind');
  expect(of(0)?.detail).toContain('servers that you start would be left behind');
  expect(faultsOf(NONE)).toEqual([]);
});

test.each([
  ['denied', 'ls -l /proc/7/exe'],
  ['no-lsof', 'Install lsof on box'],
  ['no-stat', 'Install a stat'],
] as const)('a process whose program cannot be read (%s) is named, with what to do', (why, remedy) => {
  const [alert, ...others] = faultsOf({ ...NONE, host: 'box', unproved: [{ pid: 7, kind: 'codex', why }] });
  expect(others).toEqual([]);
  expect(alert).toMatchObject({ id: 'unproved-box', level: 'notice', act: 'none' });
  expect(alert?.detail).toContain('not recognised: its program cannot be read');
  expect(alert?.detail).toContain(remedy);
});
