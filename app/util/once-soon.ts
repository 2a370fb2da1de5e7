/** Does something once for all the calls that come within `ms` milliseconds of the first. */
export class OnceSoon {
  readonly #act: () => void;
  readonly #ms: number;
  #timer: NodeJS.Timeout | null = null;
  #ended = false;

  constructor(ms: number, act: () => void) {
    this.#ms = ms;
    this.#act = act;
  }

  call(): void {
    if (this.#timer !== null || this.#ended) return;
    this.#timer = setTimeout(() => {
      this.#timer = null;
      this.#act();
    }, this.#ms);
  }

  /** Nothing is done any more, not even what was called for. */
  end(): void {
    this.#ended = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
  }
}
