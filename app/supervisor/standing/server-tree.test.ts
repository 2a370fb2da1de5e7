import { expect, test } from 'vitest';
import type { Look, ProcessInfo } from '../../hosts/host.ts';
import { lookAt, process } from '../testing/look.ts';
import { serverTree } from './server-tree.ts';

const marks = { OPENCODE_PID: '4711' };

function pidsOf(look: Look, root: ProcessInfo): number[] {
  const input = {
    look,
    roots: [root],
    leader: root,
    mark: 'OPENCODE_PID',
    spawned: null,
    others: new Set<number>(),
    uid: 1000,
  } as const;
  return serverTree(input).map(({ info }) => info.pid);
}

test('what descends from a server, and what carries its mark, belongs to it', () => {
  const server = process(4711, 100);
  const look = lookAt(server, process(5, 110, { ppid: 4711 }), process(6, 120, { marks, argv: ['sleep'] }));
  expect(pidsOf(look, server)).toEqual([4711, 5, 6]);
});

test('C1 whoever has a dead server’s number by now, and its children, belong to nobody but themselves', () => {
  const server = process(4711, 100);
  const stranger = process(4711, 200, { argv: ['postgres'] });
  const look = lookAt(stranger, process(5, 210, { ppid: 4711 }), process(6, 220, { marks, argv: ['sleep'] }));
  expect(pidsOf(look, server)).toEqual([]);
});

test('C1 what the dead one left behind is still its own, since it started before the number came round', () => {
  const server = process(4711, 100);
  const look = lookAt(process(4711, 200), process(6, 150, { marks, argv: ['sleep'] }), process(7, 200, { marks }));
  expect(pidsOf(look, server)).toEqual([6]);
});

test('what may be a server of its own, because its program cannot be read, is left alone with its tree', () => {
  const server = process(4711, 100);
  const nested = process(5, 110, { ppid: 4711, executable: null });
  const look = {
    ...lookAt(server, nested, process(6, 120, { ppid: 5 }), process(7, 120, { ppid: 4711, argv: ['sh'] })),
  };
  const unproved = [{ pid: 5, kind: 'opencode', why: 'denied' } as const];
  expect(pidsOf({ ...look, unproved }, server)).toEqual([4711, 7]);
});
