import type { Failure } from '../../app/roll/commands.ts';

/** The window and the rest of the app do not understand each other. */
export function brokenConnection(error: unknown): Failure {
  return {
    code: 'window-disconnected',
    message: 'The window got no answer from the rest of Rollcall.',
    remedy: 'Look at the timeline for what was done, then try again; if it stays so, quit Rollcall and start it again.',
    detail: error instanceof Error ? error.message : String(error),
  };
}

/** A refusal that says by itself what to do. */
export function refused(message: string): Failure {
  return { code: 'refused', message, remedy: '', detail: null };
}
