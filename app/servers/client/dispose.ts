import type { EndingStep, Endpoint } from '../kind.ts';
import { ask } from './http.ts';

/**
 * Asks a server to end its tools and helpers. Goes only to a listener whose identity has just verified; the caller
 * sees to that. Never throws: a server that cannot dispose is ended anyway.
 */
export async function disposeServer(
  endpoint: Endpoint,
  step: Extract<EndingStep, { step: 'dispose' }>,
): Promise<{ readonly done: boolean; readonly text: string }> {
  const answer = await ask(endpoint, { method: step.method, path: step.path, deadlineMs: step.deadlineMs });
  const who = `PID ${endpoint.identity.pid}`;
  if (answer.state === 'failed') return { done: false, text: `${who} did not dispose: ${answer.why}` };
  return answer.status === 200
    ? { done: true, text: `${who} disposed of its tools and helpers` }
    : { done: false, text: `${who} did not dispose: it answered with status ${answer.status}` };
}
