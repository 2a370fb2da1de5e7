import { expect, test } from 'vitest';
import { until } from '../../hosts/local/testing/processes.ts';
import { FakeLink, FakeSettings, hostsOver, setting } from './ways.testing.ts';

test('a host that is set to connect at start while the app runs is connected at once, as when a person asks', async () => {
  const box = new FakeLink('box');
  const settings = new FakeSettings({ box: setting('when-asked') });
  const hosts = hostsOver(settings, [box]);
  hosts.open();
  settings.become({ box: setting('at-start') });
  await until('it is connected', () => box.asked.length > 0);
  expect(box.asked).toEqual([{}]);
});

test('a host that is saved with connect at start, or leads elsewhere now, is connected at once', async () => {
  const [box, other] = [new FakeLink('box'), new FakeLink('other')];
  const settings = new FakeSettings();
  const hosts = hostsOver(settings, [box, other]);
  hosts.open();
  settings.become({ box: setting('at-start') });
  await until('it is connected', () => box.asked.length > 0);
  settings.become({ box: setting('at-start', 'other') });
  await until('where it leads is connected', () => other.asked.length > 0);
  expect(box.state.status).toBe('disconnected');
});

test('a host that a person disconnected stays so, whatever else is changed in the settings', async () => {
  const [box, other] = [new FakeLink('box'), new FakeLink('other')];
  const settings = new FakeSettings({ box: setting('at-start') });
  const hosts = hostsOver(settings, [box, other]);
  hosts.open();
  await until('it is connected', () => box.asked.length > 0);
  await hosts.disconnect('box', false, 'window');
  settings.become({ box: setting('at-start'), other: setting('at-start') });
  await until('the other one is connected', () => other.asked.length > 0);
  expect(box.asked).toHaveLength(1);
  expect(box.state.status).toBe('disconnected');
});

test('D16 before it is opened, nothing is connected; what it connects then it tries on', async () => {
  const box = new FakeLink('box');
  const settings = new FakeSettings();
  const hosts = hostsOver(settings, [box]);
  settings.become({ box: setting('at-start') });
  expect(box.asked).toEqual([]);
  hosts.open();
  await until('it is connected', () => box.asked.length > 0);
  expect(box.asked).toEqual([{ keepTrying: true }]);
});
