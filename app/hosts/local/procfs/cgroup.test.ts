import { expect, test } from 'vitest';
import { isContainerCgroup, leafCgroup } from './cgroup.ts';

const UNIT = '/user.slice/user-1000.slice/user@1000.service/app.slice/opencode.service';

test.each([
  ['unified only', `0::${UNIT}\n`, UNIT],
  ['the unified hierarchy wins over controllers', `9:name=systemd:/\n4:memory:/deep/er/still\n0::${UNIT}\n`, UNIT],
  ["systemd's own where it says more", `1:name=systemd:${UNIT}\n0::/\n`, UNIT],
  ['legacy hosts have no unified one', `4:memory:/x\n1:name=systemd:${UNIT}\n`, UNIT],
  ['a colon in a name', '0::/a:b/c.service\n', '/a:b/c.service'],
  ['neither', '4:memory:/x\n', null],
  ['empty', '', null],
])('leafCgroup: %s', (_, text, path) => {
  expect(leafCgroup(text)).toBe(path);
});

test.each([
  ['/docker/084f', true],
  ['/system.slice/docker-084f.scope', true],
  ['/kubepods.slice/x', true],
  ['/machine.slice/libpod-1.scope', true],
  [UNIT, false],
  ['/lxc.payload.box/x', true],
  ['/system.slice/docker.service', false],
  ['/user.slice/mydockerthing.service', false],
])('isContainerCgroup(%j) is %s', (path, container) => {
  expect(isContainerCgroup(path)).toBe(container);
});
