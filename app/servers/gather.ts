/** Tells somebody of changes, however many there are. */
export interface Gatherer {
  /** Something has changed. */
  news(): void;
  /** Nothing is told any more. */
  stop(): void;
}

/**
 * Tells of the first change at once, and of all those that follow within `ms` milliseconds together at their end. Its
 * timer keeps no process alive.
 */
export function gather(tell: () => void, ms: number): Gatherer {
  let timer: NodeJS.Timeout | undefined;
  let more = false;
  let stopped = false;

  const rest = (): void => {
    timer = undefined;
    if (!more || stopped) return;
    more = false;
    timer = setTimeout(rest, ms).unref();
    tell();
  };

  return {
    news() {
      if (stopped) return;
      if (timer !== undefined) {
        more = true;
        return;
      }
      timer = setTimeout(rest, ms).unref();
      tell();
    },
    stop() {
      stopped = true;
      clearTimeout(timer);
    },
  };
}
