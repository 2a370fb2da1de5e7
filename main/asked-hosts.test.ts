import { expect, test } from 'vitest';
import { host, question, roll, ssh } from '../e2e/support/fixture-roll.ts';
import { AskedHosts } from './asked-hosts.ts';

const asking = roll({
  hosts: [host('local'), host('web', { ssh: ssh('web-eu') })],
  questions: [question('password', { host: 'web' })],
});

test('D5 a question brings the window up once, where somebody has asked for that host by name or alias', () => {
  const asked = new AskedHosts();
  expect(asked.take(asking)).toBeNull();
  asked.noteCommand({ command: 'connect', host: 'web-eu' });
  expect(asked.take(asking)).toBe('web');
  expect(asked.take(asking)).toBeNull();
  const next = { ...asking, questions: [question('code', { host: 'web' })] };
  expect(asked.take(next)).toBe('web');
});

test('one that nobody asked for does so only where nothing else can tell of it; leaving a host asks for nothing', () => {
  const asked = new AskedHosts();
  asked.noteCommand({ command: 'disconnect', host: 'web', stopServers: false });
  asked.noteCommand({ command: 'look' });
  expect(asked.take(asking)).toBeNull();
  expect(asked.take(asking, true)).toBe('web');
});
