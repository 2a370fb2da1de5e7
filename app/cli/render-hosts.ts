/** The hosts as text and as JSON. Pure. */

import type { HostEntry, Roll } from '../roll/schema.ts';
import { hostStatus, isLost, nextAttempt, sharedSentence } from '../text/host-words.ts';
import { NOTHING } from '../text/words.ts';
import { type Column, cutEnd, layOut, printable, wrap } from './table.ts';

/** What `rollcall hosts --json` prints of one host. Names are only added. */
export interface HostJson {
  readonly name: string;
  readonly state: HostEntry['state'];
  /** What `ssh` calls it; null for this machine. */
  readonly alias: string | null;
  /** `user@machine:port` as ssh resolved it; null before it did, and for this machine. */
  readonly target: string | null;
  readonly saved: boolean;
  readonly connect: 'at-start' | 'when-asked' | null;
  /** Name of the host that has its servers, since both are one machine. */
  readonly sharedWith: string | null;
  readonly servers: number;
  readonly leaked: number;
  readonly lookedAt: string | null;
  readonly attempt: number;
  readonly retryAt: string | null;
  readonly failure: NonNullable<HostEntry['ssh']>['failure'];
}

/** Every host as scripts see it. Pure. */
export function hostsJson(roll: Pick<Roll, 'hosts' | 'servers'>): readonly HostJson[] {
  return roll.hosts.map(({ name, state, ssh, lookedAt }) => {
    const servers = roll.servers.filter((server) => server.host === name);
    return {
      name,
      state,
      alias: ssh?.alias ?? null,
      target: ssh?.target ?? null,
      saved: ssh?.saved ?? true,
      connect: ssh?.connect ?? null,
      sharedWith: ssh?.sharedWith ?? null,
      servers: servers.length,
      leaked: servers.filter(({ standing }) => standing === 'leaked').length,
      lookedAt,
      attempt: ssh?.attempt ?? 0,
      retryAt: ssh?.retryAt ?? null,
      failure: ssh?.failure ?? null,
    };
  });
}

const COLUMNS: readonly Column[] = [
  { head: 'Host', align: 'left' },
  { head: 'State', align: 'left' },
  { head: 'Alias', align: 'left', cut: { how: cutEnd, minWidth: 8 } },
  { head: 'Leads to', align: 'left', cut: { how: cutEnd, minWidth: 12 } },
  { head: 'Servers', align: 'right' },
  { head: 'Leaked', align: 'right' },
];

/** The hosts as text, each with why it failed, ending in a newline. Pure. */
export function renderHosts(
  roll: Pick<Roll, 'hosts' | 'servers'>,
  options: { readonly width: number | null; readonly now: number },
): string {
  const rows = hostsJson(roll).map((host, index): string[] => {
    const entry = roll.hosts[index];
    const known = host.lookedAt !== null && host.sharedWith === null;
    return [
      printable(host.name),
      entry === undefined ? host.state : printable(hostStatus(entry, options.now)),
      printable(host.alias ?? NOTHING),
      printable(host.target ?? NOTHING),
      known ? String(host.servers) : NOTHING,
      known ? String(host.leaked) : NOTHING,
    ];
  });
  const layout = layOut(COLUMNS, rows, options.width, 0);
  const lines = [layout.head];
  for (const [index, row] of rows.entries()) {
    lines.push(layout.row(row));
    const host = roll.hosts[index];
    if (host === undefined) continue;
    for (const sentence of hostSentences(host, options.now)) {
      const room = options.width === null ? null : Math.max(20, options.width - 2);
      lines.push(...wrap(printable(sentence), room).map((line) => `  ${line}`));
    }
  }
  return `${lines.join('\n')}\n`;
}

/** What the columns do not say of a host: why it failed and what to do, or what comes next. */
export function hostSentences(host: HostEntry, now: number): readonly string[] {
  const { ssh } = host;
  if (ssh === null) return [];
  const said: string[] = [];
  const shared = sharedSentence(host);
  if (shared !== null) said.push(shared);
  const why =
    ssh.failure !== null && host.state !== 'connected' ? `${ssh.failure.message} ${ssh.failure.remedy}` : null;
  if (why !== null) said.push(why);
  else if (host.detail !== null && host.state !== 'connected') said.push(host.detail);
  if (isLost(host)) said.push(nextAttempt(ssh, now));
  if (!ssh.saved) said.push('It is not on the list for good; the app’s window adds it.');
  return said;
}
