import type { Audit } from '../../audit/audit.ts';
import type { Host, Look } from '../../hosts/host.ts';
import type { ProcessRef } from '../../identity/identity.ts';
import type { ServerRecord } from '../../records/schema.ts';
import type { RecordStore } from '../../records/store.ts';
import type { Server } from '../../roll/schema.ts';
import type { Kind, ProgramFinder } from '../../servers/kind.ts';
import type { ServerRegistry } from './server-registry.ts';

/** What to start, and for whom. */
export interface StartOrder {
  readonly kind: Kind;
  readonly directory: string;
  readonly port: number | null;
  /** It is stopped when this process goes away. */
  readonly owner: ServerRecord['owner'];
  readonly keepRunning: boolean;
  /** Automatic restarts in a row that led to this start; 0 for a person's. */
  readonly attempt: number;
}

/** What starting needs of the host supervisor that asks for it. */
export interface StartDeps {
  readonly host: Host;
  readonly store: RecordStore;
  readonly audit: Audit;
  readonly logsDir: string;
  /** Environment that a server on this host inherits from us. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly finder: ProgramFinder;
  /** This process, so that a planned record tells whether its writer lives. */
  readonly writer: ProcessRef;
  readonly look: (trees: readonly number[]) => Promise<Look>;
  readonly uid: number | null;
  /** Fires when this process is about to quit: what is not ready by then is given up. */
  readonly abort: AbortSignal;
  readonly by: string;
  readonly progress: (message: string) => void;
  readonly lives: ServerRegistry;
  /** Nonces of starts under way, so that their records are not judged stale meanwhile. */
  readonly pending: Set<string>;
  readonly deadlineMs?: number;
  /** The file behind a program's path, where it can be told. */
  readonly programFileOf: (path: string) => ServerRecord['program'];
  /** The listed server that a process belongs to; null for any other process. */
  readonly serverAt: (pid: number) => Server | null;
}
