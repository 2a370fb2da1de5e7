/** What a PID or an id is, in words. */

import type { Host } from '../../hosts/host.ts';
import { rowName } from '../../text/words.ts';
import { messageOf } from '../../util/errors.ts';
import type { Explanation } from '../core.ts';
import { unprovedSentence } from '../faults.ts';
import type { JudgedLook } from '../monitor/host-monitor.ts';
import { nameOf } from '../standing/owner-label.ts';

/** Ids are 16 hex digits; this many are enough to mean one. */
const SHORTEST_PREFIX = 4;

export async function explainTarget(target: string, sight: JudgedLook | null, host: Host): Promise<Explanation> {
  const servers = sight?.servers.map(({ row }) => row) ?? [];
  const leftovers = sight?.leftovers.map(({ row }) => row) ?? [];
  if (/^\d{1,7}$/u.test(target)) {
    const pid = Number(target);
    const server = servers.find(({ pids }) => pids.includes(pid));
    if (server !== undefined) return { server, leftover: null, text: '' };
    const leftover = leftovers.find((row) => row.pid === pid);
    if (leftover !== undefined) return { server: null, leftover, text: '' };
    return { server: null, leftover: null, text: await describePid(pid, sight, host) };
  }
  if (target.length < SHORTEST_PREFIX || !/^[0-9a-f]{1,16}$/u.test(target)) {
    return {
      server: null,
      leftover: null,
      text: `${target} is neither a PID nor an id; ids are 16 hex digits, and their first ${SHORTEST_PREFIX} may do.`,
    };
  }
  const matches = [...servers, ...leftovers].filter(({ id }) => id.startsWith(target));
  if (matches.length > 1) {
    return {
      server: null,
      leftover: null,
      text: `${target} begins the ids of ${matches.length} rows; give more of it.`,
    };
  }
  const server = servers.find(({ id }) => id.startsWith(target)) ?? null;
  const leftover = leftovers.find(({ id }) => id.startsWith(target)) ?? null;
  const text = server === null && leftover === null ? `No row has an id that begins with ${target}.` : '';
  return { server, leftover, text };
}

async function describePid(pid: number, sight: JudgedLook | null, host: Host): Promise<string> {
  const server = sight?.servers.find(({ row }) => row.processes.some((process) => process.pid === pid));
  if (server !== undefined) {
    const name = server.row.processes.find((process) => process.pid === pid)?.name ?? 'a process';
    return `PID ${pid} is ${name}, a child of ${rowName(server.row)}; it ends with its server and is not signalled alone.`;
  }
  const leftover = sight?.leftovers.find(({ row }) => row.processes.some((process) => process.pid === pid));
  if (leftover !== undefined) {
    return `PID ${pid} belongs to the leftover ${leftover.row.name}, PID ${leftover.row.pid}; name that one.`;
  }
  const unproved = sight?.look.unproved.find((process) => process.pid === pid);
  if (unproved !== undefined) return unprovedSentence(unproved, host.name);
  try {
    const info = await host.inspect(pid);
    if (info === null) return `No process has PID ${pid}.`;
    return `PID ${pid} is ${nameOf(info)}, which is no agent server that Rollcall knows and no leftover of one; it is never signalled.`;
  } catch (error) {
    return messageOf(error);
  }
}
