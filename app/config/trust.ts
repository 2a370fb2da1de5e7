/** Whether a file may say which programs are run: only where nobody but we, or root, can have written it. */
import { lstatSync, readlinkSync, realpathSync, type Stats, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';

/** Why a file's content may be somebody else's, and what to do, as clauses. */
export interface Distrust {
  readonly why: string;
  readonly remedy: string;
}

/** More links in a row are a circle. */
const MAX_LINKS = 40;
const STICKY = 0o1000;
const OTHERS_WRITE = 0o022;

/** A path as a person can paste it into a shell. */
function pasted(path: string): string {
  return /^[\w@%+=:,./-]+$/u.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`;
}

/** Root may do what it likes on this machine in any case. */
function isStranger(stats: Stats, uid: number): boolean {
  return stats.uid !== uid && stats.uid !== 0;
}

function strangers(path: string, name: string, stats: Stats): Distrust {
  return {
    why: `${name} belongs to user ${stats.uid}`,
    remedy: `make it yours (chown $(id -u) ${pasted(path)})`,
  };
}

function writable(path: string, name: string): Distrust {
  return { why: `others may write to ${name}`, remedy: `take that right away (chmod go-w ${pasted(path)})` };
}

/** In a sticky folder nobody can replace what is another's. */
function distrustedFolder(path: string, uid: number): Distrust | null {
  const folder = realpathSync(path);
  const stats = statSync(folder);
  const name = `the folder ${folder}`;
  if (isStranger(stats, uid)) return strangers(folder, name, stats);
  return (stats.mode & OTHERS_WRITE) !== 0 && (stats.mode & STICKY) === 0 ? writable(folder, name) : null;
}

/**
 * Why somebody else may have written a file; null when only we or root can have. Looked at are the file, its folder, and
 * on the way to it each link and the folder that this stands in. Windows has no such rights to look at: null there.
 *
 * @param uid ours; for tests
 * @throws the system's error when the file is not there
 */
export function distrusted(path: string, uid: number | undefined = process.getuid?.()): Distrust | null {
  if (process.platform === 'win32' || uid === undefined) return null;
  let place = path;
  for (let links = 0; links < MAX_LINKS; links += 1) {
    const folder = distrustedFolder(dirname(place), uid);
    if (folder !== null) return folder;
    const stats = lstatSync(place);
    const name = place === path ? 'it' : place;
    if (isStranger(stats, uid)) return strangers(place, name, stats);
    if (!stats.isSymbolicLink()) return (stats.mode & OTHERS_WRITE) !== 0 ? writable(place, name) : null;
    place = resolve(realpathSync(dirname(place)), readlinkSync(place));
  }
  return { why: 'too many links lead to it', remedy: 'let one link lead to it' };
}
