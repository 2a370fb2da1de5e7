import { ask } from '../client/http.ts';
import type { Endpoint, SessionActs, SessionFact } from '../kind.ts';

/**
 * Interrupts what a session does. The question goes to the instance that told of it; to any other folder it would load
 * that folder in the server, so a session that no event told of is refused.
 */
async function abortSession(endpoint: Endpoint, session: SessionFact, deadlineMs: number): Promise<string | null> {
  const directory = session.instance ?? session.directory;
  if (session.heardAt === null || directory === null) {
    return 'its server has not told of it since it is watched, so it may not be the one that runs it';
  }
  if (session.state === 'idle' || session.state === 'error') return 'it does nothing that could be interrupted';
  const path = `/session/${encodeURIComponent(session.id)}/abort?directory=${encodeURIComponent(directory)}`;
  const answer = await ask(endpoint, { method: 'POST', path, deadlineMs });
  if (answer.state === 'failed') return `its server did not interrupt it: ${answer.why}`;
  if (answer.status === 401 || answer.status === 403) return 'its server is locked behind a password';
  if (answer.status === 404) return 'its server does not know it any more';
  if (answer.status !== 200) return `its server answered with status ${answer.status}`;
  return answer.body.trim() === 'true' ? null : 'its server did not say that it was interrupted';
}

/** @param program the command-line program of the server's kind */
export function opencodeActs(program: string): SessionActs {
  return {
    abort: abortSession,
    attach: (url, session) => [program, 'attach', url, '--session', session],
  };
}
