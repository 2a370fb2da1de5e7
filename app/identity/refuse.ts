/** The largest PID Linux can hand out (PID_MAX_LIMIT, 2^22). Other systems stay below it. */
export const PID_LIMIT = 4_194_304;

/**
 * Why a number may not even be looked up as a target, or null when it may (DESIGN rule 4.4).
 *
 * @param self our own PID and every ancestor of ours
 */
export function refusePid(pid: number, self: ReadonlySet<number>): string | null {
  if (!Number.isInteger(pid)) return `${String(pid)} is not a PID: it is no whole number.`;
  if (pid <= 1) return `PID ${pid} is never signalled: it stands for the system or a whole group.`;
  if (pid > PID_LIMIT) return `PID ${pid} is out of range: no process can have it.`;
  if (self.has(pid)) return `PID ${pid} is Rollcall itself or one of its parents.`;
  return null;
}
