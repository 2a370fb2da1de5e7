import type { Audit } from '../../audit/audit.ts';
import type { Host } from '../../hosts/host.ts';
import type { ProcessRef } from '../../identity/identity.ts';
import type { ServerRecord } from '../../records/schema.ts';
import type { RecordStore } from '../../records/store.ts';
import type { ProgramFinder } from '../../servers/kind.ts';
import { ActFailed } from '../failure.ts';
import type { GuardPort } from '../guard-port.ts';
import type { JudgedServer } from '../judged-server.ts';
import type { IdleWatch } from '../lifecycle/idle.ts';
import type { ServerRegistry } from '../lifecycle/server-registry.ts';
import type { HostMonitor, JudgedLook } from '../monitor/host-monitor.ts';
import type { HostSessions } from '../sessions/host-sessions.ts';
import type { SettingsSource } from '../settings.ts';
import type { Tasks } from './tasks.ts';

/** What the acts on servers and records share. */
export interface CommandContext {
  readonly host: Host;
  readonly store: RecordStore;
  readonly audit: Audit;
  readonly settings: Pick<SettingsSource, 'kindOf'>;
  /** Folder on the host that logs of servers go into. */
  readonly logsDir: string;
  /** Environment that a server on this host inherits from us; empty on another host, which has its own. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly finder: ProgramFinder;
  readonly programFileOf: (path: string) => ServerRecord['program'];
  /** This process, for records and for `--for`. */
  readonly writer: () => Promise<ProcessRef>;
  readonly uid: number | null;
  /** See `Spans`. */
  readonly endingMs: number | null;
  readonly tasks: Tasks;
  /** The one state machine's view of every server of ours. */
  readonly lives: ServerRegistry;
  readonly sessions: HostSessions;
  readonly idle: IdleWatch;
  /** Something that nobody awaited went wrong. */
  readonly problem: (error: unknown) => void;
  /** Who acts where no person asked. */
  readonly self: 'app' | 'guard';
  /** Null where none is kept: in commands and in the guard itself. */
  readonly guard: GuardPort | null;
  /** Nonces of starts under way, so that their records are not judged meanwhile. */
  readonly pending: Set<string>;
  readonly monitor: HostMonitor;
  /**
   * A sight that began after this call. Nobody is ended on what was seen earlier.
   *
   * @throws ActFailed when the look failed
   */
  readonly freshLook: () => Promise<JudgedLook>;
  /** The latest sight, for what needs no certainty; null before the first. */
  readonly lastLook: () => JudgedLook | null;
}

/** @throws ActFailed when no server has the id */
export function serverById(sight: JudgedLook | null, id: string, gone: string | undefined): JudgedServer {
  const server = sight?.servers.find(({ row }) => row.id === id);
  if (server !== undefined) return server;
  throw new ActFailed(
    'not-found',
    gone === undefined ? `No server has the id ${id}.` : `${gone} is gone already.`,
    'Look again; the list shows what runs now.',
  );
}
