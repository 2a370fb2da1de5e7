/** Requests of the window: whom they come from, what they say and what is answered are checked here, once for all. */

import type { z } from 'zod';
import { type RequestName, type RequestPayload, type RequestResult, requests } from '../app/roll/channels.ts';
import { messageOf } from '../app/util/errors.ts';

export type Handlers = {
  readonly [N in RequestName]: (payload: RequestPayload<N>) => RequestResult<N> | Promise<RequestResult<N>>;
};

/** What a request is answered with; a rejected `invoke` would wrap the sentence in Electron's own. */
export type IpcAnswer =
  | { readonly ok: true; readonly result: unknown }
  | { readonly ok: false; readonly message: string };

/** The part of `ipcMain` that is used, so that tests can stand in for it. */
export interface RequestPort<E> {
  handle(channel: string, listener: (event: E, ...args: unknown[]) => Promise<IpcAnswer>): void;
  removeHandler(channel: string): void;
}

/** The part of an invoke event that tells who asks. */
export interface Sender {
  readonly senderFrame: { readonly url: string } | null;
}

/**
 * Whether a request comes from the main frame of our window, showing our page: exact origin and path.
 *
 * @param mainFrame main frame of our window now; null without a window
 */
export function comesFrom(event: Sender, mainFrame: { readonly url: string } | null, pageUrl: string): boolean {
  const frame = event.senderFrame;
  if (frame === null || mainFrame === null || frame !== mainFrame) return false;
  let url: URL;
  try {
    url = new URL(frame.url);
  } catch {
    // A frame without a page yet.
    return false;
  }
  const page = new URL(pageUrl);
  return url.protocol === page.protocol && url.host === page.host && url.pathname === page.pathname;
}

function wordsOf(error: z.ZodError): string {
  const issue = error.issues[0];
  if (issue === undefined) return 'it has the wrong form';
  return `${issue.path.length === 0 ? 'the message' : issue.path.join('.')}: ${issue.message}`;
}

async function answer<N extends RequestName>(
  name: N,
  args: readonly unknown[],
  handlers: Handlers,
): Promise<IpcAnswer> {
  if (args.length > 1) return { ok: false, message: `The request ${name} was refused: it has more than one message.` };
  const payload = requests[name].payload.safeParse(args[0] ?? null);
  if (!payload.success) {
    return { ok: false, message: `The request ${name} was refused: ${wordsOf(payload.error)}.` };
  }
  // The map ties payload and result to the name; TypeScript cannot follow that through an indexed union.
  const handler = handlers[name] as (payload: unknown) => unknown;
  const result = requests[name].result.safeParse(await handler(payload.data));
  if (!result.success) {
    return { ok: false, message: `The answer to ${name} was held back: ${wordsOf(result.error)}.` };
  }
  return { ok: true, result: result.data };
}

/**
 * Registers a handler for every request of the channel map and for nothing else.
 *
 * @param trusted whether an event's sender is our window (`comesFrom`)
 * @param report is told what was refused or failed, for the log
 * @returns the removal of all handlers
 */
export function registerRequests<E extends Sender>(
  port: RequestPort<E>,
  trusted: (event: E) => boolean,
  handlers: Handlers,
  report: (text: string) => void,
): () => void {
  const names = Object.keys(requests) as RequestName[];
  for (const name of names) {
    port.handle(name, async (event, ...args) => {
      if (!trusted(event)) {
        report(`refused ${name} from ${event.senderFrame?.url ?? 'a frame that is gone'}`);
        return { ok: false, message: `The request ${name} was refused: it does not come from Rollcall's window.` };
      }
      try {
        const answered = await answer(name, args, handlers);
        if (!answered.ok) report(answered.message);
        return answered;
      } catch (error) {
        const why = messageOf(error);
        report(`${name} failed: ${error instanceof Error ? (error.stack ?? why) : why}`);
        return { ok: false, message: why };
      }
    });
  }
  return () => {
    for (const name of names) port.removeHandler(name);
  };
}
