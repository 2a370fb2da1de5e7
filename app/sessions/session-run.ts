/** One life of a session: from when it was first seen alive until it ended. The same session may live again later. */
import type { ProcessIdentity } from '../identity/identity.ts';

/**
 *   ended           a person ended it, or its tool took it off its list
 *   deleted         it was deleted in its tool
 *   server-stopped  its server was stopped or reaped
 *   server-crashed  its server ended unexpectedly
 *   server-gone     its server is gone, and nobody saw how
 *   host-rebooted   its host was started anew
 *   app-killed      its server was stopped since Rollcall had been killed
 *   quit            its server was stopped with Rollcall
 */
export const END_REASONS = [
  'ended',
  'deleted',
  'server-stopped',
  'server-crashed',
  'server-gone',
  'host-rebooted',
  'app-killed',
  'quit',
] as const;
export type EndReason = (typeof END_REASONS)[number];

export interface SessionRun {
  /** A UUID. */
  readonly life: string;
  /** See `sessionKey`. */
  readonly key: string;
  /** The session's id in its tool. */
  readonly id: string;
  readonly kind: string;
  readonly host: string;
  readonly directory: string | null;
  readonly title: string;
  readonly carrier: { readonly label: string; readonly identity: ProcessIdentity | null };
  /** ISO 8601. */
  readonly openedAt: string;
}

export interface SessionEnd {
  /** ISO 8601. */
  readonly at: string;
  readonly reason: EndReason;
  /** A clause about the session. */
  readonly text: string;
}
