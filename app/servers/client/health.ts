import type { Endpoint, Health } from '../kind.ts';
import { ask, type HttpAnswer, loopbackOf } from './http.ts';

/**
 * Asks one health path and lets `judge` decide whether the answer is its kind's own. 401 and 403 mean alive but not
 * ours to talk to; any other status than 200 and any other body is another program's or a broken server's answer.
 *
 * @param judge `ok`, or why the body of a 200 is not the right one
 */
export async function askHealth(
  endpoint: Endpoint,
  path: string,
  deadlineMs: number,
  judge: (body: string) => Extract<Health, { state: 'ok' }> | string,
): Promise<Health> {
  if (loopbackOf(endpoint.address) === null) {
    return { state: 'unknown', why: `it listens on ${endpoint.address} only, and only loopback addresses are asked` };
  }
  const answer: HttpAnswer = await ask(endpoint, { method: 'GET', path, deadlineMs });
  if (answer.state === 'failed') return { state: 'unresponsive', why: answer.why };
  if (answer.status === 401 || answer.status === 403) return { state: 'locked' };
  if (answer.status !== 200) return { state: 'unresponsive', why: `it answered ${path} with status ${answer.status}` };
  const judged = judge(answer.body);
  return typeof judged === 'string' ? { state: 'unresponsive', why: judged } : judged;
}

/** Parses a JSON object; null for anything else. */
export function jsonObject(text: string): Readonly<Record<string, unknown>> | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : null;
  } catch {
    // Not JSON is one of the answers that this function gives.
    return null;
  }
}

/** A version to show, if it looks like one; a hostile server's text never gets further. */
export function versionText(value: unknown): string | null {
  return typeof value === 'string' && /^[\w.+-]{1,64}$/u.test(value) ? value : null;
}
