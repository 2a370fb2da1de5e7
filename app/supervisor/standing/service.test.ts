import { expect, test } from 'vitest';
import { serviceUnit } from './service.ts';

test.each([
  ['/user.slice/user-1000.slice/user@1000.service/app.slice/opencode.service', 'opencode.service'],
  ['/system.slice/codex-worker@2.service', 'codex-worker@2.service'],
  ['/system.slice/my.service/nested', 'my.service'],
  ['/system.slice/screenshot-agent.service', 'screenshot-agent.service'],
  ['/system.slice/footprint.service', 'footprint.service'],
  ['/user.slice/user@1000.service/app.slice/app-opencode@autostart.service', 'app-opencode@autostart.service'],
])('%s is a service', (cgroup, unit) => {
  expect(serviceUnit(cgroup)).toBe(unit);
});

test.each([
  '/',
  '/user.slice/user-1000.slice/session-3.scope',
  '/user.slice/user-1000.slice/user@1000.service',
  '/user.slice/user-1000.slice/user@1000.service/app.slice/app-gnome-code-8812.scope',
  '/user.slice/user-1000.slice/user@1000.service/app.slice/app-code@autostart.service',
  '/user.slice/user-1000.slice/user@1000.service/app.slice/gnome-terminal-server.service',
  '/user.slice/user-1000.slice/user@1000.service/session.slice/org.gnome.Shell@wayland.service',
  '/system.slice/cron.service',
  '/system.slice/ssh.service',
  '/user.slice/user-1000.slice/user@1000.service/init.scope',
  '/user.slice/user@1000.service/app.slice/app-org.kde.konsole-1234.service',
])('%s is none', (cgroup) => {
  expect(serviceUnit(cgroup)).toBeNull();
});
