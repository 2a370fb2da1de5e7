/** What the app opens outside itself: loopback URLs, files of ours, the clipboard. Nothing else. */
import { existsSync } from 'node:fs';
import { clipboard, shell } from 'electron';
import type { Roll } from '../app/roll/schema.ts';

type Done = { readonly ok: true } | { readonly ok: false; readonly message: string };

const LOOPBACK: ReadonlySet<string> = new Set(['127.0.0.1', '[::1]', 'localhost']);

/** Whether `text` is an http(s) URL of this machine's loopback interface, without credentials. */
export function isLoopbackUrl(text: string): boolean {
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    return false;
  }
  if (url.protocol !== 'http:' && url.protocol !== 'https:') return false;
  return LOOPBACK.has(url.hostname) && url.username === '' && url.password === '';
}

/** The URL of a server in the roll, or the sentence that says why there is none to open. */
export function urlOf(roll: Pick<Roll, 'servers'>, id: string): { url: string } | { message: string } {
  const server = roll.servers.find((one) => one.id === id);
  if (server === undefined) return { message: 'This server is no longer in the roll. Choose one from the list.' };
  if (server.url === null)
    return { message: `${server.kind}, PID ${server.pid}, has no address that a browser can open.` };
  if (!isLoopbackUrl(server.url)) {
    return { message: `${server.url} was not opened: it is not on this machine's loopback interface.` };
  }
  return { url: server.url };
}

export async function openServerUrl(roll: Pick<Roll, 'servers'>, id: string): Promise<Done> {
  const found = urlOf(roll, id);
  if ('message' in found) return { ok: false, message: found.message };
  await shell.openExternal(found.url);
  return { ok: true };
}

export function copyServerUrl(roll: Pick<Roll, 'servers'>, id: string): Done {
  const found = urlOf(roll, id);
  if ('message' in found) return { ok: false, message: found.message };
  clipboard.writeText(found.url);
  return { ok: true };
}

export function copyText(text: string): Done {
  clipboard.writeText(text);
  return { ok: true };
}

/** Opens a file with the desktop's own program for it. `what` names it in the sentence for the person. */
export async function openFile(path: string | null, what: string): Promise<Done> {
  if (path === null) return { ok: false, message: `There is no ${what} for this server.` };
  if (!existsSync(path)) return { ok: false, message: `${path} does not exist yet. Create it, then try again.` };
  const failed = await shell.openPath(path);
  return failed === '' ? { ok: true } : { ok: false, message: `${path} could not be opened: ${failed}` };
}
