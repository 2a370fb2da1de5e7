/** As many times the thread must have come round before patience is at its end. */
const SLICES = 10;

/**
 * Calls back after a time, of which the time that this thread was busy counts for next to nothing: a busy thread has not
 * read what it waits for. Judging a living ssh by its own lateness would end it.
 *
 * @returns the cancellation
 */
export function stallTolerantTimer(ms: number, onEnd: () => void): () => void {
  let left = SLICES;
  const timer = setInterval(() => {
    left -= 1;
    if (left > 0) return;
    clearInterval(timer);
    onEnd();
  }, ms / SLICES);
  return () => clearInterval(timer);
}
