/**
 * The window's own scheme: `app://rollcall/…`, served from the built renderer's folder and from nowhere else. With it
 * the window has one exact origin that a sender can be checked against, and nothing is granted to `file:`.
 */
import { readFile } from 'node:fs/promises';
import { extname, join, normalize, sep } from 'node:path';
import type { Protocol } from 'electron';

export const SCHEME = 'app';
export const WINDOW_URL = `${SCHEME}://rollcall/index.html`;

/** Script, style, image and font only from the window's own files; nothing may connect, frame or be framed. */
export const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "font-src 'self'",
  "connect-src 'none'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.woff2': 'font/woff2',
  '.map': 'application/json',
  '.json': 'application/json',
};

/** Must run before Electron is ready. */
export function declareScheme(on: Pick<Protocol, 'registerSchemesAsPrivileged'>): void {
  on.registerSchemesAsPrivileged([
    { scheme: SCHEME, privileges: { standard: true, secure: true, supportFetchAPI: true } },
  ]);
}

/**
 * The file that a URL of the window names.
 *
 * @param root absolute folder of the built renderer
 * @returns null for another host, for a path that leaves `root`, and for a type that the window has no use for
 */
export function fileOf(url: string, root: string): { readonly path: string; readonly type: string } | null {
  const parsed = new URL(url);
  if (parsed.protocol !== `${SCHEME}:` || parsed.host !== 'rollcall') return null;
  let name: string;
  try {
    name = decodeURIComponent(parsed.pathname);
  } catch {
    // A malformed escape names no file.
    return null;
  }
  if (name.includes('\0')) return null;
  const path = normalize(join(root, name));
  const type = TYPES[extname(path)];
  if (type === undefined || !path.startsWith(normalize(root) + sep)) return null;
  return { path, type };
}

/** Serves the renderer's folder. Everything that is not one of its files is 404. */
export function serveScheme(on: Pick<Protocol, 'handle'>, root: string): void {
  on.handle(SCHEME, async (request) => {
    const file = request.method === 'GET' ? fileOf(request.url, root) : null;
    const body = file === null ? null : await readFile(file.path).catch(() => null);
    if (file === null || body === null) return new Response('no such file', { status: 404 });
    return new Response(new Uint8Array(body), {
      headers: {
        'content-type': file.type,
        'content-security-policy': CONTENT_SECURITY_POLICY,
        'x-content-type-options': 'nosniff',
      },
    });
  });
}
