/**
 * Node joins every thread before a process ends, so one thread in a read that never returns would keep it from ever
 * exiting. The end is then made abrupt, after every other listener has run: SIGKILL to ourselves is the one end that
 * waits for no thread.
 */
const conditions = new Set<() => boolean>();
let installed = false;

/** From now on, ends this process abruptly at its exit if any of the conditions holds then. */
export function endWithoutJoining(condition: () => boolean): void {
  conditions.add(condition);
  if (installed) return;
  installed = true;
  process.on('exit', () => {
    if ([...conditions].some((holds) => holds())) process.kill(process.pid, 'SIGKILL');
  });
}
