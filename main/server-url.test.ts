import { expect, test } from 'vitest';
import { idOf, roll, server } from '../e2e/support/fixture-roll.ts';
import { isLoopbackUrl, urlOf } from './server-url.ts';

test.each(['http://127.0.0.1:4096/', 'http://[::1]:4096/x', 'https://localhost/'])('%s may be opened', (url) =>
  expect(isLoopbackUrl(url)).toBe(true),
);

test.each([
  'file:///etc/passwd',
  'javascript:alert(1)',
  'http://127.0.0.1.example.org/',
  'http://localhost.example.org/',
  'http://user:pass@127.0.0.1/',
  'http://10.0.0.1/',
  'smb://127.0.0.1/share',
  'not a url',
])('%s may not be opened', (url) => expect(isLoopbackUrl(url)).toBe(false));

test('a URL is that of a row of the roll, or a sentence says why there is none', () => {
  const servers = [
    server(1, 'owned'),
    server(2, 'owned', { url: null }),
    server(3, 'owned', { url: 'http://192.168.0.9:80/' }),
  ];
  const one = roll({ servers });
  expect(urlOf(one, idOf(1))).toEqual({ url: 'http://127.0.0.1:30001/' });
  expect(urlOf(one, idOf(2))).toEqual({ message: 'opencode, PID 2, has no address that a browser can open.' });
  expect(urlOf(one, idOf(3))).toHaveProperty('message', expect.stringContaining('was not opened'));
  expect(urlOf(one, idOf(4))).toHaveProperty('message', expect.stringContaining('no longer in the roll'));
});
