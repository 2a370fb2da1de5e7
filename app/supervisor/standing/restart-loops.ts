/**
 * Orphan supervisors: shells that nobody owns any more and that do nothing but start one server again and again. Ending
 * the server alone would only bring the next one, so they end first, and every plan shows them. Pure.
 */
import type { Look, ProcessInfo } from '../../hosts/host.ts';
import { isFinished } from '../../hosts/process-info.ts';
import { recognisable } from '../../servers/recognition/group.ts';
import { isPlainWrapper, loopsOver } from '../../servers/recognition/wrappers.ts';
import { isDetached } from './detached.ts';
import { isAdopter } from './owner.ts';
import { serviceUnit } from './service.ts';
import { startedNoEarlier } from './tree.ts';

/** Longer chains of parents are left alone. */
const MAX_CHAIN = 64;

/**
 * The orphan supervisors above a server, topmost first. Empty unless the whole chain of parents up to init consists of
 * plain wrappers: whatever else stands in it owns the server, and then the shells are that owner's business.
 *
 * @param top the server's topmost own process
 * @param uid our uid; null where there are none
 */
export function restartLoopsAbove(
  look: Look,
  top: ProcessInfo,
  children: ReadonlyMap<number, readonly ProcessInfo[]>,
  uid: number | null,
): ProcessInfo[] {
  const found: ProcessInfo[] = [];
  let child = top;
  for (let steps = 0; steps < MAX_CHAIN; steps += 1) {
    const parent = look.processes.get(child.ppid);
    if (parent === undefined) return child.ppid === 1 ? found : [];
    if (isAdopter(parent, child, look)) return found;
    if (
      look.ownPids.includes(parent.pid) ||
      !startedNoEarlier(child, parent) ||
      !isPlainWrapper(recognisable(parent))
    ) {
      return [];
    }
    const [only, ...others] = (children.get(parent.pid) ?? []).filter((each) => !isFinished(each));
    if (only?.pid === child.pid && others.length === 0 && isRespawner(parent, look, uid)) found.unshift(parent);
    child = parent;
  }
  return [];
}

/** A loop that nobody can want for anything else. What could not be read speaks against it. */
function isRespawner(shell: ProcessInfo, look: Look, uid: number | null): boolean {
  if (!loopsOver(recognisable(shell))) return false;
  if (uid !== null && shell.uid !== uid) return false;
  if (shell.ownPidNamespace !== look.observer.pidNamespace || shell.tty !== 0) return false;
  if (shell.ignoresHangup !== false || isDetached(shell, null)) return false;
  return shell.cgroup !== null && serviceUnit(shell.cgroup) === null;
}
