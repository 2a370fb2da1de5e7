import { expect, test } from 'vitest';
import { recognise } from '../../../servers/recognition/recognise.ts';
import { process } from '../../../supervisor/testing/look.ts';
import { recogniseAll } from './candidates.ts';

const OWN = 1000;
const PROGRAM = { path: '/x/opencode', device: '1', inode: '2' };

test('a server is what its arguments and its program say; without the program it is none', () => {
  const found = recogniseAll(
    [
      process(1, 1, { executable: PROGRAM }),
      process(2, 2, { executable: { ...PROGRAM, path: '/usr/bin/tail' } }),
      process(3, 3, { executable: null }),
      process(4, 4, { executable: null, argv: ['vim', 'opencode', 'serve'] }),
    ],
    [],
    recognise,
    OWN,
  );
  expect(found.candidates.map(({ pid }) => pid)).toEqual([1]);
  expect(found.unproved).toEqual([{ pid: 3, kind: 'opencode', why: 'denied' }]);
});

test('what another user runs is shown by its arguments; one whose user cannot be told may be ours', () => {
  const found = recogniseAll(
    [process(1, 1, { executable: null, uid: 0 }), process(2, 2, { executable: null, uid: null })],
    [],
    recognise,
    OWN,
    'no-stat',
  );
  expect(found.candidates.map(({ pid }) => pid)).toEqual([1]);
  expect(found.unproved).toEqual([{ pid: 2, kind: 'opencode', why: 'no-stat' }]);
});
