import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { CONTENT_SECURITY_POLICY, fileOf, serveScheme } from './app-scheme.ts';

const root = mkdtempSync(join(tmpdir(), 'scheme-'));
writeFileSync(join(root, 'index.html'), '<!doctype html>');
afterAll(() => rmSync(root, { recursive: true, force: true }));

test('names files of its folder only', () => {
  expect(fileOf('app://rollcall/index.html', root)).toEqual({
    path: join(root, 'index.html'),
    type: 'text/html; charset=utf-8',
  });
  expect(fileOf('app://rollcall/assets/a%20b.js', root)?.path).toBe(join(root, 'assets', 'a b.js'));
});

test.each([
  'app://other/index.html',
  'app://rollcall/',
  'app://rollcall/..%2f..%2fetc%2fpasswd.html',
  'app://rollcall/%2e%2e%2fpreload.js',
  'app://rollcall/a%00.js',
  'app://rollcall/%ff.js',
  'app://rollcall/program.cjs',
  'file:///etc/hosts.html',
])('%s names nothing', (url) => expect(fileOf(url, root)).toBeNull());

test('serves with the policy, and 404 for what is not there', async () => {
  let serve: ((request: Request) => Response | Promise<Response>) | undefined;
  serveScheme(
    {
      handle: (_scheme: string, handler: (request: Request) => Response | Promise<Response>) => {
        serve = handler;
      },
    } as Parameters<typeof serveScheme>[0],
    root,
  );
  // Node's own Request refuses nothing about the scheme, so the handler can be asked as Electron asks it.
  const ask = (url: string, method = 'GET') => serve?.({ url, method } as Request);
  const page = await ask('app://rollcall/index.html');
  expect(page?.status).toBe(200);
  expect(page?.headers.get('content-security-policy')).toBe(CONTENT_SECURITY_POLICY);
  expect(await page?.text()).toBe('<!doctype html>');
  expect((await ask('app://rollcall/missing.js'))?.status).toBe(404);
  expect((await ask('app://rollcall/index.html', 'POST'))?.status).toBe(404);
});
