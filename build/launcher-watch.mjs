// Tells a script that the npm which runs it is gone. npm passes a SIGTERM on to the shell that it runs a script in, and some
// shells die of it without a word to the script; a kill -9 of npm reaches nobody at all.
import { readFileSync } from 'node:fs';

/** How often to look, in milliseconds. */
const EVERY_MS = 250;

/**
 * A process by its number and start, so that whoever gets the number later is somebody else.
 *
 * @returns {{pid: number, ppid: number, start: string} | 'gone' | null} null where it cannot be told
 */
function processOf(pid) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return fields[0] === 'Z' ? 'gone' : { pid, ppid: Number(fields[1]), start: fields[19] };
  } catch (error) {
    return error.code === 'ENOENT' || error.code === 'ESRCH' ? 'gone' : null;
  }
}

/** npm gives itself a title; before it has, the script that it runs tells. */
function isNpm(pid) {
  try {
    const [title = '', script = ''] = readFileSync(`/proc/${pid}/cmdline`, 'latin1').split('\0');
    return /^npm(?: |$)/.test(title) || /\/npm(?:-cli\.js)?$/.test(script);
  } catch {
    // Gone, or somebody else's: then there is nothing to watch.
    return false;
  }
}

/** The npm above this process and the shell between the two, if one is there; empty where no npm runs it. */
function launchers() {
  const found = [];
  for (let pid = process.ppid, steps = 0; steps < 2; steps += 1) {
    const one = processOf(pid);
    if (one === null || one === 'gone') return [];
    found.push(one);
    if (isNpm(pid)) return found;
    pid = one.ppid;
  }
  return [];
}

/**
 * Calls back once when npm, or the shell in which it runs this script, has exited. Where no npm does, a person has started
 * it by hand and may mean it to outlive its terminal.
 *
 * @param {() => void} onGone
 */
export function watchLauncher(onGone) {
  const watched = launchers();
  if (watched.length === 0) return;
  const isGone = ({ pid, start }) => {
    const now = processOf(pid);
    return now === 'gone' || (now !== null && now.start !== start);
  };
  const timer = setInterval(() => {
    if (!watched.some(isGone)) return;
    clearInterval(timer);
    onGone();
  }, EVERY_MS);
  timer.unref();
}
