// Tells a script that whoever started it is gone. npm passes a SIGTERM on to the shell that it runs a script in, and some
// shells die of it without a word to the script; a kill -9 of npm reaches nobody at all.
import { readFileSync } from 'node:fs';

/** How often to look, in milliseconds. */
const EVERY_MS = 250;

/** Parent of a process, from procfs; null where that cannot be told. */
function parentOf(pid) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
  } catch {
    return null;
  }
}

/**
 * Calls back once when the parent of this process, or that one's parent, has exited. Only where npm runs the script: what
 * a person has started by hand may be meant to outlive its terminal.
 *
 * @param {() => void} onGone
 */
export function watchLauncher(onGone, env = process.env) {
  if (env.npm_lifecycle_event === undefined) return;
  const line = () => `${process.ppid} ${parentOf(process.ppid)}`;
  const before = line();
  const timer = setInterval(() => {
    if (line() === before) return;
    clearInterval(timer);
    onGone();
  }, EVERY_MS);
  timer.unref();
}
