/**
 * Applies the latest of many values, at most once in `everyMs` milliseconds: the first at once, later ones at the end
 * of the interval.
 */
export class AtMost<T> {
  readonly #everyMs: number;
  readonly #apply: (value: T) => void;
  #latest: { readonly value: T } | null = null;
  #timer: NodeJS.Timeout | null = null;

  constructor(everyMs: number, apply: (value: T) => void) {
    this.#everyMs = everyMs;
    this.#apply = apply;
  }

  push(value: T): void {
    this.#latest = { value };
    if (this.#timer === null) this.#run();
  }

  #run(): void {
    const latest = this.#latest;
    this.#latest = null;
    this.#timer = null;
    if (latest === null) return;
    this.#timer = setTimeout(() => this.#run(), this.#everyMs);
    this.#apply(latest.value);
  }

  stop(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    this.#latest = null;
  }
}
