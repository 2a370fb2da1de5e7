import type { ProcessInfo } from '../hosts/host.ts';
import type { LiveRecord } from '../records/judge.ts';
import type { Server } from '../roll/schema.ts';
import type { Endpoint, Kind } from '../servers/kind.ts';
import type { JudgedLeftover } from './monitor/leftovers.ts';
import type { Remembered } from './monitor/server-history.ts';

/** A server with what acting on it needs; the row is what people see. */
export interface JudgedServer {
  readonly row: Server;
  readonly key: string;
  /** What is remembered of it from now on. */
  readonly history: Remembered;
  /** Wrappers first, then the leader, then its workers. */
  readonly roots: readonly ProcessInfo[];
  readonly leader: ProcessInfo;
  readonly owner: ProcessInfo | null;
  readonly kind: Kind | null;
  readonly endpoint: Endpoint | null;
  readonly record: LiveRecord | null;
  /** Id of the session it carries in a process of its own; null for a server of any other kind. */
  readonly session: string | null;
  /** Copies of the session that reaping this row ends: all but the newest. Empty where the row is one server. */
  readonly surplus: readonly JudgedServer[];
}

/** What one look of a host found, as it was judged. */
export interface Judged {
  readonly servers: readonly JudgedServer[];
  readonly leftovers: readonly JudgedLeftover[];
}
