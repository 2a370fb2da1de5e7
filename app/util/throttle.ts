/** A function that acts at most once in a time, and the way to end it. */
export interface Throttled<T> {
  (value: T): void;
  /** Nothing is done any more, not even what was called for. */
  stop(): void;
}

/**
 * Acts on the latest of the values it is called with, at most once in `ms` milliseconds: on the first immediately, unless
 * `leading` is false, and at the end of the time on what came meanwhile. Its timer keeps no process alive.
 */
export function throttle<T = void>(act: (value: T) => void, ms: number, { leading = true } = {}): Throttled<T> {
  let timer: NodeJS.Timeout | undefined;
  let waiting: { readonly value: T } | null = null;
  let stopped = false;

  const wait = (): void => {
    timer = setTimeout(() => {
      timer = undefined;
      const latest = waiting;
      waiting = null;
      if (latest === null || stopped) return;
      if (leading) wait();
      act(latest.value);
    }, ms).unref();
  };

  const throttled = (value: T): void => {
    if (stopped) return;
    if (timer !== undefined || !leading) waiting = { value };
    if (timer !== undefined) return;
    wait();
    if (leading) act(value);
  };
  return Object.assign(throttled, {
    stop: () => {
      stopped = true;
      clearTimeout(timer);
    },
  });
}
