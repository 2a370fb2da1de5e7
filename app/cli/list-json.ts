import type { Ended, HostEntry, Leftover, RecordEntry, Roll, Server } from '../roll/schema.ts';

/**
 * What `rollcall list --json` prints. Scripts depend on these names: fields may be added, none renamed or removed
 * without another `version`.
 */
export interface ListJson {
  readonly version: 1;
  /** ISO 8601, UTC. */
  readonly takenAt: string;
  readonly hosts: readonly HostEntry[];
  readonly servers: readonly Server[];
  readonly leftovers: readonly Leftover[];
  /** Servers that exited unexpectedly; known only while the app runs. */
  readonly ended: readonly Ended[];
  readonly records: readonly RecordEntry[];
  readonly sessions: Roll['sessions'];
  readonly alerts: Roll['alerts'];
  readonly settings: Roll['settings'];
}

/** The roll as scripts see it. Pure. */
export function listJson(roll: Roll): ListJson {
  const { takenAt, hosts, servers, leftovers, ended, records, sessions, alerts, settings } = roll;
  return { version: 1, takenAt, hosts, servers, leftovers, ended, records, sessions, alerts, settings };
}
