import type { SshFailed, SshStep } from '../../ssh-failed.ts';
import type { SshQuestion } from '../askpass/questions.ts';

/**
 * Where a connection stands.
 *
 *   disconnected   nobody wants it
 *   connecting     ssh is on its way; `step` and `text` say where
 *   authenticating ssh waits for the person's answer to `question`
 *   connected      commands and forwards can be used
 *   reconnecting   it was lost, and is tried again at `retryAt`
 *   failed         it could not be connected, or was lost in a way that another attempt does not mend
 */
export type ConnectionState =
  | { readonly status: 'disconnected' }
  | {
      readonly status: 'connecting';
      readonly step: SshStep;
      readonly text: string;
      /** 0 for the first; else the how manieth since it was lost. */
      readonly attempt: number;
    }
  | { readonly status: 'authenticating'; readonly question: SshQuestion; readonly attempt: number }
  | { readonly status: 'connected' }
  | {
      readonly status: 'reconnecting';
      /** The attempt that comes at `retryAt`, from 1. */
      readonly attempt: number;
      readonly retryAt: {
        /** Milliseconds of `performance.now()`. */
        readonly monotonic: number;
        /** Milliseconds since the epoch; for people. */
        readonly wall: number;
      };
      readonly why: SshFailed;
    }
  | { readonly status: 'failed'; readonly error: SshFailed };

const MAX_PAUSE_MS = 30_000;

/** How long to wait before an attempt: none before the first, then 1, 2, 4 … 30 s. In milliseconds. */
export function pauseBefore(attempt: number): number {
  if (attempt <= 1) return 0;
  return Math.min(MAX_PAUSE_MS, 1000 * 2 ** (attempt - 2));
}
