/** What is needed of a process to know it as a reaper of orphans. */
export interface Reaping {
  readonly pid: number;
  readonly comm: string;
  readonly argv: readonly string[];
}

/**
 * Programs that make themselves child subreapers (PR_SET_CHILD_SUBREAPER of prctl(2)) so that orphans come to them.
 * The kernel does not tell who is one, so the known ones are named.
 */
const SUBREAPERS: ReadonlySet<string> = new Set([
  'tini',
  'tini-static',
  'dumb-init',
  'catatonit',
  's6-svscan',
  'conmon',
  'docker-init',
]);
const COMM_LENGTH = 15;

/** PID 1, a user's systemd, or a known subreaper: being its child means having no owner. */
export function isReaper(process: Reaping): boolean {
  if (process.pid === 1) return true;
  if (process.comm === 'systemd') return process.argv.includes('--user');
  return SUBREAPERS.has(process.comm) || process.comm.startsWith('containerd-shim'.slice(0, COMM_LENGTH));
}
