/** Which rows a reap is about, what it would do to them, and whether it may. Pure. */
import type { Plan } from '../../roll/commands.ts';
import type { Permission, Server } from '../../roll/schema.ts';
import { leftoverName, plural, reapedBytes, rowName } from '../../text/words.ts';
import type { Judged, JudgedServer } from '../judged-server.ts';
import type { JudgedLeftover } from '../monitor/leftovers.ts';

export type Target =
  | { readonly type: 'server'; readonly id: string; readonly label: string; readonly server: JudgedServer }
  | { readonly type: 'leftover'; readonly id: string; readonly label: string; readonly leftover: JudgedLeftover };

export function serverTarget(server: JudgedServer): Target {
  // Of copies, what is named is what ends.
  const { row, surplus } = server;
  const label = rowName(surplus.length === 0 ? row : { ...row, duplicates: surplus.length });
  return { type: 'server', id: row.id, label, server };
}

export function leftoverTarget(leftover: JudgedLeftover): Target {
  return { type: 'leftover', id: leftover.row.id, label: leftoverName(leftover.row), leftover };
}

export function permissionOf(target: Target): Permission {
  return target.type === 'server' ? target.server.row.reap : target.leftover.row.reap;
}

/** What "Reap all" means: leaked servers and verified leftovers, nothing else (DESIGN section 2). */
export function leakedTargets(judged: Judged): Target[] {
  return [
    ...judged.servers.filter(({ row }) => row.standing === 'leaked' && row.reap.allowed === 'yes').map(serverTarget),
    ...judged.leftovers.filter(({ row }) => row.reap.allowed === 'yes').map(leftoverTarget),
  ];
}

export function targetById(judged: Judged, id: string): Target | null {
  const server = judged.servers.find(({ row }) => row.id === id);
  if (server !== undefined) return serverTarget(server);
  const leftover = judged.leftovers.find(({ row }) => row.id === id);
  return leftover === undefined ? null : leftoverTarget(leftover);
}

/** Why a target is not reaped with this much consent; null when it is. */
export function consentMissing(permission: Permission, confirmed: boolean, force: boolean): string | null {
  switch (permission.allowed) {
    case 'yes':
      return null;
    case 'confirm':
      return confirmed || force ? null : `${permission.why} Confirm it by name to reap it anyway.`;
    case 'force':
      return force ? null : `${permission.why} It takes an explicit force that names it.`;
    case 'no':
      return permission.why;
  }
}

function consequences(server: JudgedServer): string[] {
  const { row } = server;
  const lost = (row.clients ?? []).map(
    ({ label, connections }) => `${label}, loses its ${plural(connections, 'connection')}`,
  );
  const children = endedRows(server).filter(({ role }) => role === 'child').length;
  return [
    ...(row.busy === 'busy' ? [`Work is interrupted: ${row.busySign}`] : []),
    ...lost,
    ...(children > 0 ? [`${plural(children, 'child process', 'child processes')} end with it`] : []),
    ...(row.keeps === null ? [] : [`PID ${row.keeps.pid}, the newest copy of the session, stays`]),
    ...(row.owner?.alive === true && row.supervised === null ? [`${row.owner.label} loses its server`] : []),
  ];
}

/** The processes that a reap of a server's row ends. */
function endedRows({ row, surplus }: JudgedServer): Server['processes'] {
  return surplus.length === 0 ? row.processes : surplus.flatMap((copy) => copy.row.processes);
}

function stepsOf(target: Target): Plan['rows'][number]['steps'] {
  const rows = target.type === 'server' ? endedRows(target.server) : target.leftover.row.processes;
  const ending = target.type === 'server' ? (target.server.kind?.ending ?? []) : [];
  const disposes =
    target.type === 'server' && target.server.endpoint !== null && ending.some(({ step }) => step === 'dispose');
  return rows.map((row, index) => ({
    pid: row.pid,
    name: row.name,
    command: row.command,
    memoryBytes: row.pssBytes ?? row.rssBytes,
    how:
      row.role === 'server'
        ? disposes
          ? 'dispose, then TERM'
          : 'TERM'
        : row.role === 'wrapper' || (target.type === 'leftover' && index === 0)
          ? 'TERM'
          : 'with its parent',
  }));
}

/** The plan: every process with what happens to it, before anything happens. */
export function planOf(targets: readonly Target[]): Plan {
  const rows = targets.map((target) => {
    const permission = permissionOf(target);
    const row = target.type === 'server' ? target.server.row : target.leftover.row;
    return {
      id: target.id,
      label: target.label,
      host: row.host,
      standing: target.type === 'server' ? target.server.row.standing : ('leftover' as const),
      ownerLabel: target.type === 'server' ? (target.server.row.owner?.label ?? null) : null,
      memoryBytes: target.type === 'server' ? reapedBytes(target.server.row) : target.leftover.row.rssBytes,
      refusal: permission.allowed === 'force' || permission.allowed === 'no' ? permission.why : null,
      needsForce: permission.allowed === 'force',
      consequences: target.type === 'server' ? consequences(target.server) : [],
      steps: stepsOf(target),
    };
  });
  const possible = rows.filter(({ refusal, needsForce }) => refusal === null || needsForce);
  return {
    rows,
    freesBytes: possible.reduce((sum, row) => sum + row.memoryBytes, 0),
    processes: possible.reduce((sum, row) => sum + row.steps.length, 0),
    busy: targets.filter((target) => target.type === 'server' && target.server.row.busy === 'busy').length,
  };
}
