/** Which host a command is about: this machine, unless `--host` names another. */

import type { Roll } from '../roll/schema.ts';
import type { Core } from '../supervisor/core.ts';
import { aliasOf, hostNamed, THIS_MACHINE } from '../text/host-words.ts';
import { failureText } from './failure.ts';
import { type Arguments, UsageError } from './io.ts';

/** What a person typed for a host, as ssh takes it. */
export function hostWord(word: string): string {
  const alias = aliasOf(word);
  if (alias === '') throw new UsageError('The name of a host is empty.', 'rollcall hosts lists them.');
  if (alias.startsWith('-')) {
    throw new UsageError(`${alias} is no name of a host: it begins with a dash.`, 'rollcall hosts lists them.');
  }
  return alias;
}

/** The value of `--host`, as ssh takes it; null where none was given. */
export function hostOption(args: Arguments): string | null {
  const word = args.value('host');
  return word === undefined ? null : hostWord(word);
}

/** The name that a host has in Rollcall; any other alias of ssh is its own. */
export function knownAs(roll: Pick<Roll, 'hosts'>, host: string): string {
  return hostNamed(roll, host)?.name ?? host;
}

/** Whose PID a number is, for `explain`: null where no host was named. */
export function pidHost(roll: Pick<Roll, 'hosts'>, host: string | null): string | null {
  if (host === null) return null;
  return rowHost(roll, host) === THIS_MACHINE ? THIS_MACHINE : knownAs(roll, host);
}

/** The name under which a host has its rows: of two hosts that are one machine, the one with the connection. */
export function rowHost(roll: Pick<Roll, 'hosts'>, host: string): string {
  const found = hostNamed(roll, host);
  return found === null ? host : (found.ssh?.sharedWith ?? found.name);
}

/**
 * Looks at a host now; another than this one is connected to first where it is not.
 *
 * @param host null for this machine, of which the core knows already
 * @returns what went wrong, as a line for the person; null when all is well
 */
export async function reach(core: Core, host: string | null): Promise<string | null> {
  if (host === null || host === THIS_MACHINE) return null;
  const result = await core.run({ command: 'look', host: knownAs(core.roll, host) }, 'cli');
  // Its servers are this machine's, and those are known.
  if (result.ok || result.failure.code === 'this-machine') return null;
  return failureText(result.failure);
}

/** What a roll says of one host alone. */
export function rollOfHost(roll: Roll, host: string): Roll {
  const name = rowHost(roll, host);
  const here = (row: { readonly host: string }): boolean => row.host === name;
  const servers = roll.servers.filter(here);
  const ids = new Set(servers.map(({ id }) => id));
  return {
    ...roll,
    hosts: roll.hosts.filter((entry) => entry.name === name || entry.name === host || entry.ssh?.alias === host),
    servers,
    leftovers: roll.leftovers.filter(here),
    ended: roll.ended.filter(here),
    records: roll.records.filter(here),
    sessions: roll.sessions.filter(here),
    alerts: roll.alerts.filter((alert) => alert.servers.length > 0 && alert.servers.every((id) => ids.has(id))),
  };
}
