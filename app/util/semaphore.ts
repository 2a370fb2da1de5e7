/**
 * Lets a few act at once and the others wait for their turn, in order. A server drops connections when 10 are waiting to
 * log in (MaxStartups), and many aliases may lead through one.
 */
export class Semaphore {
  #free: number;
  readonly #waiting: (() => void)[] = [];

  /** @param atOnce how many */
  constructor(atOnce: number) {
    this.#free = atOnce;
  }

  /**
   * Waits for a turn.
   *
   * @returns what ends it; calling it again does nothing. Null when the signal fired first.
   */
  async take(signal: AbortSignal): Promise<(() => void) | null> {
    if (signal.aborted) return null;
    if (this.#free > 0) this.#free -= 1;
    else if (!(await this.#wait(signal))) return null;
    let ended = false;
    return () => {
      if (ended) return;
      ended = true;
      const next = this.#waiting.shift();
      if (next === undefined) this.#free += 1;
      else next();
    };
  }

  #wait(signal: AbortSignal): Promise<boolean> {
    return new Promise((resolve) => {
      const turn = (): void => {
        signal.removeEventListener('abort', leave);
        resolve(true);
      };
      const leave = (): void => {
        this.#waiting.splice(this.#waiting.indexOf(turn), 1);
        resolve(false);
      };
      this.#waiting.push(turn);
      signal.addEventListener('abort', leave, { once: true });
    });
  }
}
