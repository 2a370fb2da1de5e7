import { Buffer } from 'node:buffer';
import { type ClientRequest, type IncomingMessage, request } from 'node:http';
import { isIPv4 } from 'node:net';
import { codeOf } from '../../util/errors.ts';
import type { Endpoint } from '../kind.ts';

/** The most that is read of any answer, in bytes. */
export const ANSWER_MAX = 1_000_000;

export type HttpAnswer =
  | { readonly state: 'answered'; readonly status: number; readonly body: string }
  /**
   * No complete answer in time, or a longer one than is read. `why` is a clause that starts with "it" or "no" and names
   * no secret.
   */
  | { readonly state: 'failed'; readonly why: string; readonly tooLong?: true };

/**
 * The literal loopback address at which a listener is asked; null when it is not on the loopback. A wildcard listener
 * is asked on the loopback of its own family, so that nothing leaves the machine and no name is resolved.
 */
export function loopbackOf(address: string): string | null {
  const plain = address.replace(/^\[(.*)\]$/u, '$1').toLowerCase();
  if (plain === '0.0.0.0' || plain === '*') return '127.0.0.1';
  if (plain === '::' || plain === '::1') return '::1';
  const mapped = plain.startsWith('::ffff:') ? plain.slice('::ffff:'.length) : plain;
  if (mapped === '0.0.0.0') return '127.0.0.1';
  return isIPv4(mapped) && mapped.startsWith('127.') ? mapped : null;
}

/** An address and port as they stand in a URL: `127.0.0.1:4096`, `[::1]:4096`. */
export function hostPort(address: string, port: number): string {
  return address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`;
}

/** `http://…/` of a listener for a browser on this machine; null when it is not on the loopback. */
export function loopbackUrl(address: string, port: number): string | null {
  const loopback = loopbackOf(address);
  return loopback === null ? null : `http://${hostPort(loopback, port)}/`;
}

export interface Asked {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  /** Total time for connection, headers and body, in milliseconds. */
  readonly deadlineMs: number;
  /** Gives the question up. */
  readonly signal?: AbortSignal;
}

/** Why a request broke, in words; without the raw message, which may quote the other side. */
export function causeOf(error: unknown, endpoint: Endpoint): string {
  const code = codeOf(error) ?? '';
  if (code === 'ENOENT' && endpoint.at.type === 'socket') return 'the way to it is not open';
  if (code === 'ECONNREFUSED') return `nothing listens on ${hostPort(endpoint.address, endpoint.port)}`;
  if (code === 'ECONNRESET' || code === 'EPIPE') return 'it closed the connection before it had answered';
  if (code.startsWith('HPE_')) return 'its answer is not HTTP';
  return code === '' ? 'the request failed' : `the request failed (${code})`;
}

/** Opens a request to a verified listener, where it is reached from here: one connection that is closed after it. */
export function open(endpoint: Endpoint, method: 'GET' | 'POST', path: string, accept: string): ClientRequest {
  const headers: Record<string, string> = { Accept: accept, Connection: 'close' };
  if (method === 'POST') headers['Content-Length'] = '0';
  if (endpoint.credentials !== null) {
    const { username, password } = endpoint.credentials;
    headers['Authorization'] = `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;
  }
  const { at } = endpoint;
  const where = at.type === 'tcp' ? { host: at.address, port: at.port } : { socketPath: at.path };
  return request({ ...where, method, path, headers, agent: false });
}

/**
 * Asks a listener once. Follows no redirect, reads at most `ANSWER_MAX` bytes, gives up at the deadline whatever
 * trickles in. Never throws or rejects.
 */
export function ask(endpoint: Endpoint, asked: Asked): Promise<HttpAnswer> {
  if (loopbackOf(endpoint.address) === null) {
    return Promise.resolve({ state: 'failed', why: `it listens on ${endpoint.address}, which is not the loopback` });
  }
  if (asked.signal?.aborted === true) return Promise.resolve({ state: 'failed', why: 'it is not asked any more' });
  return new Promise((resolve) => {
    const req = open(endpoint, asked.method, asked.path, 'application/json');
    const giveUp = (): void => settle({ state: 'failed', why: 'it is not asked any more' });
    const settle = (answer: HttpAnswer): void => {
      clearTimeout(timer);
      asked.signal?.removeEventListener('abort', giveUp);
      resolve(answer);
      req.destroy();
    };
    const timer = setTimeout(() => {
      settle({ state: 'failed', why: `no answer within ${asked.deadlineMs / 1000} s` });
    }, asked.deadlineMs);
    asked.signal?.addEventListener('abort', giveUp);
    // Also after it was settled: destroying a request makes it report that once more.
    req.on('error', (error) => settle({ state: 'failed', why: causeOf(error, endpoint) }));
    req.on('response', (response) => readBody(response, settle, endpoint));
    req.end();
  });
}

function readBody(response: IncomingMessage, settle: (answer: HttpAnswer) => void, endpoint: Endpoint): void {
  const chunks: Buffer[] = [];
  let size = 0;
  response.on('data', (chunk: Buffer) => {
    size += chunk.length;
    chunks.push(chunk);
    if (size > ANSWER_MAX) settle({ state: 'failed', why: 'its answer is longer than 1 MB', tooLong: true });
  });
  response.on('error', (error) => settle({ state: 'failed', why: causeOf(error, endpoint) }));
  response.on('end', () => {
    settle({ state: 'answered', status: response.statusCode ?? 0, body: Buffer.concat(chunks).toString('utf8') });
  });
}
