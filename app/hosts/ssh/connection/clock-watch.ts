export interface WatchedClocks {
  /** Milliseconds since the epoch. */
  readonly wall: () => number;
  /** Milliseconds that stand still while the machine sleeps. */
  readonly monotonic: () => number;
}

const REAL: WatchedClocks = { wall: () => Date.now(), monotonic: () => performance.now() };
/** Less is the ordinary correction of a clock. */
const JUMP_MS = 5000;
const EVERY_MS = 5000;

/**
 * Calls back when the wall clock has run ahead of the monotonic one: the machine slept, or somebody set its clock, which
 * costs a check that finds nothing.
 *
 * @returns the cancellation
 */
export function watchClocks(onJump: () => void, clocks = REAL, everyMs = EVERY_MS): () => void {
  const difference = (): number => clocks.wall() - clocks.monotonic();
  let before = difference();
  const timer = setInterval(() => {
    const now = difference();
    if (now - before > JUMP_MS) onJump();
    before = now;
  }, everyMs);
  timer.unref();
  return () => clearInterval(timer);
}
