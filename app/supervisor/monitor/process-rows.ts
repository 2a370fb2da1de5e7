/** A tree of processes as rows. Pure. */

import { idOf } from '../../identity/ids.ts';
import type { ProcessRow } from '../../roll/schema.ts';
import { oneLine, redactArgv } from '../../servers/redact.ts';
import { nameOf } from '../standing/owner-label.ts';
import type { TreeNode } from '../standing/tree.ts';

/** A row's command is cut here; the whole of it is in the details of the process itself. */
const COMMAND_LENGTH = 400;

/**
 * @param own PIDs of the server's own processes; the rest are children
 * @param workers those of them that the leader has forked
 */
export function processRows(
  tree: readonly TreeNode[],
  leader: number,
  own: ReadonlySet<number>,
  workers: readonly number[] = [],
): ProcessRow[] {
  return tree.map(({ info, depth, respawner }) => ({
    id: idOf(info.identity),
    identity: info.identity,
    pid: info.pid,
    ppid: info.ppid,
    name: nameOf(info),
    command: oneLine(redactArgv(info.argv).join(' ') || `[${info.comm}]`, COMMAND_LENGTH),
    role:
      info.pid === leader || workers.includes(info.pid)
        ? 'server'
        : own.has(info.pid) || respawner === true
          ? 'wrapper'
          : 'child',
    depth,
    rssBytes: info.rssBytes,
    pssBytes: info.pssBytes,
    state: info.state,
  }));
}
