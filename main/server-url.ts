import type { Roll } from '../app/roll/schema.ts';

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
