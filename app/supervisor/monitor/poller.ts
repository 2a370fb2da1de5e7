/**
 * When a host is looked at. One look at a time; whoever asks for one gets one that began after asking, and several who
 * wait share it; between them a round comes by itself as often as it is told.
 */
export class Poller {
  readonly #look: () => Promise<void>;
  #underWay: Promise<void> | null = null;
  #next: Promise<void> | null = null;
  #timer: NodeJS.Timeout | null = null;
  #ended = false;

  /** @param look once; what it rejects with reaches whoever waits for it */
  constructor(look: () => Promise<void>) {
    this.#look = look;
  }

  get underWay(): boolean {
    return this.#underWay !== null;
  }

  /** A look that began after this call. */
  ask(): Promise<void> {
    if (this.#underWay === null) {
      this.#underWay = this.#look().finally(() => {
        this.#underWay = null;
      });
      return this.#underWay;
    }
    // The one under way began before this call and may have missed what it is about.
    const again = (): Promise<void> => {
      this.#next = null;
      return this.ask();
    };
    // Whatever went wrong in that one must not stand in the way of the next.
    this.#next ??= this.#underWay.then(again, again);
    return this.#next;
  }

  /**
   * Begins the rounds: each is told of when it begins, and the next pause begins when it is over, however it went.
   *
   * @param pauseMs asked before each pause, in milliseconds
   * @param skips true: this round is left out
   */
  begin(pauseMs: () => number, skips: () => boolean, told: (round: Promise<void>) => void): void {
    if (this.#ended) return;
    this.#timer = setTimeout(() => {
      const round = skips() ? Promise.resolve() : this.ask();
      told(round.finally(() => this.begin(pauseMs, skips, told)));
    }, pauseMs());
  }

  /** No round comes by itself any more; looks can still be asked for. */
  end(): void {
    this.#ended = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
  }

  /** Resolves when no look is under way. */
  async over(): Promise<void> {
    await this.#underWay?.catch(() => undefined);
  }
}
