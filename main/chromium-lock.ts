/**
 * What is left of a lock that Chromium may have put into our folder (`SingletonLock`, a link to `host-PID`). Rollcall does
 * not depend on it, so it can never keep a launch from starting; what cannot be explained is said, and a lock of
 * this machine whose process is gone is removed.
 */
import { existsSync, readlinkSync, unlinkSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Judges `SingletonLock` in Electron's data folder. Signals nobody.
 *
 * @param hostname name of this machine now
 * @param lives whether a process of this machine has that PID
 * @returns one line to say, or null when there is nothing to say
 */
export function judgeChromiumLock(
  folder: string,
  hostname: string,
  lives: (pid: number) => boolean = (pid) => existsSync(`/proc/${pid}`),
): string | null {
  const path = join(folder, 'SingletonLock');
  let target: string;
  try {
    target = readlinkSync(path);
  } catch {
    // Absent, or no link: nothing that names a process.
    return null;
  }
  const parsed = /^(?<host>.*)-(?<pid>\d{1,10})$/u.exec(target)?.groups;
  if (parsed === undefined) return `${path} names no process (${JSON.stringify(target)}). It is not used.`;
  const { host = '', pid = '' } = parsed;
  if (host !== hostname) {
    return (
      `${path} names PID ${pid} on host ${host}; this machine is ${hostname}. It is not used. If Rollcall runs on ` +
      `${host} with this same folder, quit it there or set ROLLCALL_STATE_DIR here.`
    );
  }
  if (lives(Number(pid))) {
    return `${path} names PID ${pid} of this machine, which is not this Rollcall. It is not used and nothing was signalled.`;
  }
  unlinkSync(path);
  return null;
}
